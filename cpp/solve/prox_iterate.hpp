// Stochastic proximal steps under any separable penalty that touch only the weights of their example.
//
//     w <- argmin_y R(y) + <A_i^T x + h, y> + |y - w|^2 / (2 gamma_t)
//
// A weight that no example touches goes through x <- shrink(x - gamma_t d) / (1 + gamma_t sigma_j), d = h_j - kappa
// z_j, which is affine as long as its sign stays: with A_t = prod 1 / (1 + gamma sigma_j) and C_t = (C_{t-1} + gamma_t)
// / (1 + gamma_t sigma_j), which all weights of one sigma_j share,
//
//     |x_t| = (A_t / A_s) (|x_s| + D C_s) - D C_t,      D = l1_j +- d
//
// So the steps that a weight has missed are made up for just in time, when its row is next read.
#pragma once

#include <cstdint>
#include <vector>

#include "solve/affine_iterate.hpp"
#include "solve/penalty.hpp"

namespace casimir {

class ProxIterate {
 public:
  /// h: [n_params], or null: 0; it may be changed on the rows of an example right before `finish_step`. w is changed in
  /// place; every weight is up to date after `finish`, which also brings the sum.
  ProxIterate(const Problem& problem, const Penalty& penalty, const double* h, double* w, IterateSum& sum);

  /// Brings the rows of example i up to date.
  WeightView view(std::int64_t i);
  void step(std::int64_t i, const double* x, double gamma, double weight);
  void finish();

 private:
  /// A_t, C_t and the sums of a_t A_t and a_t C_t, from the last renewal on; entry 0 is where it starts.
  struct Powers {
    double sigma;
    std::vector<double> a, c, sum_a, sum_c;
    void restart();
    void append(double gamma, double weight);
  };

  std::size_t now() const { return gammas_.size(); }
  double drift(std::int64_t j) const { return (h_ ? h_[j] : 0.0) - penalty_.pull_of(j); }
  void catch_up(std::int64_t row);
  void catch_up_all();
  void advance(std::int64_t j, std::size_t from);
  void restart();

  const Problem& problem_;
  Penalty penalty_;
  const double* h_;
  double* w_;
  IterateSum& sum_;
  std::int64_t width_;               // weights of a row
  double smallest_power_;            // below it all weights are brought up to date, and powers start anew
  std::vector<std::uint8_t> class_;  // [n_params] which of powers_; empty: all the first
  std::vector<Powers> powers_;
  std::vector<double> gammas_, weights_;  // of the steps since the last renewal
  std::vector<std::uint32_t> done_;       // [rows]: steps since then that the row has taken
  std::vector<double> total_;             // [n_params]: sum_t a_t w_t of this epoch
  std::vector<RowRange> ranges_;
};

}  // namespace casimir
