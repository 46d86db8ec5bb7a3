#include "chain/unfolding.hpp"

#include <utility>

#include "base/numbers.hpp"

namespace casimir {

Unfolding::Unfolding(UnfoldingData data, RowShape narrow) : data_(std::move(data)), narrow_(narrow) {
  if (data_.label.empty()) return;
  const int wide = static_cast<int>(data_.label.size());
  wide_ = {wide, stride_of(wide)};
  ops_ = &chain_ops(wide_.stride);
}

void Unfolding::unfold(std::int64_t p, const double* u, const double* to, WideChain& wide) const {
  const std::int64_t count = this->count(), stride = wide_.stride, narrow = narrow_.stride;
  const std::int32_t* label = data_.label.data();
  wide.u.assign(static_cast<std::size_t>(p * stride), -kInf);
  wide.to.assign(static_cast<std::size_t>(count * stride), -kInf);
  wide.from.assign(wide.to.size(), -kInf);
  double *scores = wide.u.data(), *last = scores + (p - 1) * stride;
  for (std::int64_t t = 0; t < p; ++t)
    for (std::int64_t m = 0; m < count; ++m) scores[t * stride + m] = u[t * narrow + label[m]];
  for (std::int64_t m = 0; m < count; ++m) scores[m] += data_.first.data()[m];
  for (std::int64_t m = 0; m < count; ++m) last[m] += data_.last.data()[m];
  double *forth = wide.to.data(), *back = wide.from.data();
  for (std::int64_t a = 0; a < count; ++a)
    for (std::int64_t b = 0; b < count; ++b)
      forth[a * stride + b] = back[b * stride + a] =
          to[label[a] * narrow + label[b]] + data_.pairs.data()[a * count + b];
}

void Unfolding::fold(std::int64_t p, const std::int32_t* wide, std::int32_t* labels) const {
  const std::int32_t* label = data_.label.data();
  for (std::int64_t t = 0; t < p; ++t) labels[t] = label[wide[t]];
}

void Unfolding::fold_marginals(std::int64_t p, const double* wide, double* nodes, double* pairs) const {
  const std::int64_t count = this->count(), stride = wide_.stride, narrow = narrow_.stride;
  const std::int32_t* label = data_.label.data();
  for (std::int64_t t = 0; t < p; ++t)
    for (std::int64_t m = 0; m < count; ++m) nodes[t * narrow + label[m]] += wide[t * stride + m];
  const double* edges = wide + p * stride;
  for (std::int64_t a = 0; a < count; ++a)
    for (std::int64_t b = 0; b < count; ++b) pairs[label[a] * narrow + label[b]] += edges[a * stride + b];
}

}  // namespace casimir
