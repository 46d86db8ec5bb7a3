#include <limits>

#include "chain/chain_batch.hpp"
#include "problems.hpp"
#include "solve/epochs.hpp"

using namespace testing;
using casimir::Smoothing;
using casimir::SmoothingKind;

namespace {

/// <scores(w), x> = <w, adjoint(x)> for any x, transitions, start and stop scores included.
void check_adjoint(const casimir::LinearChain& chain, Random& random) {
  const auto stride = static_cast<std::size_t>(chain.shape().stride);
  const auto labels = static_cast<std::size_t>(chain.shape().labels);
  const std::vector<double> v = random.uniforms(chain.n_params(), -1.0, 1.0),
                            c = random.uniforms(chain.n_params(), -1.0, 1.0);
  std::vector<double> w(v.size());
  for (std::size_t j = 0; j < w.size(); ++j) w[j] = 0.4 * c[j] - 1.5 * v[j];
  const casimir::WeightView view{v.data(), -1.5, c.data(), 0.4};
  for (std::int64_t i = 0; i < chain.n_examples(); ++i) {
    const auto p = static_cast<std::size_t>(chain.length(i));
    casimir::ChainWorkspace work;
    chain.load_weights(view, work);
    work.u.resize(p * stride);
    chain.score_tokens(i, 0, chain.length(i), view, work.u.data());
    std::vector<double> x((p + labels) * stride, 0.0), adjoint(w.size(), 0.0);
    double product = 0.0;
    for (std::size_t row = 0; row < p + labels; ++row)
      for (std::size_t l = 0; l < labels; ++l) {
        const double value = x[row * stride + l] = random.uniform(-1.0, 1.0);
        product += value * (row < p ? work.u[row * stride + l] : work.to[(row - p) * stride + l]);
      }
    chain.scatter(i, x.data(), {adjoint.data(), 1.0});
    check_close(product, dot(adjoint, w), 1e-12);
  }
}

casimir::LinearChain without_fixed(const casimir::LinearChain& chain) {
  casimir::LinearTokensData data = chain.data();
  data.fixed_nodes = data.fixed_pairs = nullptr;
  return casimir::LinearChain(data);
}

/// Scores of tokens and pairs are those of the weights plus the fixed ones; the loss is that of their sum.
void check_fixed_scores(const casimir::LinearChain& chain, Random& random) {
  const casimir::LinearChain plain = without_fixed(chain);
  const casimir::LinearTokensData& data = chain.data();
  const std::vector<double> w = random.uniforms(chain.n_params(), -1.0, 1.0);
  const std::int64_t stride = chain.shape().stride, labels = chain.shape().labels;
  const auto cell = [&](std::int64_t row, std::int64_t l) { return static_cast<std::size_t>(row * stride + l); };
  casimir::ChainWorkspace own, other;
  chain.load_weights({w.data()}, own);
  plain.load_weights({w.data()}, other);
  for (std::int64_t a = 0; a < labels; ++a)
    for (std::int64_t b = 0; b < labels; ++b)
      check_close(own.to[cell(a, b)],
                  other.to[cell(a, b)] + (data.fixed_pairs ? data.fixed_pairs[a * labels + b] : 0.0), 1e-14);
  for (std::int64_t i = 0; i < chain.n_examples(); ++i) {
    const std::int64_t p = chain.length(i);
    own.u.resize(static_cast<std::size_t>(p * stride)), other.u.resize(own.u.size());
    chain.score_tokens(i, 0, p, {w.data()}, own.u.data());
    plain.score_tokens(i, 0, p, {w.data()}, other.u.data());
    for (std::int64_t t = 0; t < p; ++t)
      for (std::int64_t l = 0; l < labels; ++l)
        check_close(own.u[cell(t, l)], other.u[cell(t, l)] + data.fixed_nodes[(data.offsets[i] + t) * labels + l],
                    1e-14);
    check(chain.cost_of(i, chain.truth(i)) == 0.0);
    const double best = chain.best_path(p, own);
    check_close(best, chain.path_score(p, own.path.data(), own), 1e-13);
    const double cost = chain.path_score(p, own.path.data(), own) - plain.path_score(p, own.path.data(), other) -
                        (chain.path_score(p, chain.truth(i), own) - plain.path_score(p, chain.truth(i), other));
    const auto answer = answer_of(chain, i, {w.data()}, {}, nullptr);
    check_close(answer.cost, cost, 1e-12);
    check_close(chain.cost_of(i, own.path.data()), cost, 1e-12);
    check_close(answer.value, best - chain.path_score(p, chain.truth(i), own), 1e-12);
  }
}

/// Tokens scored one by one equal tokens scored together.
void check_single_tokens(const casimir::LinearChain& chain, Random& random) {
  const std::vector<double> w = random.uniforms(chain.n_params(), -1.0, 1.0);
  for (std::int64_t i = 0; i < chain.n_examples(); ++i) {
    const std::int64_t p = chain.length(i);
    std::vector<double> together(static_cast<std::size_t>(p * chain.shape().stride)), apart(together);
    chain.score_tokens(i, 0, p, {w.data()}, together.data());
    for (std::int64_t t = 0; t < p; ++t) chain.score_tokens(i, t, 1, {w.data()}, apart.data());
    check(together == apart);
  }
}

/// Scores of all tokens are those of each chain without the padding, on any number of threads.
void check_all_tokens(const casimir::LinearChain& chain, Random& random) {
  const std::vector<double> w = random.uniforms(chain.n_params(), -1.0, 1.0);
  const std::int64_t labels = chain.shape().labels, stride = chain.shape().stride;
  std::vector<double> all(static_cast<std::size_t>(chain.output_offset(chain.n_examples()) * labels)), threaded(all);
  chain.all_token_scores(w.data(), 1, all.data());
  chain.all_token_scores(w.data(), 3, threaded.data());
  check(all == threaded);
  for (std::int64_t i = 0; i < chain.n_examples(); ++i) {
    std::vector<double> own(static_cast<std::size_t>(chain.length(i) * stride));
    chain.score_tokens(i, 0, chain.length(i), {w.data()}, own.data());
    for (std::int64_t t = 0; t < chain.length(i); ++t)
      for (std::int64_t l = 0; l < labels; ++l)
        check(all[static_cast<std::size_t>((chain.output_offset(i) + t) * labels + l)] ==
              own[static_cast<std::size_t>(t * stride + l)]);
  }
}

/// The best outputs and log sums are those of the oracles of plain scores.
void check_topk(const casimir::LinearChain& chain, std::int64_t k, double mu, Random& random) {
  const std::vector<double> w = random.uniforms(chain.n_params(), -1.0, 1.0);
  const std::int64_t n = chain.n_examples(), labels = chain.shape().labels;
  std::vector<double> nodes(static_cast<std::size_t>(chain.output_offset(n) * labels)), edges;
  chain.all_token_scores(w.data(), 1, nodes.data());
  casimir::ChainWorkspace work;
  chain.load_weights({w.data()}, work);
  for (std::int64_t y = 0; y < labels; ++y)
    edges.insert(edges.end(), &work.to[0] + y * chain.shape().stride, &work.to[0] + y * chain.shape().stride + labels);
  const casimir::ChainBatch batch{nodes.data(), chain.data().offsets, n, edges.data(), true, static_cast<int>(labels)};
  std::vector<double> sums(static_cast<std::size_t>(n)), expected_sums(sums);
  const casimir::TopKBatch top = chain.topk(w.data(), k, mu, 2, sums.data());
  const casimir::TopKBatch expected = casimir::chain_topk(batch, k, std::numeric_limits<double>::infinity(), 1);
  casimir::chain_log_sum(batch, mu, 1, expected_sums.data());
  check(top.values == expected.values && top.counts == expected.counts && top.labels == expected.labels);
  check(chain.topk(w.data(), k, mu, 1, nullptr).values == top.values);
  for (std::size_t i = 0; i < sums.size(); ++i) check_close(sums[i], expected_sums[i], 1e-12);
}

/// Answers and gradients of chains that run in groups are those of chains one by one, for which marginals are kept.
/// Wide weights send some chains out of their group.
void check_groups(const casimir::LinearChain& chain, const Smoothing& smoothing, double width, Random& random) {
  const std::vector<double> w = random.uniforms(chain.n_params(), -width, width);
  const auto n = static_cast<std::size_t>(chain.n_examples());
  std::vector<casimir::Answer> together(n), alone(n);
  std::vector<double> gradient(w.size(), NAN), expected(w.size(), NAN);
  std::vector<double> marginals(static_cast<std::size_t>(chain.marginal_offset(chain.n_examples())));
  for (int pass = 0; pass < 2; ++pass)  // the second one finds the memory of the first
    casimir::full_pass(chain, w, smoothing, 2, together.data(), {}, gradient);
  casimir::full_pass(chain, w, smoothing, 1, alone.data(), marginals, expected);
  for (std::size_t i = 0; i < n; ++i) {
    check_close(together[i].value, alone[i].value, 1e-12 * (1.0 + width));
    check_close(together[i].upper, alone[i].upper, 1e-12 * (1.0 + width));
    check_close(together[i].cost, alone[i].cost, 1e-11);
    check(smoothing.kind != SmoothingKind::kHard || together[i].value == alone[i].value);
  }
  for (std::size_t j = 0; j < w.size(); ++j) check_close(gradient[j], expected[j], 1e-10);
}

}  // namespace

