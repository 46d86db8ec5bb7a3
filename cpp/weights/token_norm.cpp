#include "weights/token_norm.hpp"

#include <algorithm>

#include "base/lanes.hpp"
#include "base/vectors.hpp"

namespace casimir {

/// sum_{s,t} <x_s, x_t> <row_s, row_t> over tokens, and the squares of the pairs.
double TokenNorm::squared(std::int64_t i, const double* x) {
  if (!gram_.has(i)) return gathered(i, x);
  using L = Lanes<4>;
  const std::int64_t p = tokens_.length(i), stride = tokens_.shape().stride, labels = tokens_.shape().labels;
  const double* pairs = x + p * stride;
  double total = dot(pairs, pairs, labels * stride);
  for (std::int64_t first = 0; first < stride; first += 4) {
    L::V sum{};
    for (std::int64_t s = 0; s < p; ++s) {
      L::V others{};
      for (std::int64_t t = 0; t < s; ++t) others += L::load(x + t * stride + first) * gram_(i, s, t);
      const L::V own = L::load(x + s * stride + first);
      sum += own * (others * 2.0 + own * gram_(i, s, s));
    }
    total += L::sum(sum);
  }
  return total;
}

/// Of examples without a table: by what the block does to the weights.
double TokenNorm::gathered(std::int64_t i, const double* x) {
  weights_.resize(static_cast<std::size_t>(tokens_.n_params()), 0.0);
  tokens_.scatter(i, x, {weights_.data(), 1.0});
  rows_.clear();
  tokens_.touched(i, rows_);
  const std::int64_t width = tokens_.n_params() / tokens_.rows();
  double total = 0.0;
  for (const auto& [begin, end] : rows_) {
    double* row = weights_.data() + begin * width;
    total += dot(row, row, (end - begin) * width);
    std::fill(row, weights_.data() + end * width, 0.0);  // so that a row that comes twice counts once
  }
  return total;
}

}  // namespace casimir
