// Oracles of chains against the enumeration of all outputs.
#include <limits>

#include "chain/shared_pairs.hpp"
#include "chains.hpp"

using namespace testing;

namespace {

void check_labels(const std::int64_t* actual, const std::vector<std::int64_t>& expected) {
  for (std::size_t t = 0; t < expected.size(); ++t) check_equal(actual[t], expected[t]);
}

void check_max_and_topk(const ChainInstance& chain, const std::vector<std::vector<ChainOutput>>& all) {
  std::vector<double> values(all.size());
  std::vector<std::int64_t> labels(static_cast<std::size_t>(chain.offsets.back()));
  casimir::chain_max(chain.batch(), 2, values.data(), labels.data());
  for (std::size_t i = 0; i < all.size(); ++i) {
    check_close(values[i], all[i][0].score, 1e-13);
    check_labels(labels.data() + chain.offsets[i], all[i][0].labels);
  }
  for (const std::int64_t k : {1, 2, 7, 40, 900}) {
    const auto top = casimir::chain_topk(chain.batch(), k, std::numeric_limits<double>::infinity(), 2);
    std::size_t value = 0, label = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      check_equal(top.counts[i], std::min<std::int64_t>(k, static_cast<std::int64_t>(all[i].size())));
      for (std::int64_t j = 0; j < top.counts[i]; ++j, ++value, label += all[i][0].labels.size()) {
        check_close(top.values[value], all[i][static_cast<std::size_t>(j)].score, 1e-13);
        check_labels(top.labels.data() + label, all[i][static_cast<std::size_t>(j)].labels);
      }
    }
  }
}

void check_max_marginals(const ChainInstance& chain, const std::vector<std::vector<ChainOutput>>& all) {
  std::vector<double> expected(chain.nodes.size(), -INFINITY), actual(chain.nodes.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const ChainOutput& output : all[i])
      for (std::int64_t t = 0; t < chain.length(i); ++t) {
        double& best = expected[chain.node(i, t, output.labels[static_cast<std::size_t>(t)])];
        best = std::max(best, output.score);
      }
  casimir::chain_max_marginals(chain.batch(), 2, actual.data());
  for (std::size_t j = 0; j < expected.size(); ++j)
    expected[j] > -INFINITY ? check_close(actual[j], expected[j], 1e-12) : check(actual[j] == -INFINITY);
}

void check_expect(const ChainInstance& chain, const std::vector<std::vector<ChainOutput>>& all, double mu) {
  const auto labels = static_cast<std::size_t>(chain.labels);
  const std::size_t n_edges = static_cast<std::size_t>(chain.offsets.back()) - all.size();
  std::vector<double> nodes(chain.nodes.size()), edges(n_edges * labels * labels, 0.0), values(all.size());
  casimir::chain_expect(chain.batch(), mu, 2, values.data(), nodes.data(), edges.data());
  std::vector<double> sums(all.size());
  casimir::chain_log_sum(chain.batch(), mu, 2, sums.data());
  std::vector<double> expected_nodes(nodes.size(), 0.0), expected_edges(edges.size(), 0.0);
  ChainInstance separate = chain;  // marginals of edges are never shared
  separate.shared = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    double sum = 0.0;
    for (const ChainOutput& output : all[i]) sum += std::exp((output.score - all[i][0].score) / mu);
    check_close(values[i], all[i][0].score + mu * std::log(sum), 1e-12);
    check_close(sums[i], all[i][0].score + mu * std::log(sum), 1e-12);
    for (const ChainOutput& output : all[i]) {
      const double weight = std::exp((output.score - all[i][0].score) / mu) / sum;
      for (std::int64_t t = 0; t < chain.length(i); ++t) {
        const std::int64_t y = output.labels[static_cast<std::size_t>(t)];
        expected_nodes[chain.node(i, t, y)] += weight;
        if (t > 0) expected_edges[separate.edge(i, t - 1, output.labels[static_cast<std::size_t>(t - 1)], y)] += weight;
      }
    }
  }
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    check_close(nodes[j], expected_nodes[j], 1e-12);
    check(expected_nodes[j] > 0.0 || nodes[j] == 0.0);
  }
  for (std::size_t j = 0; j < edges.size(); ++j) {
    check_close(edges[j], expected_edges[j], 1e-12);
    check(expected_edges[j] > 0.0 || edges[j] == 0.0);
  }
}