void test_linear_chain() {
  Random random(4);
  for (const int labels : {33, 40, 61, 128}) {
    const auto chains = random_chains(50, labels, labels == 40, labels == 128, random);
    for (const double width : {0.0, 1.0, 40.0, 400.0}) {
      check_groups(*chains->problem, {}, width, random);
      check_groups(*chains->problem, {SmoothingKind::kEntropy, 1, 0.8}, width, random);
    }
  }
  for (const int labels : {1, 2, 8, 9, 13, 33})
    for (const bool real_valued : {false, true}) {
      const auto chains = random_chains(8, labels, real_valued, labels % 2 == 0, random);
      casimir::LinearChain& problem = *chains->problem;
      check_adjoint(without_fixed(problem), random);
      check_fixed_scores(problem, random);
      check_single_tokens(problem, random);
      check_all_tokens(problem, random);
      check_topk(problem, 6, 0.8, random);
      check_topk(without_fixed(problem), 6, 0.8, random);
      check_scatter_ranges(problem, random);
      check_touched(problem, random);
      check_scales(problem, {SmoothingKind::kL2, 5, 0.8}, random);
      check_non_finite_weights(problem, random);
      for (const Smoothing& smoothing :
           {Smoothing{}, Smoothing{SmoothingKind::kL2, 5, 0.8}, Smoothing{SmoothingKind::kEntropy, 1, 0.8}}) {
        check_affine_weights(problem, smoothing, random);
        check_threads(problem, smoothing, random);
      }
      check_gradient(problem, {SmoothingKind::kEntropy, 1, 0.8}, random);
      check_gradient(problem, {SmoothingKind::kL2, 4096, 0.8}, random);
      check_bounds(problem, {SmoothingKind::kL2, 4096, 0.8}, 0.5, random);
      check_bounds(problem, {SmoothingKind::kL2, 3, 0.8}, 0.5, random);
      check_bounds(problem, {SmoothingKind::kEntropy, 1, 0.8}, 5.0 * std::log(labels), random);
    }
  const auto chains = random_chains(8, 3, false, true, random);
  const auto trees = random_trees(*chains, random);
  const auto view =
      casimir::TreeOrderView{trees->order.node.data(), trees->order.parent.data(), trees->order.subtree.data()};
  check_touched(*trees->problem, random);
  check_scales(*trees->problem, {SmoothingKind::kL2, 5, 0.8}, random);
  std::vector<std::uint32_t> cells(static_cast<std::size_t>(trees->problem->rows() * 3));
  for (std::uint32_t& cell : cells) cell = static_cast<std::uint32_t>(random.below(7));
  casimir::LinearTree shared(trees->problem->data(), view, {cells.data(), 7});
  check_equal(shared.n_params(), 7);
  check_equal(shared.rows(), 7);
  check_scatter_ranges(shared, random);
  check_touched(shared, random);
  check_non_finite_weights(shared, random);
  check_affine_weights(shared, {SmoothingKind::kL2, 5, 0.8}, random);
  check_threads(shared, {SmoothingKind::kL2, 5, 0.8}, random);
  check_gradient(shared, {SmoothingKind::kEntropy, 1, 0.8}, random);
  casimir::LinearTokensData data = chains->problem->data();
  data.y = nullptr;
  check_without_truth(casimir::LinearChain(data), random);
  check_without_truth(casimir::LinearTree(data, view), random);
  const std::vector<double> of_chains = truth_of(*chains->problem), of_trees = truth_of(*trees->problem);
  data.truth = of_chains.data();
  check_same_losses(*chains->problem, casimir::LinearChain(data), random);
  data.truth = of_trees.data();
  check_same_losses(*trees->problem, casimir::LinearTree(data, view), random);
}
