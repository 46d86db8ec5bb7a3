// Stochastic steps under a quadratic penalty that touch only the weights of their example.
//
//     w <- w - gamma_t (A_i^T x + sigma w + h)
//
// On untouched weights the step is affine with the fixed point c = -h / sigma. So w = a c + s v: a step scales s (or,
// without a fixed point, moves a) and edits v where the example has features. Sums of iterates follow the same way.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "solve/problem.hpp"

namespace casimir {

/// sum_t a_t w_t = mass w - q, given the last iterate w.
struct IterateSum {
  double* q = nullptr;  // [n_params]; null: no sum is kept
  double mass = 0.0;
};

// Below this scale the representation is renewed: sums of iterates lose as many digits as the scale has lost.
constexpr double kSmallestScale = 1e-3;

class AffineIterate {
 public:
  /// h: [n_params], or null: 0. w and sum are read here and written by `finish`.
  AffineIterate(const Problem& problem, double sigma, const double* h, double* w, IterateSum& sum)
      : problem_(problem), sigma_(sigma), w_(w), sum_(sum), mass_(sum.mass) {
    const auto n = static_cast<std::size_t>(problem.n_params());
    v_ = w;
    if (!h) return;
    a_ = sigma > 0.0 ? 1.0 : 0.0;
    const double factor = sigma > 0.0 ? -1.0 / sigma : -1.0;
    c_.resize(n);
    own_v_.resize(n);
    for (std::size_t j = 0; j < n; ++j) {
      c_[j] = factor * h[j];
      own_v_[j] = w[j] - a_ * c_[j];
    }
    v_ = own_v_.data();
    of_c_ = mass_ * a_;
  }

  WeightView view(std::int64_t /*i*/) const { return {v_, s_, c_.empty() ? nullptr : c_.data(), a_}; }

  /// Takes the step; iterate t counts a_t = weight in the sum.
  void step(std::int64_t i, const double* x, double gamma, double weight) {
    if (sigma_ > 0.0)
      s_ *= 1.0 - gamma * sigma_;
    else
      a_ += c_.empty() ? 0.0 : gamma;
    if (std::abs(s_) < kSmallestScale) rebase();
    const double length = -gamma / s_;
    problem_.scatter(i, x, {v_, length, sum_.q, sum_.q ? length * mass_ : 0.0});
    mass_ += weight * s_;
    of_c_ += weight * a_;
  }

  void finish() {
    const std::int64_t n = problem_.n_params();
    mass_ /= s_;
    for (std::int64_t j = 0; j < n; ++j) w_[j] = s_ * v_[j] + (c_.empty() ? 0.0 : a_ * c_[static_cast<std::size_t>(j)]);
    if (sum_.q && !c_.empty())
      for (std::int64_t j = 0; j < n; ++j) sum_.q[j] += (mass_ * a_ - of_c_) * c_[static_cast<std::size_t>(j)];
    sum_.mass = mass_;
  }

 private:
  /// Makes s = 1 and mass = 0 without changing w and the sum of iterates mass v + of_c c - q.
  void rebase() {
    for (std::int64_t j = 0; j < problem_.n_params(); ++j) {
      if (sum_.q) sum_.q[j] -= mass_ * v_[j];
      v_[j] *= s_;
    }
    s_ = 1.0;
    mass_ = 0.0;
  }

  const Problem& problem_;
  double sigma_;
  double* w_;
  IterateSum& sum_;
  double* v_;
  double s_ = 1.0, a_ = 0.0;
  double mass_, of_c_ = 0.0;
  std::vector<double> c_, own_v_;
};

}  // namespace casimir
