#include "solve/prox_iterate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace casimir {
namespace {

constexpr double kSmallestPower = 1e-100;  // where no sum of iterates is kept; with one, kSmallestScale
constexpr std::size_t kMostSteps = 1u << 20;
constexpr std::size_t kMostClasses = 64;

}  // namespace

void ProxIterate::Powers::restart() {
  a = {1.0};
  c = {0.0};
  sum_a = sum_c = {0.0};
}

void ProxIterate::Powers::append(double gamma, double weight) {
  const double shrink = 1.0 / (1.0 + gamma * sigma);
  a.push_back(a.back() * shrink);
  c.push_back((c.back() + gamma) * shrink);
  sum_a.push_back(sum_a.back() + weight * a.back());
  sum_c.push_back(sum_c.back() + weight * c.back());
}

ProxIterate::ProxIterate(const Problem& problem, const Penalty& penalty, const double* h, double* w, IterateSum& sum)
    : problem_(problem),
      penalty_(penalty),
      h_(h),
      w_(w),
      sum_(sum),
      width_(problem.n_params() / problem.rows()),
      smallest_power_(sum.q ? kSmallestScale : kSmallestPower),
      done_(static_cast<std::size_t>(problem.rows()), 0) {
  const std::int64_t n = problem.n_params();
  if (sum.q) {
    total_.assign(static_cast<std::size_t>(n), 0.0);
    for (std::int64_t j = 0; j < n; ++j) sum.q[j] -= sum.mass * w[j];  // so that the sum is -q whatever w becomes
    sum.mass = 0.0;
  }
  if (!penalty.strength) powers_.push_back({penalty.sigma(), {}, {}, {}, {}});
  if (penalty.strength) class_.resize(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; penalty.strength && j < n; ++j) {
    const double sigma = penalty.is_fixed(j) ? 0.0 : penalty.sigma_of(j);
    std::size_t k = 0;
    while (k < powers_.size() && powers_[k].sigma != sigma) ++k;
    if (k == powers_.size()) powers_.push_back({sigma, {}, {}, {}, {}});
    if (k == kMostClasses)
      throw std::invalid_argument(
          "stochastic steps on the core take at most 64 different strengths of a penalty. Round them, use "
          "DualProximal(), BCFW() or LBFGS(), or Objective(native=False).");
    class_[static_cast<std::size_t>(j)] = static_cast<std::uint8_t>(k);
  }
  for (Powers& powers : powers_) powers.restart();
}

/// Weight j takes the steps `from`, `from` + 1, ... that it has missed.
void ProxIterate::advance(std::int64_t j, std::size_t from) {
  const std::size_t to = now();
  if (penalty_.is_fixed(j)) {
    w_[j] = 0.0;
    return;
  }
  double x = w_[j], total = 0.0;
  const double d = drift(j), l1 = penalty_.l1_of(j);
  const Powers& powers = powers_[class_.empty() ? 0 : class_[static_cast<std::size_t>(j)]];
  while (from < to) {
    if (x == 0.0 && (std::abs(d) <= l1 || penalty_.step(j, 0.0, h_ ? h_[j] : 0.0, gammas_[from]) == 0.0)) break;
    const double sign = x != 0.0 ? std::copysign(1.0, x) : -std::copysign(1.0, d);
    const double D = l1 + sign * d;
    const double start = (std::abs(x) + D * powers.c[from]) / powers.a[from];
    const auto at = [&](std::size_t t) { return start * powers.a[t] - D * powers.c[t]; };
    std::size_t end = to;  // the last time up to which the sign stays
    if (D > 0.0 && !(at(to) > 0.0)) {
      std::size_t low = from, high = to;  // at(low) > 0 >= at(high), and it falls all the way
      while (low + 1 < high) {
        const std::size_t middle = (low + high) / 2;
        (at(middle) > 0.0 ? low : high) = middle;
      }
      end = low;
    }
    if (end > from) {
      total += sign * (start * (powers.sum_a[end] - powers.sum_a[from]) - D * (powers.sum_c[end] - powers.sum_c[from]));
      x = sign * at(end);
    }
    from = end;
    if (from == to) break;
    x = penalty_.step(j, x, h_ ? h_[j] : 0.0, gammas_[from]);  // through 0, or onto it
    total += weights_[from] * x;
    ++from;
  }
  w_[j] = x;
  if (!total_.empty()) total_[static_cast<std::size_t>(j)] += total;
}

void ProxIterate::catch_up(std::int64_t row) {
  std::uint32_t& done = done_[static_cast<std::size_t>(row)];
  if (done == now()) return;
  for (std::int64_t j = row * width_; j < (row + 1) * width_; ++j) advance(j, done);
  done = static_cast<std::uint32_t>(now());
}

void ProxIterate::catch_up_all() {
  for (std::int64_t row = 0; row < problem_.rows(); ++row) catch_up(row);
}

void ProxIterate::restart() {
  catch_up_all();
  std::fill(done_.begin(), done_.end(), 0);
  gammas_.clear();
  weights_.clear();
  for (Powers& powers : powers_) powers.restart();
}

WeightView ProxIterate::view(std::int64_t i) {
  ranges_.clear();
  problem_.touched(i, ranges_);
  for (const auto& [begin, end] : ranges_)
    for (std::int64_t row = begin; row < end; ++row) catch_up(row);
  return {w_};
}

/// Call it after `view(i)`.
void ProxIterate::step(std::int64_t i, const double* x, double gamma, double weight) {
  problem_.scatter(i, x, {w_, -gamma});
  const auto before = static_cast<std::uint32_t>(now());
  gammas_.push_back(gamma);
  weights_.push_back(weight);
  bool small = now() >= kMostSteps;
  for (Powers& powers : powers_) {
    powers.append(gamma, weight);
    small = small || powers.a.back() < smallest_power_;
  }
  for (const auto& [begin, end] : ranges_)
    for (std::int64_t row = begin; row < end; ++row) {
      std::uint32_t& done = done_[static_cast<std::size_t>(row)];
      if (done != before) continue;  // the row came before
      for (std::int64_t j = row * width_; j < (row + 1) * width_; ++j) {
        w_[j] = penalty_.step(j, w_[j], h_ ? h_[j] : 0.0, gamma);
        if (!total_.empty()) total_[static_cast<std::size_t>(j)] += weight * w_[j];
      }
      ++done;
    }
  if (small) restart();
}

void ProxIterate::finish() {
  catch_up_all();
  if (!sum_.q) return;
  const std::int64_t n = problem_.n_params();
  for (std::int64_t j = 0; j < n; ++j) sum_.q[j] -= total_[static_cast<std::size_t>(j)];
  for (std::int64_t j = 0; sum_.share != 0.0 && j < n; ++j) sum_.q[j] *= -sum_.share;
}

}  // namespace casimir
