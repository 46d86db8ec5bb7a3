#include "solve/epochs.hpp"

namespace casimir {
namespace {

/// SAGA's steps under a quadratic penalty, which touch only the weights of their example.
///
///     w <- (1 - gamma sigma) w - gamma (d + mean - kappa z),   mean += d / n,   d = scale_i A_i^T (u_i - table_i)
///
/// With H = kappa z - mean, w = s v + r H: s *= 1 - gamma sigma, r = (1 - gamma sigma) r + gamma, H -= d / n, and
/// v += (r / n - gamma) d / s. Sums of iterates are mass v + of_h H - q.
class MovingIterate {
 public:
  MovingIterate(const Problem& problem, const Penalty& penalty, MutableVector mean, MutableVector w, IterateSum& sum)
      : problem_(problem),
        sigma_(penalty.sigma()),
        inverse_n_(1.0 / static_cast<double>(problem.active())),
        mean_(mean),
        penalty_(penalty),
        w_(w),
        sum_(sum),
        h_(w.size()),
        mass_(sum.mass) {
    for (std::size_t j = 0; j < h_.size(); ++j) h_[j] = penalty.pull_of(static_cast<std::int64_t>(j)) - mean[j];
  }

  WeightView view(std::int64_t /*i*/) const { return {w_.data(), s_, h_.data(), r_}; }

  void step(std::int64_t i, const double* x, double gamma, double weight) {
    const double keep = 1.0 - gamma * sigma_;
    s_ *= keep;
    r_ = keep * r_ + gamma;
    if (std::abs(s_) < kSmallestScale) rebase();
    const double of_v = (r_ * inverse_n_ - gamma) / s_;
    problem_.scatter(i, x, {w_.data(), of_v, h_.data(), -inverse_n_});
    if (sum_.q) problem_.scatter(i, x, {sum_.q, mass_ * of_v - of_h_ * inverse_n_});
    mass_ += weight * s_;
    of_h_ += weight * r_;
  }

  void finish() {
    rebase();
    sum_.mass = 0.0;
    for (std::size_t j = 0; j < h_.size(); ++j) mean_[j] = penalty_.pull_of(static_cast<std::int64_t>(j)) - h_[j];
  }

 private:
  /// Makes s = 1, r = 0 and both masses 0 without changing w and the sum of iterates.
  void rebase() {
    const std::size_t n = h_.size();
    const double s = s_, r = r_, mass = mass_, of_h = of_h_;
    double *w = w_.data(), *q = sum_.q;
    const double* h = h_.data();
    for (std::size_t j = 0; q && j < n; ++j) q[j] -= mass * w[j] + of_h * h[j];
    for (std::size_t j = 0; j < n; ++j) w[j] = s * w[j] + r * h[j];
    s_ = 1.0;
    r_ = mass_ = of_h_ = 0.0;
  }

  const Problem& problem_;
  double sigma_, inverse_n_;
  MutableVector mean_;
  const Penalty& penalty_;
  MutableVector w_;  // holds v during the epoch
  IterateSum& sum_;
  std::vector<double> h_;
  double s_ = 1.0, r_ = 0.0, mass_, of_h_ = 0.0;
};

/// The same under any separable penalty: proximal steps made up for just in time. The mean moves before a step is
/// finished, so the step takes (1 - 1/n) d and then the new mean: together the old one.
class MovingProxIterate {
 public:
  MovingProxIterate(const Problem& problem, const Penalty& penalty, MutableVector mean, MutableVector w,
                    IterateSum& sum)
      : problem_(problem), mean_(mean), steps_(problem, penalty, mean.data(), w.data(), sum) {}

  WeightView view(std::int64_t i) { return steps_.view(i); }

  void step(std::int64_t i, double* x, double gamma, double weight) {
    const double inverse_n = 1.0 / static_cast<double>(problem_.active());
    problem_.scatter(i, x, {mean_.data(), inverse_n});
    const std::int64_t count = problem_.marginal_count(i);
    for (std::int64_t j = 0; j < count; ++j) x[j] *= 1.0 - inverse_n;
    steps_.step(i, x, gamma, weight);
  }

  void finish() { steps_.finish(); }

 private:
  const Problem& problem_;
  MutableVector mean_;
  ProxIterate steps_;
};

}  // namespace

SeenSums saga_epoch(const Problem& problem, Order order, double gamma, Vector averaging, const Penalty& penalty,
                    MutableVector table, MutableVector mean, const Smoothing& smoothing, MutableVector w,
                    IterateSum& sum) {
  check_epoch(problem, order, penalty, w);
  if (sum.n_params != 0) check_size(static_cast<std::size_t>(sum.n_params), problem.n_params(), "sum");
  check_size(mean.size(), problem.n_params(), "mean");
  check_size(table.size(), problem.marginal_offset(problem.n_examples()), "table");
  if (!averaging.empty()) check_size(averaging.size(), static_cast<std::int64_t>(order.size()), "averaging");
  const auto run = [&](auto iterate) {
    return run_steps(
        problem, order, smoothing, iterate,
        [&](std::int64_t i, double* x) {
          double* old = table.data() + problem.marginal_offset(i);
          const std::int64_t count = problem.marginal_count(i);
          for (std::int64_t j = 0; j < count; ++j) {
            const double fresh = x[j];
            x[j] -= old[j];
            old[j] = fresh;
          }
        },
        [&](std::size_t) { return gamma; }, [&](std::size_t t) { return averaging.empty() ? 0.0 : averaging[t]; });
  };
  if (penalty.is_quadratic()) return run(MovingIterate(problem, penalty, mean, w, sum));
  return run(MovingProxIterate(problem, penalty, mean, w, sum));
}

}  // namespace casimir
