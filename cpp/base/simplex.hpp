// Euclidean projection onto the probability simplex (prop:smoothing:proj-simplex-1).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// max_u { <u, z> - mu/2 (|u|^2 - 1) } over the simplex for z in non-increasing order; calls use(j, u_j) where u_j > 0.
/// weights: room for u.
template <class Use>
double l2_smoothed(const double* z, std::int64_t count, double mu, std::vector<double>& weights, Use&& use) {
  weights.resize(static_cast<std::size_t>(count));
  for (std::size_t j = 0; j < weights.size(); ++j) weights[j] = z[j] / mu;
  const std::size_t support = project_sorted_simplex(weights.data(), weights.size());
  double norm = 0.0, value = 0.0;
  for (std::size_t j = 0; j < support; ++j) {
    norm += weights[j] * weights[j];
    value += weights[j] * z[j];
    use(static_cast<std::int64_t>(j), weights[j]);
  }
  return value - 0.5 * mu * (norm - 1.0);
}

/// An upper bound of the same maximum over more outputs than the `count` listed ones, all others scoring at most the
/// last value t: weight on them costs nothing but t, so u_j = max(z_j - t, 0) / mu, and the rest r = 1 - sum_j u_j >= 0
/// goes to them.
inline double l2_upper_bound(const double* z, std::int64_t count, double mu) {
  const double t = z[count - 1];
  double norm = 0.0, value = 0.0, rest = 1.0;
  for (std::int64_t j = 0; j < count; ++j) {
    const double u = (z[j] - t) / mu;
    norm += u * u;
    value += u * (z[j] - t);
    rest -= u;
  }
  return rest < 0.0 ? z[0] + 0.5 * mu : t + value - 0.5 * mu * (norm - 1.0);
}

}  // namespace casimir
