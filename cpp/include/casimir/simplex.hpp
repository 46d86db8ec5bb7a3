// Euclidean projection onto the probability simplex (prop:smoothing:proj-simplex-1).
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace casimir {

/// The shift of a projection: u_i = max(0, (z_i - top) + rho), non-zero for the `support` largest entries.
/// Sums are taken relative to the largest entry, so that large equal offsets do not cost precision.
struct SimplexShift {
  double top = 0.0, rho = 0.0;
  std::size_t support = 0;
};

/// rho = (1 - sum_{j<=k} (z_j - top)) / k for the largest k with (z_k - top) + rho_k > 0; `sorted` is non-increasing.
inline SimplexShift simplex_shift(const double* sorted, std::size_t m) {
  SimplexShift shift;
  if (m == 0) return shift;
  shift.top = sorted[0];
  double sum = 0.0;
  for (std::size_t k = 0; k < m; ++k) {
    const double entry = sorted[k] - shift.top;
    const double rho = (1.0 - (sum + entry)) / static_cast<double>(k + 1);
    if (!(entry + rho > 0.0)) break;
    sum += entry;
    shift.rho = rho;
    shift.support = k + 1;
  }
  return shift;
}

/// Projects `z` whose entries are sorted in non-increasing order, in place; returns the number of non-zeros.
inline std::size_t project_sorted_simplex(double* z, std::size_t m) {
  const SimplexShift shift = simplex_shift(z, m);
  for (std::size_t k = 0; k < m; ++k) z[k] = k < shift.support ? std::max(0.0, (z[k] - shift.top) + shift.rho) : 0.0;
  return shift.support;
}

/// Projects `z` (any order) in place.
inline void project_simplex(double* z, std::size_t m) {
  std::vector<double> sorted(z, z + m);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const SimplexShift shift = simplex_shift(sorted.data(), m);
  for (std::size_t k = 0; k < m; ++k) z[k] = std::max(0.0, (z[k] - shift.top) + shift.rho);
}

}  // namespace casimir
