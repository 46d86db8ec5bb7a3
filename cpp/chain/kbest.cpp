#include "chain/kbest.hpp"

#include <algorithm>
#include <limits>

namespace casimir {

void KBest::write(const Candidate& candidate, std::int32_t* labels, double* loss) {
  const std::int32_t* parent = labels_.data() + candidate.parent * p_;
  std::copy(parent, parent + candidate.position, labels);
  labels[candidate.position] = candidate.label;
  ops_->complete(shape_, p_, candidate.position, edges_, beta_, best_, labels, loss);
}

/// Two candidates differ at the earlier of their positions or before it, so their completions need not be written out:
/// if b agreed with a up to the last deviation of a, it would deviate from a, and come up only after a was pulled.
bool KBest::tie_before(const Candidate& a, const Candidate& b) const {
  const std::int32_t *of_a = labels_.data() + a.parent * p_, *of_b = labels_.data() + b.parent * p_;
  const std::int32_t position = std::min(a.position, b.position);
  if (a.parent != b.parent) {
    const auto [label_a, label_b] = std::mismatch(of_a, of_a + position, of_b);
    if (label_a != of_a + position) return *label_a < *label_b;
  }
  return (a.position == position ? a.label : of_a[position]) < (b.position == position ? b.label : of_b[position]);
}

/// Adds the deviations of output `parent` at positions >= first_position; loss_ holds its rows of losses.
void KBest::expand(std::int64_t parent, std::int64_t first_position, double base, double limit, std::size_t room) {
  struct Context {
    KBest* kbest;
    std::int32_t parent;
    double limit;
    std::size_t room;
  } context{this, static_cast<std::int32_t>(parent), limit, room};
  const Insert insert{&context, [](void* opaque, std::int64_t position, std::int32_t label, double loss) {
                        auto& c = *static_cast<Context*>(opaque);
                        c.kbest->candidates_.offer({loss, c.parent, static_cast<std::int32_t>(position), label}, c.room,
                                                   Before{c.kbest});
                        return c.kbest->bound(c.limit, c.room);
                      }};
  ops_->scan(shape_, p_, first_position, loss_.data(), labels_.data() + parent * p_, base, bound(limit, room), insert);
}

/// Candidates with a larger loss need not be looked at.
double KBest::bound(double limit, std::size_t room) const {
  return candidates_.size() >= room ? std::min(limit, candidates_.worst().loss) : limit;
}

void KBest::run(const ChainOps& ops, RowShape shape, std::int64_t p, Transitions edges, const double* beta,
                const double* best, std::int64_t k, double mu) {
  ops_ = &ops, shape_ = shape, p_ = p, edges_ = edges, beta_ = beta, best_ = best;
  values_.clear();
  candidates_.clear();
  labels_.resize(static_cast<std::size_t>(p));
  loss_.resize(static_cast<std::size_t>(p * shape.stride));
  exact_ = false;
  // Padding and forbidden labels have an infinite loss, so a finite limit keeps them out.
  const double limit = std::min(mu, std::numeric_limits<double>::max());

  const auto first = static_cast<std::int32_t>(std::max_element(beta, beta + shape.labels) - beta);
  const double top = beta[first];
  labels_[0] = first;
  for (int l = 0; l < shape.stride; ++l) loss_[static_cast<std::size_t>(l)] = top - beta[l];
  ops.complete(shape, p, 0, edges, beta, best, labels_.data(), k > 1 ? loss_.data() : nullptr);
  values_.push_back(top);
  if (k > 1) expand(0, 0, 0.0, limit, static_cast<std::size_t>(k - 1));

  double sum = 0.0;  // of the losses
  while (count() < k) {
    if (candidates_.empty()) {
      exact_ = true;
      return;
    }
    const Candidate next = candidates_.pop_best(Before{this});
    const std::int64_t index = count();
    labels_.resize(static_cast<std::size_t>((index + 1) * p));
    const std::size_t room = static_cast<std::size_t>(k - index - 1);
    write(next, labels_.data() + index * p, room > 0 ? loss_.data() : nullptr);
    values_.push_back(top - next.loss);
    if (static_cast<double>(index) * next.loss - sum >= mu) {
      exact_ = true;
      return;
    }
    sum += next.loss;
    if (room > 0) expand(index, next.position + 1, next.loss, limit, room);
  }
}

}  // namespace casimir
