// Stretches of steps equal one step after another.
#include "solve/stretch.hpp"
#include "testing.hpp"

using namespace testing;
using casimir::Advanced;
using casimir::Penalty;
using casimir::Run;
using casimir::StepSize;

namespace {

constexpr double kClose = 1e-11;

/// One step after another, as long as |x| stays above 0.
Advanced walk(double size, double D, double sigma, const StepSize* steps, std::size_t count) {
  Advanced now{size, 0.0, 0};
  for (; now.steps < count; ++now.steps) {
    const StepSize step = steps[now.steps];
    const double next = (now.size - step.gamma * D) / (1.0 + step.gamma * sigma);
    if (casimir::falls_to_zero(next, D)) break;
    now.size = next;
    now.total += step.weight * next;
  }
  return now;
}

void check_advanced(const Run& run, const Advanced& cut, double size, double D, const Advanced& expected) {
  const Advanced whole = Advanced{size, 0.0, 0}.after(run.stretch, run.steps, D);
  const Advanced& actual = casimir::falls_to_zero(whole.size, D) ? cut : whole;
  check_equal(static_cast<std::int64_t>(actual.steps), static_cast<std::int64_t>(expected.steps));
  check_close(actual.size, expected.size, kClose);
  check_close(actual.total, expected.total, kClose);
}

void check_powers(Random& random) {
  casimir::StretchPowers powers;
  for (int trial = 0; trial < 300; ++trial) {
    const StepSize step{random.uniform(0.0, 0.5), random.uniform(0.0, 2.0)};
    powers.reset(step);
    for (int turn = 0; turn < 4; ++turn) {
      const double sigma = turn == 0 ? 0.0 : random.uniform(0.0, 3.0);
      for (const std::size_t count : {std::size_t{1}, std::size_t{37}, static_cast<std::size_t>(random.below(3000))}) {
        const std::vector<StepSize> steps(count, step);
        const double size = random.uniform(0.1, 2.0), D = random.uniform(-0.3, 0.3);
        const Run& run = powers.run(sigma, count);
        check_advanced(run, powers.advance(size, D), size, D, walk(size, D, sigma, steps.data(), count));
      }
    }
  }
}

/// Weights of many strengths, of which some are fixed; steps between two times, in the table and one after another.
void check_table(std::int64_t n, std::int64_t kinds, double l2, double smallest, Random& random) {
  std::vector<double> strength(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j)
    strength[static_cast<std::size_t>(j)] = j % 5 == 2 ? INFINITY : 0.1 + 0.01 * static_cast<double>(j % kinds);
  const Penalty penalty{0.0, l2, strength.data(), nullptr, 0.2, nullptr, n};
  casimir::StretchTable table(penalty, n, smallest);
  const std::size_t found = l2 > 0.0 ? static_cast<std::size_t>(kinds) : 1;  // at least 4/5 of them are there
  check(table.capacity() * found * sizeof(casimir::Stretch) <= std::size_t{80} << 20);
  for (int renewal = 0; renewal < 2; ++renewal) {
    std::vector<StepSize> steps(std::min<std::size_t>(table.capacity(), 200));
    for (StepSize& step : steps) table.append(step = {random.uniform(0.0, 0.5), random.uniform(0.0, 2.0)});
    const auto count = static_cast<std::int64_t>(steps.size());
    for (int trial = 0; trial < 2000; ++trial) {
      const bool all = trial % 1999 == 0;  // the same weight and steps before and after a renewal
      const std::int64_t j = all ? 0 : 5 * random.below(n / 5), first = all ? 0 : random.below(count);
      auto from = static_cast<std::size_t>(first);
      const auto to = static_cast<std::size_t>(all ? count : first + 1 + random.below(count - first));
      double size = random.uniform(0.1, 2.0);
      const double D = random.uniform(-0.3, 0.3);
      for (bool falls = false; from < to && !falls;) {
        const Run run = table.run(j, from, to);
        check(run.steps > 0);
        const Advanced expected = walk(size, D, penalty.sigma_of(j), steps.data() + from, run.steps);
        check_advanced(run, table.advance(size, D), size, D, expected);
        size = expected.size, from += expected.steps, falls = expected.steps < run.steps;
      }
    }
    table.clear();
  }
}

}  // namespace

void test_stretch() {
  Random random(5);
  check_powers(random);
  for (const double l2 : {0.0, 0.5, 30.0})  // the powers of the last fall below 1e-3 within a few steps
    for (const std::int64_t kinds : {1, 7, 1000, 40000}) check_table(50000, kinds, l2, 1e-3, random);
}
