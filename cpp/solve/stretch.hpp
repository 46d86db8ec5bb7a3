// What a stretch of proximal steps does to a weight that no example touches, as long as its sign stays.
//
//     |x| <- (|x| - gamma_t D) / (1 + gamma_t sigma),      D = l1 +- d
//
// is affine in |x| and D, so a whole stretch is one affine map, which all weights of one sigma share; and so is the sum
// of a_t |x_t| over it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "solve/penalty.hpp"

namespace casimir {

/// gamma_t, and a_t, by which the iterate counts in the sum.
struct StepSize {
  double gamma, weight;
  bool operator==(const StepSize&) const = default;
};

/// |x| -> a |x| - c D, and the sum of a_t |x_t| is sum_a |x| - sum_c D.
struct Stretch {
  double a, c, sum_a, sum_c;

  Stretch then(const Stretch& next) const {
    return {a * next.a, c * next.a + next.c, sum_a + next.sum_a * a, sum_c + next.sum_a * c + next.sum_c};
  }
  /// The stretch that leads from here to `after`, which began with this one.
  Stretch rest(const Stretch& after) const {
    const double rest_a = after.a / a, rest_sum_a = (after.sum_a - sum_a) / a;
    return {rest_a, after.c - rest_a * c, rest_sum_a, after.sum_c - sum_c - rest_sum_a * c};
  }
  Stretch then(StepSize step, double sigma) const {
    const double shrink = 1.0 / (1.0 + step.gamma * sigma);
    const double new_a = a * shrink, new_c = (c + step.gamma) * shrink;
    return {new_a, new_c, sum_a + step.weight * new_a, sum_c + step.weight * new_c};
  }
};

constexpr Stretch kNoSteps{1.0, 0.0, 0.0, 0.0};

/// A stretch of so many steps.
struct Run {
  Stretch stretch = kNoSteps;
  std::size_t steps = 0;
};

/// Where a weight is after `steps` more steps that kept its sign: |x|, and the sum of a_t |x_t|.
struct Advanced {
  double size, total;
  std::size_t steps;

  Advanced after(const Stretch& next, std::size_t more, double D) const {
    return {next.a * size - next.c * D, total + next.sum_a * size - next.sum_c * D, steps + more};
  }
};

/// |x| falls to 0 where D > 0, and stays above it elsewhere.
inline bool falls_to_zero(double size, double D) { return D > 0.0 && !(size > 0.0); }

/// Stretches of 1, 2, 4, ... steps that are all alike, for one sigma at a time.
class StretchPowers {
 public:
  void reset(StepSize step) { step_ = step, count_ = 0; }
  const Run& run(double sigma, std::size_t steps) {
    if (count_ == 0 || sigma != sigma_ || steps != run_.steps) find_run(sigma, steps);
    return run_;
  }
  /// As many steps of the last run as keep the sign.
  Advanced advance(double size, double D) const;

 private:
  void find_run(double sigma, std::size_t steps);

  StepSize step_{};
  double sigma_ = 0.0;
  std::size_t count_ = 0;  // of powers
  std::array<Stretch, 64> powers_;
  Run run_;
};

/// Stretches from the last renewal up to every step, for every sigma of a penalty.
///
/// A stretch from s to t is the one up to t without that up to s. It loses as many digits as a_s has lost, so where a_t
/// becomes small the stretches of this sigma start anew.
class StretchTable {
 public:
  StretchTable(const Penalty& penalty, std::int64_t n_params, double smallest);

  /// Steps that it has room for: more kinds of strengths leave room for fewer.
  std::size_t capacity() const { return capacity_; }
  void append(StepSize step);
  void clear();
  /// What weight j does in the steps `from`, ..., `to` - 1, or in the first of them where stretches start anew.
  const Run& run(std::int64_t j, std::size_t from, std::size_t to) {
    const std::size_t kind = kind_.empty() ? 0 : kind_[static_cast<std::size_t>(j)];
    if (kind != run_kind_ || from != run_from_ || to != run_to_) find_run(kind, from, to);
    return run_;
  }
  /// As many steps of the last run as keep the sign.
  Advanced advance(double size, double D) const;

 private:
  void find_kinds(const Penalty& penalty, std::int64_t n_params);
  void find_run(std::size_t kind, std::size_t from, std::size_t to);
  const Stretch& up_to(std::size_t t) const { return stretches_[(t - 1) * sigmas_.size() + run_kind_]; }

  double smallest_;
  std::vector<double> sigmas_;                      // [kinds]
  std::vector<std::uint32_t> kind_;                 // [n_params] which of sigmas_; empty: all the first
  std::vector<std::vector<std::uint32_t>> starts_;  // [kinds] steps at which stretches start anew, 0 first
  std::size_t capacity_, count_ = 0;
  std::unique_ptr<Stretch[]> stretches_;  // [capacity, kinds], up to and with a step
  std::size_t run_kind_ = 0, run_from_ = 0, run_to_ = 0;
  Stretch before_run_ = kNoSteps;
  Run run_;
};

}  // namespace casimir
