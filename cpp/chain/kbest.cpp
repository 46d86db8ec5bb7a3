#include "chain/kbest.hpp"

#include <algorithm>
#include <limits>

#include "base/lanes.hpp"
#include "base/numbers.hpp"

namespace casimir {

namespace {

constexpr int kColumns = 4;  // of a padded row at a time
using OfColumns = Lanes<kColumns>;
constexpr int kMostBits = 32;             // columns that are compared before one is looked at
constexpr std::int64_t kMostRounds = 16;  // in search of the first bound

constexpr std::size_t kMostNear = std::size_t{1} << 20;  // steps that are kept: 16 MB

}  // namespace

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

/// Candidates with a larger loss need not be looked at.
double KBest::bound(double limit, std::size_t room) const {
  return candidates_.size() >= room ? std::min(limit, candidates_.worst().loss) : limit;
}

double KBest::offer(std::int64_t parent, const Step& step, double base, double limit, std::size_t room) {
  candidates_.offer({base + step.loss, static_cast<std::int32_t>(parent), step.position, step.label}, room,
                    Before{this});
  return bound(limit, room);
}

/// What the scan of an output's path hands its steps to.
struct KBest::Expansion {
  KBest* kbest;
  std::int64_t output;
  double base, limit;
  std::size_t room;

