// Small random batches of chains, and all their outputs.
#pragma once

#include <functional>

#include "chain/chain_batch.hpp"
#include "testing.hpp"

namespace testing {

struct ChainInstance {
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
inline ChainInstance make_chains(int labels, std::int64_t p, bool shared, bool ties, Random& random) {
  ChainInstance chain{labels, shared, {0, p, p + 1, 2 * p + 1}, {}, {}};
  chain.nodes = random.uniforms((2 * p + 1) * labels, -2.0, 2.0);
  chain.edges = random.uniforms((shared ? 1 : 2 * (p - 1)) * labels * labels, -2.0, 2.0);
  if (ties) {
    for (double& value : chain.nodes) value = std::round(value);
    for (double& value : chain.edges) value = std::round(value);
  }
  return chain;
}

struct ChainOutput {
  double score;
  std::vector<std::int64_t> labels;
};

/// A share of the scores of nodes, and one of those of edges, is -inf.
inline void forbid(ChainInstance& chain, double share, double of_edges, Random& random) {
  for (double& value : chain.nodes)
    if (random.uniform(0.0, 1.0) < share) value = -INFINITY;
  for (double& value : chain.edges)
    if (random.uniform(0.0, 1.0) < of_edges) value = -INFINITY;
}

/// All allowed outputs of example i, best first, equal scores in lexicographic order.
inline std::vector<ChainOutput> all_outputs(const ChainInstance& chain, std::size_t i) {
  std::vector<ChainOutput> outputs;
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

}  // namespace testing
