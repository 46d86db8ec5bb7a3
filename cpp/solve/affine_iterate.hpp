// Stochastic steps under a quadratic penalty that touch only the weights of their example.
//
//     w <- w - gamma_t (A_i^T x + sigma w + h)
//
// On untouched weights the step is affine with the fixed point c = -h / sigma. So w = a c + s v: a step scales s (or,
// without a fixed point, moves a) and edits v where the example has features. Sums of iterates follow the same way.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "solve/problem.hpp"

namespace casimir {

/// sum_t a_t w_t = mass w - q, given the last iterate w.
struct IterateSum {
  double* q = nullptr;  // [n_params]; null: no sum is kept
  double mass = 0.0;
  double share = 0.0;         // not 0: at the end of an epoch q becomes share times the sum
  std::int64_t n_params = 0;  // of q, where it is checked
};

// Below this scale the representation is renewed: sums of iterates lose as many digits as the scale has lost.
constexpr double kSmallestScale = 1e-3;

class AffineIterate {
 public:
  /// h: [n_params], or null: 0. w and sum are read here and written by `finish`.
  AffineIterate(const Problem& problem, double sigma, const double* h, double* w, IterateSum& sum)
      : problem_(problem), sigma_(sigma), w_(w), sum_(sum), mass_(sum.mass) {
    v_ = w;
    if (!h) return;
    const auto n = static_cast<std::size_t>(problem.n_params());
    a_ = sigma > 0.0 ? 1.0 : 0.0;
    const double factor = sigma > 0.0 ? -1.0 / sigma : -1.0;
    c_ = std::make_unique_for_overwrite<double[]>(n);
    own_v_ = std::make_unique_for_overwrite<double[]>(n);
    for (std::size_t j = 0; j < n; ++j) {
      const double c = factor * h[j];
      c_[j] = c;
      own_v_[j] = w[j] - a_ * c;
    }
    v_ = own_v_.get();
    of_c_ = mass_ * a_;
  }

  WeightView view(std::int64_t /*i*/) const { return {v_, s_, c_.get(), a_}; }

  /// Takes the step; iterate t counts a_t = weight in the sum.
  void step(std::int64_t i, const double* x, double gamma, double weight) {
    if (sigma_ > 0.0)
      s_ *= 1.0 - gamma * sigma_;
    else
      a_ += c_ ? gamma : 0.0;
    if (std::abs(s_) < kSmallestScale) rebase();
    const double length = -gamma / s_;
    problem_.scatter(i, x, {v_, length, sum_.q, sum_.q ? length * mass_ : 0.0});
    mass_ += weight * s_;
    of_c_ += weight * a_;
  }

  void finish() {
    const std::int64_t n = problem_.n_params();
    mass_ /= s_;
    sum_.mass = mass_;
    if (c_ && sum_.q) {
      finish_all(n);
    } else if (c_) {
      const double s = s_, a = a_;
      for (std::int64_t j = 0; j < n; ++j) w_[j] = s * v_[j] + a * c_[j];
    } else {
      const double s = s_, mass = mass_, share = sum_.share;
      double *w = w_, *q = sum_.q;
      for (std::int64_t j = 0; j < n; ++j) w[j] *= s;
      for (std::int64_t j = 0; q && share != 0.0 && j < n; ++j) q[j] = share * (mass * w[j] - q[j]);
    }
  }

 private:
  /// w, and the sum with its part along c, in one pass over the memory.
  void finish_all(std::int64_t n) {
    const double s = s_, a = a_, mass = mass_, of_c = mass_ * a_ - of_c_, share = sum_.share;
    const double *v = v_, *c = c_.get();
    double *w = w_, *q = sum_.q;
    if (share == 0.0) {
      for (std::int64_t j = 0; j < n; ++j) w[j] = s * v[j] + a * c[j], q[j] += of_c * c[j];
    } else {
      for (std::int64_t j = 0; j < n; ++j) {
        const double x = s * v[j] + a * c[j];
        w[j] = x;
        q[j] = share * (mass * x - (q[j] + of_c * c[j]));
      }
    }
  }

  /// Makes s = 1 and mass = 0 without changing w and the sum of iterates mass v + of_c c - q.
  void rebase() {
    const std::int64_t n = problem_.n_params();
    double *v = v_, *q = sum_.q;
    const double s = s_, mass = mass_;
    for (std::int64_t j = 0; q && mass != 0.0 && j < n; ++j) q[j] -= mass * v[j];
    for (std::int64_t j = 0; j < n; ++j) v[j] *= s;
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
  std::unique_ptr<double[]> c_, own_v_;
};

}  // namespace casimir