  double operator()(const Step& step) {
    if (kbest->noted_ > output) kbest->near_.push_back(step);
    return kbest->offer(output, step, base, limit, room);
  }
  Scan scan() {
    return {base, kbest->bound(limit, room), this,
            [](void* context, std::int64_t position, std::int32_t label, double loss) {
              return (*static_cast<Expansion*>(context))({loss, static_cast<std::int32_t>(position), label});
            }};
  }
};

/// The best output; with room for more, its deviations become candidates.
void KBest::pull_first(double limit, std::int64_t room) {
  const auto first = static_cast<std::int32_t>(std::max_element(beta_, beta_ + shape_.labels) - beta_);
  labels_[0] = first;
  values_.push_back(beta_[first]);
  ops_->follow(shape_, p_, 0, edges_, beta_, best_, nullptr, labels_.data(), nullptr);
  if (room == 0 || values_[0] == -kInf) return;
  write_gains();
  noted_ = 1;
  limit = std::min(limit, first_bound(room));
  Expansion expansion{this, 0, 0.0, limit, static_cast<std::size_t>(room)};
  double bound = limit;
  const double* gains = gains_.data();
  for (std::int32_t t = 0; t < p_; ++t)
    for (int first_column = 0; first_column < shape_.stride; first_column += kMostBits) {
      const int columns = std::min(kMostBits, shape_.stride - first_column);
      unsigned bits = 0;
      for (int j = 0; j < columns; j += kColumns)
        bits |= OfColumns::at_most_bits(OfColumns::all(-bound), OfColumns::load(gains + j)) << j;
      for (; bits; bits &= bits - 1) {
        const int column = __builtin_ctz(bits);
        if (-gains[column] <= bound) bound = expansion({-gains[column], t, first_column + column});
      }
      gains += columns;
    }
}

/// For every label of every token, minus what the best output loses if it takes that one there, -inf for its own.
void KBest::write_gains() {
  const std::int64_t stride = shape_.stride;
  gains_.resize(static_cast<std::size_t>(p_ * stride));
  for (std::int64_t t = 0; t < p_; ++t) {
    const double* after = beta_ + t * stride;
    double* gains = gains_.data() + t * stride;
    if (t == 0) {
      const OfColumns::V top = OfColumns::all(values_[0]);
      for (std::int64_t j = 0; j < stride; j += kColumns) OfColumns::store(gains + j, OfColumns::load(after + j) - top);
    } else {
      const double* row = edges_.to + (t - 1) * edges_.step + labels_[at(t - 1)] * stride;
      const OfColumns::V target = OfColumns::all(best_[(t - 1) * stride + labels_[at(t - 1)]]);
      for (std::int64_t j = 0; j < stride; j += kColumns)
        OfColumns::store(gains + j, OfColumns::load(row + j) + OfColumns::load(after + j) - target);
    }
    gains[labels_[at(t)]] = -kInf;
  }
}

/// A loss that at least `room` steps off the best output do not exceed: the room-th smallest of the smallest losses of
/// each label at any token, or somewhat more. Infinite where there are not so many labels.
double KBest::first_bound(std::int64_t room) {
  const std::int64_t stride = shape_.stride;
  if (room > std::min<std::int64_t>(shape_.labels, kMostRounds)) return kInf;
  columns_.resize(static_cast<std::size_t>(stride));
  OfColumns::V high = OfColumns::all(-kInf);
  for (std::int64_t j = 0; j < stride; j += kColumns) {
    OfColumns::V most = OfColumns::all(-kInf);
    for (std::int64_t t = 0; t < p_; ++t)  // in this order NaN is left out
      most = OfColumns::max(OfColumns::load(gains_.data() + t * stride + j), most);
    OfColumns::store(columns_.data() + j, most);
    high = OfColumns::max(high, most);
  }
  double bound = OfColumns::highest(high);
  for (std::int64_t round = 1; round < room; ++round) {  // without the highest so far, and what is as high
    high = OfColumns::all(-kInf);
    for (std::int64_t j = 0; j < stride; j += kColumns) {
      const OfColumns::V most = OfColumns::load(columns_.data() + j);
      high = OfColumns::max(high, most < bound ? most : OfColumns::all(-kInf));
    }
    bound = OfColumns::highest(high);
  }
  return -bound;
}

/// Writes the labels of the next output, and offers its deviations where there is room for more.
void KBest::pull(const Candidate& candidate, double limit, std::int64_t room) {
  const std::int64_t index = static_cast<std::int64_t>(values_.size()) - 1, position = candidate.position;
  const std::int32_t* parent = labels_.data() + candidate.parent * p_;
  std::int32_t* labels = labels_.data() + index * p_;
  std::copy(parent, parent + position, labels);
  labels[position] = candidate.label;
  if (room == 0) {
    const std::int64_t met = ops_->follow(shape_, p_, position, edges_, beta_, best_, parent, labels, nullptr);
    std::copy(parent + met, parent + p_, labels + met);
    return;
  }
  const bool is_noted = candidate.parent < noted_;
  near_from_.push_back(near_.size());
  if (noted_ == index && near_.size() < kMostNear) noted_ = index + 1;
  Expansion expansion{this, index, candidate.loss, limit, static_cast<std::size_t>(room)};
  Scan scan = expansion.scan();
  const std::int64_t met =
      ops_->follow(shape_, p_, position, edges_, beta_, best_, is_noted ? parent : nullptr, labels, &scan);
  if (met == p_) return;
  std::copy(parent + met, parent + p_, labels + met);
  const auto behind = [met](const Step& step) { return step.position < met; };
  const auto of_parent = at(candidate.parent);
  const auto from = near_.begin() + static_cast<std::ptrdiff_t>(near_from_[of_parent]);
  const auto to = near_.begin() + static_cast<std::ptrdiff_t>(near_from_[of_parent + 1]);
  const auto end = static_cast<std::size_t>(to - near_.begin());
  for (auto j = static_cast<std::size_t>(std::partition_point(from, to, behind) - near_.begin()); j < end; ++j) {
    const Step step = near_[j];
    if (candidate.loss + step.loss <= scan.bound) scan.bound = expansion(step);
  }
}

void KBest::run(const ChainOps& ops, RowShape shape, std::int64_t p, Transitions edges, const double* beta,
                const double* best, std::int64_t k, double mu, std::int64_t labelled) {
  ops_ = &ops, shape_ = shape, p_ = p, edges_ = edges, beta_ = beta, best_ = best;
  values_.clear();
  candidates_.clear();
  near_.clear();
  near_from_.assign(1, 0);
  noted_ = 0;
  labels_.resize(static_cast<std::size_t>(p));
  exact_ = false;
  // Padding and forbidden labels have an infinite loss, so a finite limit keeps them out.
  const double limit = std::min(mu, std::numeric_limits<double>::max());
  pull_first(limit, k - 1);
  const double top = values_[0];
  double sum = 0.0;  // of the losses
  while (count() < k) {
    if (candidates_.empty()) {
      exact_ = true;
      return;
    }
    const Candidate next = candidates_.pop_best(Before{this});
    const std::int64_t index = count();
    values_.push_back(top - next.loss);
    exact_ = static_cast<double>(index) * next.loss - sum >= mu;
    if (index < labelled) {
      labels_.resize(static_cast<std::size_t>((index + 1) * p));
      pull(next, limit, exact_ ? 0 : k - index - 1);
    }
    if (exact_) return;
    sum += next.loss;
  }
}

}  // namespace casimir
