// Dual ascent over cached outputs: every pass climbs, and the gap closes.
#include <array>

#include "problems.hpp"
#include "solve/dual.hpp"
#include "solve/potential_blocks.hpp"

using namespace testing;
using casimir::Penalty;
using casimir::Problem;
using casimir::StepRule;

namespace {

constexpr double kLam = 0.05;

/// A penalty, the weights and gradient sum that dual steps move under it, and R and its conjugate.
struct Start {
  Penalty penalty;
  std::vector<double> w, g;

  Start(const Problem& problem, const Penalty& given)
      : penalty(given), w(static_cast<std::size_t>(problem.n_params()), 0.0), g(w) {
    for (std::size_t j = 0; j < w.size(); ++j) w[j] = penalty.primal(static_cast<std::int64_t>(j), 0.0);
  }

  casimir::DualIterate iterate(casimir::DualAverage* average = nullptr) {
    return {penalty, penalty.sigma(), w.data(), penalty.is_quadratic() ? nullptr : g.data(), average};
  }
  /// R(w), without weights that are fixed.
  double value() const {
    double sum = 0.0;
    for (std::size_t j = 0; j < w.size(); ++j) {
      const double strength =
          penalty.is_fixed(static_cast<std::int64_t>(j)) ? 0.0 : penalty.strength_of(static_cast<std::int64_t>(j));
      const double moved = w[j] - (penalty.center ? penalty.center[j] : 0.0);
      sum += strength * (penalty.l1 * std::abs(w[j]) + 0.5 * penalty.l2 * w[j] * w[j]) +
             0.5 * penalty.kappa * moved * moved;
    }
    return sum;
  }
  /// g, which w tells where R is quadratic.
  double gradient(std::size_t j) const {
    return penalty.is_quadratic() ? penalty.pull_of(static_cast<std::int64_t>(j)) - penalty.sigma() * w[j] : g[j];
  }
  /// D = ell + min_w R(w) + <g, w>, attained at w.
  double dual(double ell) const {
    double sum = ell + value();
    for (std::size_t j = 0; j < w.size(); ++j) sum += gradient(j) * w[j];
    return sum;
  }
  /// w = argmin R(w) + <g, w>.
  void check_w() const {
    for (std::size_t j = 0; j < w.size(); ++j)
      check_close(w[j], penalty.primal(static_cast<std::int64_t>(j), gradient(j)), 1e-12);
  }
};

double mean_loss(const Problem& problem, const std::vector<double>& w, const casimir::Smoothing& smoothing = {}) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < problem.n_examples(); ++i)
    if (problem.share(i) > 0.0) sum += problem.share(i) * answer_of(problem, i, {w.data()}, smoothing, nullptr).value;
  return sum;
}

std::vector<std::int64_t> active_order(const Problem& problem, Random& random) {
  std::vector<std::int64_t> order = random.permutation(problem.n_examples());
  std::erase_if(order, [&](std::int64_t i) { return problem.scale(i) == 0.0; });
  return order;
}

/// F(w) - D must never be negative, and D never falls.
void check_ascent(const Problem& problem, const Penalty& penalty, StepRule rule, int steps, int passes,
                  double final_gap, Random& random) {
  const auto blocks = problem.dual_blocks();
  Start at(problem, penalty);
  double value = at.dual(0.0);
  const auto climb = [&] {
    const double next = at.dual(blocks->ell());
    check(next >= value - 1e-12);
    value = next;
  };
  for (int pass = 0; pass < passes; ++pass) {
    const auto order = active_order(problem, random);
    const auto result = blocks->exact_pass(order, rule, steps, 0.0, at.iterate());
    check_equal(result.oracle_calls, static_cast<std::int64_t>(order.size()));
    check(result.gap >= 0.0);
    climb();
    const auto light = blocks->exact_pass(order, rule, steps, 1.0, at.iterate());
    check(light.oracle_calls == light.visits && light.visits <= problem.active());
    climb();
    if (rule == StepRule::kFrankWolfe) continue;
    const auto cached = blocks->cached_pass(active_order(problem, random), steps, 0.5, at.iterate());
    check(cached.oracle_calls == 0 && cached.visits <= problem.active());
    climb();
  }
  at.check_w();
  const double primal = mean_loss(problem, at.w) + at.value();
  check(primal - value >= -1e-12);
  check(primal - value <= final_gap * primal);
  check(blocks->active_outputs() >= problem.n_examples() && blocks->active_outputs() <= blocks->cached_outputs());
}