/// The loss of some output and its gradient, from the oracle that gives both parts.
void check_soft_loss(const ChainInstance& chain, const std::vector<std::vector<ChainOutput>>& all, double mu) {
  const auto block = static_cast<std::size_t>(chain.labels * chain.labels);
  const std::size_t n = all.size(), n_edges = static_cast<std::size_t>(chain.offsets.back()) - n;
  std::vector<double> nodes(chain.nodes.size()), edges(n_edges * block), values(n);
  casimir::chain_expect(chain.batch(), mu, 2, values.data(), nodes.data(), edges.data());
  ChainInstance separate = chain;
  separate.shared = false;
  std::vector<std::int64_t> y;
  for (std::size_t i = 0; i < n; ++i) {
    const ChainOutput& output = all[i][all[i].size() / 2];
    values[i] -= output.score;
    for (std::int64_t t = 0; t < chain.length(i); ++t) {
      y.push_back(output.labels[static_cast<std::size_t>(t)]);
      nodes[chain.node(i, t, y.back())] -= 1.0;
      if (t > 0) edges[separate.edge(i, t - 1, y[y.size() - 2], y.back())] -= 1.0;
    }
  }
  std::vector<double> losses(n), node_out(nodes.size()), edge_out(edges.size());
  const auto check_others = [&] {
    for (std::size_t i = 0; i < n; ++i) check_close(losses[i], values[i], 1e-12);
    for (std::size_t j = 0; j < nodes.size(); ++j) check_close(node_out[j], nodes[j], 1e-12);
  };
  if (!chain.shared) {
    casimir::chain_soft_loss(chain.batch(), y.data(), mu, 2, losses.data(), node_out.data(), edge_out.data());
    check_others();
    for (std::size_t j = 0; j < edges.size(); ++j) check_close(edge_out[j], edges[j], 1e-12);
    return;
  }
  const casimir::SharedPairs pairs(chain.batch(), y.data(), mu, 2, losses.data(), node_out.data());
  check_others();
  for (const auto& weights : {std::vector<double>(n, -0.7), std::vector<double>{0.5, 3.0, -2.0}}) {
    std::vector<double> sums(block), expected(block, 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::int64_t t = 0; t + 1 < chain.length(i); ++t)
        for (std::size_t cell = 0; cell < block; ++cell)
          expected[cell] += weights[i] * edges[separate.edge(i, t, 0, 0) + cell];
    pairs.weighted(weights.data(), 2, sums.data());
    for (std::size_t cell = 0; cell < block; ++cell) check_close(sums[cell], expected[cell], 1e-11);
  }
}

void check_all(const ChainInstance& chain) {
  std::vector<std::vector<ChainOutput>> all;
  for (std::size_t i = 0; i + 1 < chain.offsets.size(); ++i) {
    all.push_back(all_outputs(chain, i));
    if (all.back().empty()) return;  // nothing is allowed: not for the core to judge
  }
  check_max_and_topk(chain, all);
  check_max_marginals(chain, all);
  check_expect(chain, all, 1.0);
  check_expect(chain, all, 0.05);
  check_soft_loss(chain, all, 1.0);
  check_soft_loss(chain, all, 0.005);
}

/// Two groups of labels that no pair joins: the left half of the tokens prefers one, the right half the other, so that
/// messages from the two sides agree less and less. With a slope of 0 all outputs are equally likely.
void check_groups(int labels, std::int64_t p, double slope) {
  ChainInstance chain{labels, true, {0, p}, std::vector<double>(static_cast<std::size_t>(p * labels), 0.0), {}};
  chain.edges.assign(static_cast<std::size_t>(labels * labels), 0.0);
  for (std::int64_t y = 0; y < labels; ++y) {
    for (std::int64_t z = 0; z < labels; ++z)
      if (y % 2 != z % 2) chain.edges[chain.edge(0, 0, y, z)] = -INFINITY;
    for (std::int64_t t = 0; t < p; ++t) chain.nodes[chain.node(0, t, y)] = (t < p / 2) == (y % 2 == 0) ? slope : 0.0;
  }
  std::vector<double> nodes(chain.nodes.size()), edges(static_cast<std::size_t>((p - 1) * labels * labels));
  double value = 0.0;
  casimir::chain_expect(chain.batch(), 1.0, 1, &value, nodes.data(), edges.data());
  double sum = 0.0;
  casimir::chain_log_sum(chain.batch(), 1.0, 1, &sum);
  check_close(sum, value, 1e-12);
  const double each = std::log(labels / 2), half = slope * static_cast<double>(p / 2);  // p and labels are even
  check_close(value, half + static_cast<double>(p) * each + std::log(2.0), 1e-12);
  for (const double node : nodes) check_close(node, 1.0 / labels, 1e-9);
  for (std::int64_t t = 0; t + 1 < p; ++t)
    for (std::int64_t cell = 0; cell < labels * labels; ++cell) {
      const double pair = edges[static_cast<std::size_t>(t * labels * labels + cell)];
      const bool joined = (cell / labels) % 2 == (cell % labels) % 2;
      joined ? check_close(pair, 2.0 / (labels * labels), 1e-9) : check(pair == 0.0);
    }
}

