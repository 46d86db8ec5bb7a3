// Oracles of chains against the enumeration of all outputs.
#include <functional>
#include <limits>

#include "chain/chain_batch.hpp"
#include "chain/shared_pairs.hpp"
#include "testing.hpp"

using namespace testing;

namespace {

struct Instance {
  int labels;
  bool shared;
  std::vector<std::int64_t> offsets;
  std::vector<double> nodes, edges;

  casimir::ChainBatch batch() const {
    return {nodes.data(), offsets.data(), static_cast<std::int64_t>(offsets.size()) - 1, edges.data(), shared, labels};
  }
  std::int64_t length(std::size_t i) const { return offsets[i + 1] - offsets[i]; }
  std::size_t node(std::size_t i, std::int64_t t, std::int64_t y) const {
    return static_cast<std::size_t>((offsets[i] + t) * labels + y);
  }
  std::size_t edge(std::size_t i, std::int64_t t, std::int64_t y, std::int64_t z) const {
    const std::int64_t first = shared ? 0 : offsets[i] - static_cast<std::int64_t>(i) + t;
    return static_cast<std::size_t>((first * labels + y) * labels + z);
  }
};

/// Two chains of length p and one of length 1. With ties, the scores are small integers and all sums are exact.
Instance make_instance(int labels, std::int64_t p, bool shared, bool ties, Random& random) {
  Instance chain{labels, shared, {0, p, p + 1, 2 * p + 1}, {}, {}};
  chain.nodes = random.uniforms((2 * p + 1) * labels, -2.0, 2.0);
  chain.edges = random.uniforms((shared ? 1 : 2 * (p - 1)) * labels * labels, -2.0, 2.0);
  if (ties) {
    for (double& value : chain.nodes) value = std::round(value);
    for (double& value : chain.edges) value = std::round(value);
  }
  return chain;
}

struct Output {
  double score;
  std::vector<std::int64_t> labels;
};

/// A share of the scores of nodes, and one of those of edges, is -inf.
void forbid(Instance& chain, double share, double of_edges, Random& random) {
  for (double& value : chain.nodes)
    if (random.uniform(0.0, 1.0) < share) value = -INFINITY;
  for (double& value : chain.edges)
    if (random.uniform(0.0, 1.0) < of_edges) value = -INFINITY;
}

/// All allowed outputs of example i, best first, equal scores in lexicographic order.
std::vector<Output> enumerate(const Instance& chain, std::size_t i) {
  std::vector<Output> outputs;
  std::vector<std::int64_t> y(static_cast<std::size_t>(chain.length(i)));
  const std::function<void(std::size_t, double)> extend = [&](std::size_t t, double score) {
    if (t == y.size()) {
      if (score > -INFINITY) outputs.push_back({score, y});
      return;
    }
    for (std::int64_t l = 0; l < chain.labels; ++l) {
      y[t] = l;
      const auto position = static_cast<std::int64_t>(t);
      const double step = t ? chain.edges[chain.edge(i, position - 1, y[t - 1], l)] : 0.0;
      extend(t + 1, score + chain.nodes[chain.node(i, position, l)] + step);
    }
  };
  extend(0, 0.0);
  std::stable_sort(outputs.begin(), outputs.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  return outputs;
}

void check_labels(const std::int64_t* actual, const std::vector<std::int64_t>& expected) {
  for (std::size_t t = 0; t < expected.size(); ++t) check_equal(actual[t], expected[t]);
}

void check_max_and_topk(const Instance& chain, const std::vector<std::vector<Output>>& all) {
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

void check_max_marginals(const Instance& chain, const std::vector<std::vector<Output>>& all) {
  std::vector<double> expected(chain.nodes.size(), -INFINITY), actual(chain.nodes.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Output& output : all[i])
      for (std::int64_t t = 0; t < chain.length(i); ++t) {
        double& best = expected[chain.node(i, t, output.labels[static_cast<std::size_t>(t)])];
        best = std::max(best, output.score);
      }
  casimir::chain_max_marginals(chain.batch(), 2, actual.data());
  for (std::size_t j = 0; j < expected.size(); ++j)
    expected[j] > -INFINITY ? check_close(actual[j], expected[j], 1e-12) : check(actual[j] == -INFINITY);
}

void check_expect(const Instance& chain, const std::vector<std::vector<Output>>& all, double mu) {
  const auto labels = static_cast<std::size_t>(chain.labels);
  const std::size_t n_edges = static_cast<std::size_t>(chain.offsets.back()) - all.size();
  std::vector<double> nodes(chain.nodes.size()), edges(n_edges * labels * labels, 0.0), values(all.size());
  casimir::chain_expect(chain.batch(), mu, 2, values.data(), nodes.data(), edges.data());
  std::vector<double> expected_nodes(nodes.size(), 0.0), expected_edges(edges.size(), 0.0);
  Instance separate = chain;  // marginals of edges are never shared
  separate.shared = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    double sum = 0.0;
    for (const Output& output : all[i]) sum += std::exp((output.score - all[i][0].score) / mu);
    check_close(values[i], all[i][0].score + mu * std::log(sum), 1e-12);
    for (const Output& output : all[i]) {
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
void check_soft_loss(const Instance& chain, const std::vector<std::vector<Output>>& all, double mu) {
  const auto block = static_cast<std::size_t>(chain.labels * chain.labels);
  const std::size_t n = all.size(), n_edges = static_cast<std::size_t>(chain.offsets.back()) - n;
  std::vector<double> nodes(chain.nodes.size()), edges(n_edges * block), values(n);
  casimir::chain_expect(chain.batch(), mu, 2, values.data(), nodes.data(), edges.data());
  Instance separate = chain;
  separate.shared = false;
  std::vector<std::int64_t> y;
  for (std::size_t i = 0; i < n; ++i) {
    const Output& output = all[i][all[i].size() / 2];
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

void check_all(const Instance& chain) {
  std::vector<std::vector<Output>> all;
  for (std::size_t i = 0; i + 1 < chain.offsets.size(); ++i) {
    all.push_back(enumerate(chain, i));
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
  Instance chain{labels, true, {0, p}, std::vector<double>(static_cast<std::size_t>(p * labels), 0.0), {}};
  chain.edges.assign(static_cast<std::size_t>(labels * labels), 0.0);
  for (std::int64_t y = 0; y < labels; ++y) {
    for (std::int64_t z = 0; z < labels; ++z)
      if (y % 2 != z % 2) chain.edges[chain.edge(0, 0, y, z)] = -INFINITY;
    for (std::int64_t t = 0; t < p; ++t) chain.nodes[chain.node(0, t, y)] = (t < p / 2) == (y % 2 == 0) ? slope : 0.0;
  }
  std::vector<double> nodes(chain.nodes.size()), edges(static_cast<std::size_t>((p - 1) * labels * labels));
  double value = 0.0;
  casimir::chain_expect(chain.batch(), 1.0, 1, &value, nodes.data(), edges.data());
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

}  // namespace

void test_chain() {
  Random random(3);
  const struct {
    int labels;
    std::int64_t length;
  } sizes[] = {{1, 5}, {2, 6}, {5, 4}, {8, 4}, {9, 4}, {13, 3}, {16, 3}, {33, 3}, {70, 2}};
  for (const auto& size : sizes)
    for (const bool shared : {true, false})
      for (const bool ties : {false, true})
        for (const double share : {0.0, 0.1, 0.6, 0.93}) {
          Instance chain = make_instance(size.labels, size.length, shared, ties, random);
          forbid(chain, std::min(share, 0.6), share, random);
          check_all(chain);
        }
  for (const int labels : {2, 4, 10, 34})
    for (const double slope : {0.0, 1.0, 40.0}) check_groups(labels, 200, slope);
}