/// sum_t t x_t = mass x - q, with x_t the w (or g) after visit t.
void check_average(const Problem& problem, const Penalty& penalty, StepRule rule, Random& random) {
  const auto blocks = problem.dual_blocks(), plain = problem.dual_blocks();
  Start at(problem, penalty), other(problem, penalty);
  const std::vector<double>&x = penalty.is_quadratic() ? at.w : at.g,
        &x_plain = penalty.is_quadratic() ? other.w : other.g;
  std::vector<double> q(at.w.size(), 0.0), sum(q);
  casimir::DualAverage average{q.data(), 0.0, 1.0, 0.0};
  double t = 1.0, ell_sum = 0.0;
  for (int pass = 0; pass < 4; ++pass) {
    const auto order = active_order(problem, random);
    blocks->exact_pass(order, rule, 2, 0.0, at.iterate(&average));
    for (const std::int64_t i : order) {
      plain->exact_pass({&i, 1}, rule, 2, 0.0, other.iterate());
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += t * x_plain[j];
      ell_sum += t * plain->ell();
      t += 1.0;
    }
  }
  check(x == x_plain && at.w == other.w);
  check_close(average.next_weight, t, 1e-15);
  check_close(average.ell_sum, ell_sum, 1e-12);
  for (std::size_t j = 0; j < sum.size(); ++j) check_close(average.mass * x[j] - q[j], sum[j], 1e-10);
}

/// Nothing is read or written out of place when the weights are not finite.
void check_non_finite(const Problem& problem, const Penalty& penalty, Random& random) {
  for (const StepRule rule : {StepRule::kFrankWolfe, StepRule::kPairwise}) {
    const auto blocks = problem.dual_blocks();
    Start at(problem, penalty);
    blocks->exact_pass(active_order(problem, random), rule, 2, 0.0, at.iterate());
    for (double& value : at.w) value = random.below(2) ? NAN : INFINITY;
    blocks->exact_pass(active_order(problem, random), rule, 2, 0.0, at.iterate());
    blocks->cached_pass(active_order(problem, random), 2, 0.0, at.iterate());
  }
}

/// Log-potentials: D never falls, w stays the primal point, and the gap of the loss closes. mu = 0 is a hinge loss.
void check_potentials(const Problem& problem, const Penalty& penalty, double mu, Random& random) {
  casimir::PotentialBlocks blocks(problem, mu, 0.0);
  Start at(problem, penalty);
  double value = at.dual(0.0);
  for (int pass = 0; pass < 60; ++pass)
    for (const double skip_below : {0.0, 1.0}) {
      const auto order = active_order(problem, random);
      const auto result = blocks.pass(order, skip_below, at.iterate());
      check(result.gap >= 0.0 && result.oracle_calls >= result.visits);
      check(result.visits <= static_cast<std::int64_t>(order.size()));
      const double next = at.dual(blocks.ell());
      check(next >= value - 1e-12 * (1.0 + std::abs(value)));
      value = next;
    }
  at.check_w();
  const auto kind = mu > 0.0 ? casimir::SmoothingKind::kEntropy : casimir::SmoothingKind::kHard;
  const double primal = mean_loss(problem, at.w, {kind, 1, mu}) + at.value();
  check(primal - value >= -1e-10);
  check(primal - value <= (mu > 0.0 ? 1e-3 : 0.1) * primal);
  for (double& weight : at.w) weight = random.below(2) ? NAN : INFINITY;
  blocks.pass(active_order(problem, random), 0.0, at.iterate());  // nothing is read or written out of place
}

