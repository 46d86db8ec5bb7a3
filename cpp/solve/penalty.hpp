// Penalties that are sums over the weights.
//
//     R(w) = sum_j s_j (l1 |w_j| + (l2 / 2) w_j^2) + (kappa / 2) |w - z|^2,   w_j >= 0 where asked for
//
// s_j = inf fixes w_j at 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace casimir {

struct Penalty {
  double l1 = 0.0, l2 = 0.0;
  const double* strength = nullptr;           // s [n_params], or null: all 1
  const std::uint8_t* nonnegative = nullptr;  // [n_params], or null: none
  double kappa = 0.0;
  const double* center = nullptr;  // z [n_params], or null: 0
  std::int64_t n_params = 0;       // of the arrays; 0: there are none

  /// R(w) = (sigma / 2) |w - kappa z / sigma|^2 + constant, over all w.
  bool is_quadratic() const { return l1 == 0.0 && !strength && !nonnegative; }
  double sigma() const { return l2 + kappa; }

  double strength_of(std::int64_t j) const { return strength ? strength[j] : 1.0; }
  bool is_fixed(std::int64_t j) const { return strength && std::isinf(strength[j]); }
  double l1_of(std::int64_t j) const { return l1 == 0.0 ? 0.0 : l1 * strength_of(j); }
  double sigma_of(std::int64_t j) const { return (l2 == 0.0 ? 0.0 : l2 * strength_of(j)) + kappa; }
  double pull_of(std::int64_t j) const { return center ? kappa * center[j] : 0.0; }

  /// argmin_x { l1_j |x| + (curvature / 2) x^2 - b x }, x >= 0 where asked for; curvature > 0.
  double shrink(std::int64_t j, double b, double l1_j, double curvature) const {
    if (b > l1_j) return (b - l1_j) / curvature;
    if (b < -l1_j && !(nonnegative && nonnegative[j])) return (b + l1_j) / curvature;
    return 0.0;
  }

  /// The weight that minimises R_j(x) + g x.
  double primal(std::int64_t j, double g) const {
    return is_fixed(j) ? 0.0 : shrink(j, pull_of(j) - g, l1_of(j), sigma_of(j));
  }

  /// A proximal step of length gamma from x along the gradient g: argmin_y R_j(y) + g y + (y - x)^2 / (2 gamma).
  double step(std::int64_t j, double x, double g, double gamma) const {
    if (is_fixed(j)) return 0.0;
    return shrink(j, x - gamma * (g - pull_of(j)), gamma * l1_of(j), 1.0 + gamma * sigma_of(j));
  }
};

}  // namespace casimir