struct Marginals {
  std::vector<double> values, nodes, edges;

  Marginals(const casimir::ChainBatch& batch, double mu, int threads)
      : values(static_cast<std::size_t>(batch.size)),
        nodes(static_cast<std::size_t>(batch.offsets[batch.size] * batch.labels)),
        edges(static_cast<std::size_t>((batch.offsets[batch.size] - batch.size) * batch.labels * batch.labels)) {
    casimir::chain_expect(batch, mu, threads, values.data(), nodes.data(), edges.data());
  }
};

/// Chains that share lanes: each gets what it gets alone, to the last bit, and what it gets with a matrix for every
/// edge, where chains run one by one. Some are lost to messages in doubles.
void check_lanes(int labels, double share, Random& random) {
  ChainInstance chain{labels, true, {0}, {}, {}};
  for (const std::int64_t length : {3, 1, 12, 7, 7, 2, 30, 5, 1, 9, 8, 4, 12, 3, 6, 6, 11, 2, 5})
    chain.offsets.push_back(chain.offsets.back() + length);
  chain.nodes = random.uniforms(chain.offsets.back() * labels, -3.0, 3.0);
  chain.edges = random.uniforms(labels * labels, -3.0, 3.0);
  forbid(chain, share, share, random);
  for (int y = 0; y < labels; ++y) {  // one output is always allowed
    chain.edges[chain.edge(0, 0, y, y)] = 0.5;
    for (std::int64_t t = 0; y == 0 && t < chain.offsets.back(); ++t) chain.nodes[chain.node(0, t, y)] = 0.25;
  }
  chain.nodes[chain.node(2, 1, labels - 1)] = 900.0;
  chain.nodes[chain.node(6, 20, 0)] = -900.0;
  const Marginals all(chain.batch(), 0.5, 1), threads(chain.batch(), 0.5, 3);
  check(all.values == threads.values && all.nodes == threads.nodes && all.edges == threads.edges);

  ChainInstance apart = chain;
  apart.shared = false;
  apart.edges.clear();
  const std::size_t n = all.values.size();
  for (std::int64_t edge = 0; edge < chain.offsets.back() - static_cast<std::int64_t>(n); ++edge)
    apart.edges.insert(apart.edges.end(), chain.edges.begin(), chain.edges.end());
  const Marginals expected(apart.batch(), 0.5, 1);
  for (std::size_t i = 0; i < n; ++i) check_close(all.values[i], expected.values[i], 1e-11);
  for (std::size_t j = 0; j < all.nodes.size(); ++j) check_close(all.nodes[j], expected.nodes[j], 1e-11);
  for (std::size_t j = 0; j < all.edges.size(); ++j) {
    check_close(all.edges[j], expected.edges[j], 1e-11);
    check((all.edges[j] == 0.0) == (expected.edges[j] == 0.0));
  }

  for (std::size_t i = 0; i < n; ++i) {
    const auto first = chain.nodes.begin() + chain.offsets[i] * labels;
    const ChainInstance one{labels, true, {0, chain.length(i)}, {first, first + chain.length(i) * labels}, chain.edges};
    const Marginals alone(one.batch(), 0.5, 1);
    check(alone.values[0] == all.values[i]);
    check(std::equal(alone.nodes.begin(), alone.nodes.end(), all.nodes.begin() + chain.offsets[i] * labels));
    const std::int64_t edge = chain.offsets[i] - static_cast<std::int64_t>(i);
    check(std::equal(alone.edges.begin(), alone.edges.end(), all.edges.begin() + edge * labels * labels));
  }
}

