// Stochastic proximal steps under any separable penalty that touch only the weights of their example.
//
//     w <- argmin_y R(y) + <A_i^T x + h, y> + |y - w|^2 / (2 gamma_t)
//
// A weight that no example touches goes through x <- shrink(x - gamma_t d) / (1 + gamma_t sigma_j), d = h_j - kappa
// z_j. As long as its sign stays, that is an affine map, and so are many such steps (`Stretch`). The steps that a
// weight has missed are therefore made up for just in time, when its row is next read: by `StretchPowers` where all
// steps are alike, as in SVRG and SAGA, else by `StretchTable`, and one by one where nearly every weight has a strength
// of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "solve/affine_iterate.hpp"
#include "solve/penalty.hpp"
#include "solve/stretch.hpp"

namespace casimir {

class ProxIterate {
 public:
  /// h: [n_params], or null: 0; it may be changed on the rows of an example right before `step`. w is changed in place;
  /// every weight is up to date after `finish`, which also brings the sum.
  ProxIterate(const Problem& problem, const Penalty& penalty, const double* h, double* w, IterateSum& sum);

  /// Brings the rows of example i up to date.
  WeightView view(std::int64_t i);
  void step(std::int64_t i, const double* x, double gamma, double weight);
  void finish();

 private:
  enum class Missed { kAlike, kTable, kOneByOne };

  std::size_t now() const { return steps_.size(); }
  double h_of(std::int64_t j) const { return h_ ? h_[j] : 0.0; }
  double step_of(std::int64_t j, double x, std::size_t t) const {
    return penalty_.step(j, x, h_of(j), steps_[t].gamma);
  }
  /// What weight j does from step `from` on; of no steps where they are taken one by one.
  const Run& run(std::int64_t j, std::size_t from) {
    static constexpr Run none{};
    if (missed_ == Missed::kAlike) return powers_.run(penalty_.sigma_of(j), now() - from);
    return missed_ == Missed::kTable ? table_->run(j, from, now()) : none;
  }

  /// Of the steps from `from` on, those that keep the sign of weight j, or the first of them.
  Advanced advance(std::int64_t j, double size, double D, std::size_t from) {
    const Run& next = run(j, from);
    const Advanced at_end = Advanced{size, 0.0, 0}.after(next.stretch, next.steps, D);
    if (next.steps == 0 || !falls_to_zero(at_end.size, D)) return at_end;
    return missed_ == Missed::kAlike ? powers_.advance(size, D) : table_->advance(size, D);
  }

  void catch_up(std::int64_t row);
  void catch_up_all();
  void make_up(std::int64_t j, std::size_t from);
  void remember(StepSize step);
  void expect_other_steps();
  void restart();

  const Problem& problem_;
  Penalty penalty_;
  const double* h_;
  double* w_;
  IterateSum& sum_;
  std::int64_t width_;                   // weights of a row
  std::vector<StepSize> steps_;          // since the last renewal
  Missed missed_ = Missed::kAlike;       // how missed steps are made up for
  std::size_t most_steps_;               // between renewals
  StretchPowers powers_;                 // where steps are alike
  std::unique_ptr<StretchTable> table_;  // where they are not
  std::vector<std::uint32_t> done_;      // [rows]: steps since the last renewal that the row has taken
  std::vector<double> total_;            // [n_params]: sum_t a_t w_t of this epoch
  std::vector<RowRange> ranges_;
};

}  // namespace casimir
