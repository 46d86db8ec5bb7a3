// Euclidean projection onto the probability simplex (prop:smoothing:proj-simplex-1).
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace casimir {

/// Projects `z` whose entries are sorted in non-increasing order, in place; returns the number of non-zeros.
/// u_i = max(0, z_i + rho) with rho = (1 - sum_{j<=k} z_j) / k, where k is the largest index with z_k + rho_k > 0.
inline std::size_t project_sorted_simplex(double* z, std::size_t m) {
  std::size_t support = 0;
  double sum = 0.0, rho = 0.0;
  // Sums are taken relative to the largest entry, so that large equal offsets do not cost precision.
  const double top = m ? z[0] : 0.0;
  for (std::size_t k = 0; k < m; ++k) {
    const double shifted = z[k] - top;
    const double candidate = (1.0 - (sum + shifted)) / static_cast<double>(k + 1);
    if (!(shifted + candidate > 0.0)) break;
    sum += shifted;
    rho = candidate;
    support = k + 1;
  }
  for (std::size_t k = 0; k < m; ++k) z[k] = k < support ? std::max(0.0, (z[k] - top) + rho) : 0.0;
  return support;
}

/// Projects `z` (any order) in place.
inline void project_simplex(double* z, std::size_t m) {
  if (m == 0) return;
  std::vector<double> sorted(z, z + m);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const double top = sorted[0];
  double sum = 0.0, rho = 0.0;
  for (std::size_t k = 0; k < m; ++k) {
    const double shifted = sorted[k] - top;
    const double candidate = (1.0 - (sum + shifted)) / static_cast<double>(k + 1);
    if (!(shifted + candidate > 0.0)) break;
    sum += shifted;
    rho = candidate;
  }
  for (std::size_t k = 0; k < m; ++k) z[k] = std::max(0.0, (z[k] - top) + rho);
}

}  // namespace casimir