/// Chains of which label 1 everywhere is the only allowed output: label 0, which leads by far, is forbidden at some
/// tokens, and no other pairs it with 1. With `are_many`, too many pairs are allowed for lists of them.
void check_only_output(int labels, const std::vector<double>& lags, double stay, bool are_many) {
  const auto p = static_cast<std::int64_t>(lags.size());
  ChainInstance chain{labels, true, {0, p, 2 * p}, std::vector<double>(static_cast<std::size_t>(2 * p * labels)), {}};
  chain.edges.assign(static_cast<std::size_t>(labels * labels), -INFINITY);
  for (int y = 0; y < labels; ++y)
    for (int z = 0; z < labels; ++z)
      if (y == z || (are_many && y > 1 && z > 1)) chain.edges[chain.edge(0, 0, y, z)] = y > 1 ? 0.0 : stay;
  double expected = stay * static_cast<double>(p - 1);
  for (std::int64_t t = 0; t < p; ++t) {
    const double lag = lags[static_cast<std::size_t>(t)], score = std::isinf(lag) ? 0.0 : lag;
    expected += score;
    for (const std::size_t i : {0, 1})
      for (int y = 0; y < labels; ++y)
        chain.nodes[chain.node(i, t, y)] = y == 1 ? score : y == 0 && !std::isinf(lag) ? 0.0 : -INFINITY;
  }
  const Marginals found(chain.batch(), 1.0, 1);
  for (const double value : found.values) check_close(value, expected, 1e-12);
  for (std::size_t j = 0; j < found.nodes.size(); ++j)
    check_close(found.nodes[j], j % static_cast<std::size_t>(labels) == 1 ? 1.0 : 0.0, 1e-12);
  const auto block = static_cast<std::size_t>(labels * labels), of_output = static_cast<std::size_t>(labels + 1);
  for (std::size_t j = 0; j < found.edges.size(); ++j)
    check_close(found.edges[j], j % block == of_output ? 1.0 : 0.0, 1e-12);

  const std::vector<std::int64_t> y(static_cast<std::size_t>(2 * p), 1);
  std::vector<double> losses(2), nodes(chain.nodes.size()), sums(block);
  const casimir::SharedPairs pairs(chain.batch(), y.data(), 1.0, 1, losses.data(), nodes.data());
  for (const double loss : losses) check_close(loss, 0.0, 1e-12 * std::abs(expected));
  for (const double node : nodes) check_close(node, 0.0, 1e-12);
  pairs.weighted(std::vector<double>{1.0, 2.0}.data(), 1, sums.data());
  for (const double sum : sums) check_close(sum, 0.0, 1e-9);
}

/// Sums of messages that fall from 1 to hardly more than kLeastOverlap at one token.
void check_late_ends(int labels, bool are_many) {
  check_only_output(labels, {-248.0, -248.0, -INFINITY, -269.0, -INFINITY}, 0.0, are_many);  // twice in a row
  for (const std::size_t length : {100, 120, 140, 150}) {                                    // after many sums below 1
    std::vector<double> lags(length, 0.0);
    lags.insert(lags.end(), {-287.0, -250.0, -INFINITY});
    check_only_output(labels, lags, -1.5, are_many);
  }
}

/// Where all outputs are forbidden, the best k are one.
void check_nothing_allowed(int labels) {
  ChainInstance chain{labels, true, {0, 3}, std::vector<double>(static_cast<std::size_t>(3 * labels), 0.0), {}};
  chain.edges.assign(static_cast<std::size_t>(labels * labels), 0.0);
  std::fill_n(chain.nodes.begin(), labels, -INFINITY);
  for (const double mu : {2.0, std::numeric_limits<double>::infinity()}) {
    const auto top = casimir::chain_topk(chain.batch(), 5, mu, 1);
    check_equal(top.counts[0], 1);
    check(top.values[0] == -INFINITY);
  }
}

}  // namespace

void test_chain() {
  Random random(3);
  for (const int labels : {1, 2, 3, 4, 7, 8, 9, 12, 15, 16, 31, 32, 33})
    for (const double share : {0.0, 0.3}) check_lanes(labels, share, random);
  const struct {
    int labels;
    std::int64_t length;
  } sizes[] = {{1, 5}, {2, 6}, {5, 4}, {8, 4}, {9, 4}, {13, 3}, {16, 3}, {33, 3}, {70, 2}};
  for (const auto& size : sizes)
    for (const bool shared : {true, false})
      for (const bool ties : {false, true})
        for (const double share : {0.0, 0.1, 0.6, 0.93}) {
          ChainInstance chain = make_chains(size.labels, size.length, shared, ties, random);
          forbid(chain, std::min(share, 0.6), share, random);
          check_all(chain);
        }
  for (const int labels : {2, 4, 10, 34})
    for (const double slope : {0.0, 1.0, 40.0}) check_groups(labels, 200, slope);
  for (const int labels : {3, 12, 33, 40})
    for (const bool are_many : {false, true}) check_late_ends(labels, are_many);
  for (const int labels : {2, 5, 40}) check_nothing_allowed(labels);
}
