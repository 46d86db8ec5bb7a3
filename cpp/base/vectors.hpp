// Inner products in one fixed order: a BLAS splits them by its number of threads, and the last bits follow. Sums of two
// vectors in one pass.
#pragma once

#include <cstdint>

#include "base/lanes.hpp"

namespace casimir {

inline double dot(const double* a, const double* b, std::int64_t size) {
  using L = Lanes<8>;
  L::V sums[4]{};
  std::int64_t i = 0;
  for (; i + 32 <= size; i += 32)
    for (int j = 0; j < 4; ++j) sums[j] += L::load(a + i + 8 * j) * L::load(b + i + 8 * j);
  double total = L::sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < size; ++i) total += a[i] * b[i];
  return total;
}

/// out = a x + b y; out may be x or y.
inline void combine(double a, const double* x, double b, const double* y, std::int64_t size, double* out) {
  for (std::int64_t i = 0; i < size; ++i) out[i] = a * x[i] + b * y[i];
}

}  // namespace casimir
