// A small labelled graph out of bytes, and all its outputs.
#pragma once

#include "fuzz/bytes.hpp"
#include "fuzz/listing.hpp"

namespace fuzz {

struct Graph {
  std::int64_t nodes;
  int labels;
  bool whole;
  std::vector<std::int64_t> ends;       // [edges][2]
  std::vector<double> unary, pairwise;  // [nodes][labels], [edges][labels][labels]

  std::int64_t edges() const { return static_cast<std::int64_t>(ends.size()) / 2; }

  double score(const Labels& y) const {
    double total = 0.0;
    for (std::size_t v = 0; v < y.size(); ++v)
      total += unary[v * static_cast<std::size_t>(labels) + static_cast<std::size_t>(y[v])];
    for (std::size_t e = 0; e < ends.size() / 2; ++e) {
      const auto u = y[static_cast<std::size_t>(ends[2 * e])], v = y[static_cast<std::size_t>(ends[2 * e + 1])];
      total += pairwise[static_cast<std::size_t>((static_cast<std::int64_t>(e) * labels + u) * labels + v)];
    }
    return total;
  }

  Listing listing() const {
    return listing_of(nodes, labels, unit_of(whole, unary, pairwise), [&](const Labels& y) { return score(y); });
  }
};

/// Any graph of so many nodes without loops; no two edges join the same nodes.
inline Graph graph_of(Bytes& input, std::int64_t most_nodes, int labels, Scores kind) {
  Graph graph{input.between(1, most_nodes), labels, kind == Scores::whole, {}, {}, {}};
  for (std::int64_t u = 0; u < graph.nodes; ++u)
    for (std::int64_t v = 0; v < u; ++v)
      if (const auto how = input.between(0, 3); how > 1)
        graph.ends.insert(graph.ends.end(), {how == 2 ? u : v, how == 2 ? v : u});
  graph.unary = input.scores(graph.nodes * labels, kind);
  graph.pairwise = input.scores(graph.edges() * labels * labels, kind);
  return graph;
}

}  // namespace fuzz
