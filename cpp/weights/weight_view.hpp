// How weights are read and written: the form in which oracles see them, and where gradients are added.
#pragma once

#include <cstddef>
#include <cstdint>

namespace casimir {

/// w = a * c + s * v: the affine form in which stochastic steps touch only the coordinates of their example.
/// `c` may be null, and then w = s * v.
struct WeightView {
  const double* v;
  double s = 1.0;
  const double* c = nullptr;
  double a = 0.0;
};

/// The values of features, as doubles or as floats; null: all ones.
class TokenValues {
 public:
  TokenValues(std::nullptr_t) {}
  TokenValues(const double* wide) : wide_(wide) {}
  TokenValues(const float* narrow) : narrow_(narrow) {}

  explicit operator bool() const { return wide_ || narrow_; }
  double operator[](std::int64_t f) const { return wide_ ? wide_[f] : static_cast<double>(narrow_[f]); }
  /// Where value f lies, to ask the memory for it.
  const void* address(std::int64_t f) const {
    return wide_ ? static_cast<const void*>(wide_ + f) : static_cast<const void*>(narrow_ + f);
  }

 private:
  const double* wide_ = nullptr;
  const float* narrow_ = nullptr;
};

/// The sparse features of consecutive tokens: token t has indices[indptr[t]:indptr[t + 1]], in ascending order.
struct TokenFeatures {
  const std::int64_t* indptr;
  const std::uint32_t* indices;
  TokenValues values;
};

/// Where a scatter adds: v += a * x, and q += b * x when q is not null; only rows in [row_begin, row_end).
struct ScatterTarget {
  double* v;
  double a;
  double* q = nullptr;
  double b = 0.0;
  std::int64_t row_begin = 0;
  std::int64_t row_end = INT64_MAX;
};

/// Scores of -inf forbid a label or a pair of labels: outputs that use them have score -inf and probability 0. At least
/// one output must be left.
///
/// Shape of the rows: `stride` doubles hold `labels` scores; the padding of unary scores is -inf.
struct RowShape {
  int labels;
  int stride;
};

}  // namespace casimir