/// Scores in the layout of marginals: their exp oracle is the problem's own, and norms are those of what is scattered.
void check_scores(const Problem& problem, Random& random) {
  const std::vector<double> w = random.uniforms(problem.n_params(), -1.0, 1.0);
  const casimir::WeightView view{w.data()};
  const auto norm = problem.block_norm();
  const auto work = problem.workspace();
  for (std::int64_t i = 0; i < problem.n_examples(); ++i) {
    const auto count = static_cast<std::size_t>(problem.marginal_count(i));
    std::vector<double> scores(count), marginals(count), expected, change(count);
    const auto answer = answer_of(problem, i, view, {casimir::SmoothingKind::kEntropy, 1, 0.7}, &expected);
    problem.load_weights(view, *work);
    problem.scores(i, view, *work, scores.data());
    problem.expect(i, scores.data(), 0.7, *work, marginals.data());
    check(marginals == expected);
    check_close(problem.expected_cost(i, marginals.data()), answer.cost, 1e-12);
    change = marginals;
    problem.subtract_truth(i, change.data());
    std::vector<double> vector(w.size(), 0.0);
    problem.scatter(i, change.data(), {vector.data(), 1.0});
    double square = 0.0;
    for (const double value : vector) square += value * value;
    check_close(norm->squared(i, change.data()), square, 1e-10);
  }
}

/// Ridge; an elastic net of mixed strengths, some weights fixed or not negative; and the net around a point.
void check_all(Problem& problem, Random& random) {
  const std::int64_t n = problem.n_params();
  std::vector<double> strength(static_cast<std::size_t>(n)), center = random.uniforms(n, -1.0, 1.0);
  std::vector<std::uint8_t> nonnegative(strength.size());
  for (double& value : strength)
    value = std::array{1.0, 2.5, double(INFINITY)}[static_cast<std::size_t>(random.below(3))];
  for (std::uint8_t& value : nonnegative) value = random.below(3) == 0;
  const Penalty ridge{0.0, kLam};
  const Penalty net{0.01, kLam, strength.data(), nonnegative.data(), 0.0, nullptr, n};
  const Penalty around{0.01, 0.0, nullptr, nonnegative.data(), kLam, center.data(), n};
  check_scores(problem, random);
  check_ascent(problem, ridge, StepRule::kFrankWolfe, 1, 400, 0.05, random);
  for (const int steps : {1, 2, 5}) check_ascent(problem, ridge, StepRule::kPairwise, steps, 400, 3e-4, random);
  std::vector<double> scales = random.uniforms(problem.n_examples(), 0.5, 2.0);
  scales[2] = 0.0;
  for (const Penalty& penalty : {ridge, net, around})
    for (const bool weighted : {false, true}) {
      problem.set_scales(weighted ? scales.data() : nullptr, problem.n_examples() - 1);
      check_ascent(problem, penalty, StepRule::kFrankWolfe, 1, 100, 0.3, random);
      check_ascent(problem, penalty, StepRule::kPairwise, 2, 200, 0.02, random);
      check_average(problem, penalty, StepRule::kFrankWolfe, random);
      check_average(problem, penalty, StepRule::kPairwise, random);
      check_non_finite(problem, penalty, random);
      for (const double mu : {1.0, 0.3, 0.0}) check_potentials(problem, penalty, mu, random);
      problem.set_scales(nullptr, 0);
    }
}

void check_pairwise_move() {
  using Numbers = std::vector<double>;
  auto move = casimir::pairwise_move(Numbers{1.0, 3.0, 3.0 - 1e-15, 0.0}, Numbers{0.5, 0.0, 0.5, 0.0});
  check(move.best == 1 && move.worst == 0 && move.gain == 2.0);
  move = casimir::pairwise_move(Numbers{1.0, 3.0, 3.0 + 1e-15, 1.0 - 1e-15}, Numbers{0.0, 0.5, 0.3, 0.2});
  check(move.best == 1 && move.worst == 3);
  move = casimir::pairwise_move(Numbers{2.0 + 1e-15, 2.0}, Numbers{0.5, 0.5});
  check(move.gain == 0.0);
}

}  // namespace

void test_dual() {
  Random random(6);
  check_pairwise_move();
  for (const bool real_valued : {false, true}) {
    const auto chains = random_chains(15, 5, real_valued, real_valued, random);
    check_all(*chains->problem, random);
    check_all(*random_trees(*chains, random)->problem, random);
  }
  const auto lists = random_candidates(25, 6, random);
  check_all(*lists->problem, random);
  check_all(*lists->problem32, random);
  const auto classes = random_classes(25, 6, 5, 0.5, random);
  check_all(*classes->sparse, random);
  check_all(*classes->dense, random);
}
