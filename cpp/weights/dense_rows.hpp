// A matrix of dense feature rows, stored as float64, float32 or float16; every sum is accumulated in double.
#pragma once

#include <cstdint>

#include "base/half.hpp"
#include "chain/chain_ops.hpp"

namespace casimir {

class DenseRows {
 public:
  DenseRows(const double* rows, std::int64_t dim) : f64_(rows), dim_(dim) {}
  DenseRows(const float* rows, std::int64_t dim) : f32_(rows), dim_(dim) {}
  DenseRows(const Half* rows, std::int64_t dim) : f16_(rows), dim_(dim) {}

  std::int64_t dim() const { return dim_; }
  /// out[r] = <x_{first + r}, a c + s v>, r < count. Equal rows get equal bits.
  void dots(std::int64_t first, std::int64_t count, const WeightView& w, double* out) const;
  /// <x_a, x_b>
  double inner(std::int64_t a, std::int64_t b) const;
  /// |x_a - x_b|^2
  double squared_distance(std::int64_t a, std::int64_t b) const;
  /// out[j] += scale * x_row[j] for j in [begin, end).
  void add_to(std::int64_t row, double scale, std::int64_t begin, std::int64_t end, double* out) const;

 private:
  /// use(rows), whatever their type
  template <class Use>
  auto with_rows(Use&& use) const {
    return f64_ ? use(f64_) : f32_ ? use(f32_) : use(f16_);
  }

  const double* f64_ = nullptr;
  const float* f32_ = nullptr;
  const Half* f16_ = nullptr;
  std::int64_t dim_;
};

}  // namespace casimir
