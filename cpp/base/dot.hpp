// Inner product in one fixed order: a BLAS splits it by its number of threads, and the last bits follow.
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

}  // namespace casimir
