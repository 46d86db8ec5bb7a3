#include "chain/max_group.hpp"

#include <algorithm>

#include "base/numbers.hpp"

namespace casimir {

void GroupTransitions::load(RowShape shape, const double* rows, const AllowedScores* allowed) {
  rows_ = rows, allowed_ = allowed;
  if (allowed && shape.stride % 4 == 0) {
    wide_ = shape;
    return;
  }
  wide_ = {shape.labels, static_cast<int>(product_width(shape.labels))};
  const std::int64_t stride = wide_.stride;
  to_.assign(at(stride * stride), -kInf);
  for (std::int64_t y = 0; y < wide_.labels; ++y)
    std::copy_n(rows + y * shape.stride, wide_.labels, to_.data() + y * stride);
  rows_ = to_.data();
  if (!allowed) from_.pack_transposed(wide_.labels, stride, to_.data(), stride, -kInf);
}

void GroupTransitions::step_left(std::int64_t rows, const double* messages, double* out, std::int64_t stride) const {
  if (allowed_) return max_plus(rows, messages, stride, allowed_->from(), out, stride, wide_.stride);
  max_plus(rows, messages, stride, from_, out, stride);
}

void MaxGroup::begin(RowShape shape, std::span<const std::int64_t> lengths) {
  shape_ = shape, lengths_ = lengths;
  block_ = lengths[0] * shape.stride;
  const std::size_t cells = at(block_ * static_cast<std::int64_t>(lengths.size()));
  for (std::vector<double>* table : {&u_, &beta_, &best_})
    if (table->size() < cells) table->resize(cells);
}

void MaxGroup::run(const GroupTransitions& transitions) {
  const std::int64_t stride = shape_.stride, longest = lengths_[0];
  std::int64_t active = static_cast<std::int64_t>(lengths_.size());
  for (std::int64_t t = longest - 1; t >= 0; --t) {
    while (lengths_[at(active - 1)] < longest - t) --active;
    double *best = best_.data() + t * stride, *beta = beta_.data() + t * stride;
    const double* u = u_.data() + t * stride;
    if (t + 1 < longest) transitions.step_left(active, beta + stride, best, block_);
    for (std::int64_t c = 0; c < active; ++c)
      for (std::int64_t j = c * block_; j < c * block_ + stride; ++j) beta[j] = t + 1 < longest ? u[j] + best[j] : u[j];
  }
}

double MaxGroup::best_path(std::size_t chain, const GroupTransitions& transitions, std::int32_t* labels) const {
  const double *beta = beta_.data() + first(chain), *best = best_.data() + first(chain);
  const double* top = std::max_element(beta, beta + shape_.labels);
  labels[0] = static_cast<std::int32_t>(top - beta);
  chain_ops(shape_.stride)
      .follow(shape_, lengths_[chain], 0, transitions.transitions(), beta, best, nullptr, labels, nullptr);
  return *top;
}

void MaxGroup::best_paths(std::size_t chain, const GroupTransitions& transitions, std::int64_t k, double mu,
                          KBest& found) const {
  const double *beta = beta_.data() + first(chain), *best = best_.data() + first(chain);
  found.run(chain_ops(shape_.stride), shape_, lengths_[chain], transitions.transitions(), beta, best, k, mu, k);
}

}  // namespace casimir
