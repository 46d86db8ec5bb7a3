// Oracles of graphs by minimum cuts against all outputs.
#include "cut/graph_cut.hpp"
#include "fuzz/graph.hpp"
#include "fuzz/targets.hpp"

namespace fuzz {

void cut(Bytes input) {
  const std::int64_t k = input.between(1, 70);
  const Scores kind = input.kind_of_scores();
  Graph graph = graph_of(input, 7, 2, kind);
  for (std::size_t e = 0; e < graph.ends.size() / 2; ++e) {
    double* pair = graph.pairwise.data() + 4 * e;
    const double lacks = pair[1] + pair[2] - pair[0] - pair[3];
    if (lacks > 0.0) pair[input.flag() ? 3 : 0] += 2.0 * lacks;  // so that the pair attracts, beyond rounding
    if (pair[0] + pair[3] < pair[1] + pair[2]) return;
    if (graph.whole && std::fmod(pair[0] + pair[1] + pair[2] + pair[3], 2.0) != 0.0) pair[0] += 1.0;  // exact halves
  }
  const Listing listing = graph.listing();

  const std::int64_t edge_offsets[] = {0, graph.edges()}, offsets[] = {0, graph.nodes};
  const casimir::GraphBatch batch{graph.unary.data(),    offsets,           1,
                                  graph.pairwise.data(), graph.ends.data(), edge_offsets};
  double value = 0.0;
  Labels found(static_cast<std::size_t>(graph.nodes));
  casimir::graph_cut_max(batch, 1, &value, found.data());
  listing.check_output(0, value, found.data());
  const auto top = casimir::graph_cut_topk(batch, k, std::numeric_limits<double>::infinity(), 1);
  listing.check_top(k, top.counts[0], top.values.data(), top.labels.data());
  std::vector<double> table(graph.unary.size());
  casimir::graph_cut_max_marginals(batch, 1, table.data());
  listing.check_max_marginals(table.data(), 2);
}

}  // namespace fuzz
