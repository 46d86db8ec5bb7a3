// Inner product in one fixed order: a BLAS splits it by its number of threads, and the last bits follow.
#pragma once

#include <cstdint>

#include "base/lanes.hpp"

namespace casimir {

/// The inner product of vectors that come block by block: the same bits as in one piece.
class RunningDot {
 public:
  /// All blocks but the last have a multiple of 32 numbers.
  void add(const double* a, const double* b, std::int64_t size) {
    std::int64_t i = 0;
    for (; i + 32 <= size; i += 32)
      for (int j = 0; j < 4; ++j) sums_[j] += L::load(a + i + 8 * j) * L::load(b + i + 8 * j);
    total_ = L::sum((sums_[0] + sums_[1]) + (sums_[2] + sums_[3]));
    for (; i < size; ++i) total_ += a[i] * b[i];
  }
  double value() const { return total_; }

 private:
  using L = Lanes<8>;
  L::V sums_[4]{};
  double total_ = 0.0;
};

inline double dot(const double* a, const double* b, std::int64_t size) {
  RunningDot sum;
  sum.add(a, b, size);
  return sum.value();
}

}  // namespace casimir
