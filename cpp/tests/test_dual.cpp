// Dual ascent over cached outputs: every pass climbs, and the gap closes.
#include "candidates/candidate_dual.hpp"
#include "chain/chain_dual.hpp"
#include "problems.hpp"
#include "tree/tree_dual.hpp"

using namespace testing;
using casimir::StepRule;

namespace {

constexpr double kLam = 0.05;

double dual_value(const casimir::DualBlocks& blocks, const std::vector<double>& w) {
  return blocks.ell() - 0.5 * kLam * dot(w, w);
}

/// F(w) - D must never be negative, and D never falls.
template <class Blocks, class P>
void check_ascent(const P& problem, StepRule rule, int steps, double final_gap, Random& random) {
  Blocks blocks(problem);
  const std::int64_t n = problem.size();
  std::vector<double> w(static_cast<std::size_t>(problem.dim()), 0.0);
  double value = 0.0;
  const auto climb = [&] {
    const double next = dual_value(blocks, w);
    check(next >= value - 1e-12);
    value = next;
  };
  for (int pass = 0; pass < 400; ++pass) {
    const auto result = blocks.exact_pass(random.permutation(n).data(), n, kLam, rule, steps, w.data(), nullptr);
    check_equal(result.oracle_calls, n);
    check(result.gap >= 0.0);
    climb();
    if (rule == StepRule::kFrankWolfe) continue;
    const auto cached = blocks.cached_pass(random.permutation(n).data(), n, kLam, steps, 0.5, w.data());
    check(cached.oracle_calls == 0 && cached.visits <= n);
    climb();
  }
  const double primal = sum_of_values(problem, w, {}) / static_cast<double>(n) + 0.5 * kLam * dot(w, w);
  check(primal - value >= -1e-12);
  check(primal - value <= final_gap * primal);
  check(blocks.active_outputs() >= n && blocks.active_outputs() <= blocks.cached_outputs());
}

/// sum_t t w_t = mass w - q, with w_t the iterate after visit t.
template <class Blocks, class P>
void check_average(const P& problem, StepRule rule, Random& random) {
  Blocks blocks(problem), plain(problem);
  const auto dim = static_cast<std::size_t>(problem.dim());
  std::vector<double> w(dim, 0.0), q(dim, 0.0), w_plain(dim, 0.0), sum(dim, 0.0);
  casimir::DualAverage average{q.data(), 0.0, 1.0, 0.0};
  double t = 1.0, ell_sum = 0.0;
  for (int pass = 0; pass < 4; ++pass) {
    const auto order = random.permutation(problem.size());
    blocks.exact_pass(order.data(), problem.size(), kLam, rule, 2, w.data(), &average);
    for (const std::int64_t i : order) {
      plain.exact_pass(&i, 1, kLam, rule, 2, w_plain.data(), nullptr);
      for (std::size_t j = 0; j < dim; ++j) sum[j] += t * w_plain[j];
      ell_sum += t * plain.ell();
      t += 1.0;
    }
  }
  check(w == w_plain);
  check_close(average.next_weight, t, 1e-15);
  check_close(average.ell_sum, ell_sum, 1e-12);
  for (std::size_t j = 0; j < dim; ++j) check_close(average.mass * w[j] - q[j], sum[j], 1e-10);
}

/// Nothing is read or written out of place when the weights are not finite.
template <class Blocks, class P>
void check_non_finite(const P& problem, Random& random) {
  for (const StepRule rule : {StepRule::kFrankWolfe, StepRule::kPairwise}) {
    Blocks blocks(problem);
    const std::int64_t n = problem.size();
    std::vector<double> w(static_cast<std::size_t>(problem.dim()), 0.0);
    blocks.exact_pass(random.permutation(n).data(), n, kLam, rule, 2, w.data(), nullptr);
    for (double& value : w) value = random.below(2) ? NAN : INFINITY;
    blocks.exact_pass(random.permutation(n).data(), n, kLam, rule, 2, w.data(), nullptr);
    blocks.cached_pass(random.permutation(n).data(), n, kLam, 2, 0.0, w.data());
  }
}

template <class Blocks, class P>
void check_all(const P& problem, Random& random) {
  check_ascent<Blocks>(problem, StepRule::kFrankWolfe, 1, 0.05, random);
  for (const int steps : {1, 2, 5}) check_ascent<Blocks>(problem, StepRule::kPairwise, steps, 1e-4, random);
  check_average<Blocks>(problem, StepRule::kFrankWolfe, random);
  check_average<Blocks>(problem, StepRule::kPairwise, random);
  check_non_finite<Blocks>(problem, random);
}

void check_pairwise_move() {
  auto move = casimir::pairwise_move({1.0, 3.0, 3.0 - 1e-15, 0.0}, {0.5, 0.0, 0.5, 0.0});
  check(move.best == 1 && move.worst == 0 && move.gain == 2.0);
  move = casimir::pairwise_move({1.0, 3.0, 3.0 + 1e-15, 1.0 - 1e-15}, {0.0, 0.5, 0.3, 0.2});
  check(move.best == 1 && move.worst == 3);
  move = casimir::pairwise_move({2.0 + 1e-15, 2.0}, {0.5, 0.5});
  check(move.gain == 0.0);
}

/// Forests over the tokens of chains.
void check_trees(const ChainArrays& chains, Random& random) {
  const casimir::LinearTokensData& data = chains.problem->data();
  std::vector<std::int64_t> parents;
  for (std::int64_t i = 0; i < data.size; ++i)
    for (std::int64_t v = 0; v < chains.problem->length(i); ++v) parents.push_back(random.below(v + 1) - 1);
  const casimir::TreeOrder order = casimir::tree_order(parents.data(), data.offsets, data.size);
  check_all<casimir::TreeDual>(
      casimir::LinearTree(data, {order.node.data(), order.parent.data(), order.subtree.data()}), random);
}

}  // namespace

void test_dual() {
  Random random(6);
  check_pairwise_move();
  for (const bool real_valued : {false, true}) {
    const auto chains = random_chains(15, 5, real_valued, random);
    check_all<casimir::ChainDual>(*chains->problem, random);
    check_trees(*chains, random);
  }
  const auto lists = random_candidates(25, 6, random);
  check_all<casimir::CandidateDual>(*lists->problem, random);
  check_all<casimir::CandidateDual>(*lists->problem32, random);
}
