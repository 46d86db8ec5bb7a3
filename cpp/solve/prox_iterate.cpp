#include "solve/prox_iterate.hpp"

#include <algorithm>
#include <cmath>

namespace casimir {
namespace {

constexpr double kSmallestPower = 1e-100;  // where no sum of iterates is kept; with one, kSmallestScale
constexpr std::size_t kMostSteps = std::size_t{1} << 20;
constexpr std::size_t kSmallTable = 64;  // steps; with less room, renewals cost more than one step after another

}  // namespace

ProxIterate::ProxIterate(const Problem& problem, const Penalty& penalty, const double* h, double* w, IterateSum& sum)
    : problem_(problem),
      penalty_(penalty),
      h_(h),
      w_(w),
      sum_(sum),
      width_(problem.n_params() / problem.rows()),
      most_steps_(kMostSteps),
      done_(static_cast<std::size_t>(problem.rows()), 0) {
  if (!sum.q) return;
  const std::int64_t n = problem.n_params();
  total_.assign(static_cast<std::size_t>(n), 0.0);
  for (std::int64_t j = 0; j < n; ++j) sum.q[j] -= sum.mass * w[j];  // so that the sum is -q whatever w becomes
  sum.mass = 0.0;
}

/// Weight j takes the steps `from`, `from` + 1, ... that it has missed.
void ProxIterate::make_up(std::int64_t j, std::size_t from) {
  if (penalty_.is_fixed(j)) {
    w_[j] = 0.0;
    return;
  }
  double x = w_[j], total = 0.0;
  const double d = h_of(j) - penalty_.pull_of(j), l1 = penalty_.l1_of(j);
  while (from < now()) {
    if (x == 0.0 && (std::abs(d) <= l1 || step_of(j, 0.0, from) == 0.0)) break;
    const double sign = x != 0.0 ? std::copysign(1.0, x) : -std::copysign(1.0, d);
    const Advanced next = advance(j, std::abs(x), l1 + sign * d, from);
    x = sign * next.size;
    total += sign * next.total;
    from += next.steps;
    if (from == now()) break;
    x = step_of(j, x, from);  // through 0, onto it, or where a stretch ends
    total += steps_[from].weight * x;
    ++from;
  }
  w_[j] = x;
  if (!total_.empty()) total_[static_cast<std::size_t>(j)] += total;
}

void ProxIterate::catch_up(std::int64_t row) {
  std::uint32_t& done = done_[static_cast<std::size_t>(row)];
  if (done == now()) return;
  for (std::int64_t j = row * width_; j < (row + 1) * width_; ++j) make_up(j, done);
  done = static_cast<std::uint32_t>(now());
}

void ProxIterate::catch_up_all() {
  for (std::int64_t row = 0; row < problem_.rows(); ++row) catch_up(row);
}

void ProxIterate::restart() {
  catch_up_all();
  std::fill(done_.begin(), done_.end(), 0);
  steps_.clear();
  if (table_) table_->clear();
}

void ProxIterate::remember(StepSize step) {
  if (missed_ == Missed::kAlike && !steps_.empty() && step != steps_.front()) expect_other_steps();
  if (missed_ == Missed::kAlike && steps_.empty()) powers_.reset(step);
  if (table_) table_->append(step);
  steps_.push_back(step);
}

/// Steps have been alike up to now, and the next one is not.
void ProxIterate::expect_other_steps() {
  auto table = std::make_unique<StretchTable>(penalty_, problem_.n_params(), sum_.q ? kSmallestScale : kSmallestPower);
  if (table->capacity() < kSmallTable) {
    missed_ = Missed::kOneByOne;
    return;
  }
  if (now() >= table->capacity()) restart();
  for (const StepSize step : steps_) table->append(step);
  most_steps_ = table->capacity();
  table_ = std::move(table);
  missed_ = Missed::kTable;
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
  remember({gamma, weight});
  const auto before = static_cast<std::uint32_t>(now() - 1);
  for (const auto& [begin, end] : ranges_)
    for (std::int64_t row = begin; row < end; ++row) {
      std::uint32_t& done = done_[static_cast<std::size_t>(row)];
      if (done != before) continue;  // the row came before
      for (std::int64_t j = row * width_; j < (row + 1) * width_; ++j) {
        w_[j] = penalty_.step(j, w_[j], h_of(j), gamma);
        if (!total_.empty()) total_[static_cast<std::size_t>(j)] += weight * w_[j];
      }
      ++done;
    }
  if (now() >= most_steps_) restart();
}

void ProxIterate::finish() {
  catch_up_all();
  if (!sum_.q) return;
  const std::int64_t n = problem_.n_params();
  for (std::int64_t j = 0; j < n; ++j) sum_.q[j] -= total_[static_cast<std::size_t>(j)];
  for (std::int64_t j = 0; sum_.share != 0.0 && j < n; ++j) sum_.q[j] *= -sum_.share;
}

}  // namespace casimir
