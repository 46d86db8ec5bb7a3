// Oracles of graphs by junction trees against all outputs.
#include "fuzz/graph.hpp"
#include "fuzz/targets.hpp"
#include "junction/junction_batch.hpp"

namespace fuzz {

void junction(Bytes input) {
  const int labels = static_cast<int>(input.between(1, 4));
  const std::int64_t k = input.between(1, 40);
  const double mu = std::pow(10.0, static_cast<double>(input.between(-4, 3)));
  const Scores kind = input.kind_of_scores();
  const Graph graph = graph_of(input, labels < 3 ? 7 : 5, labels, kind);
  const Listing listing = graph.listing();

  const std::int64_t edge_offsets[] = {0, graph.edges()}, offsets[] = {0, graph.nodes};
  const casimir::JunctionGraphs graphs(graph.ends.data(), edge_offsets, 1, labels, 1e6);
  const casimir::JunctionBatch batch{graphs, graph.unary.data(), offsets, graph.pairwise.data(), edge_offsets};
  double value = 0.0;
  Labels found(static_cast<std::size_t>(graph.nodes));
  casimir::junction_max(batch, 1, &value, found.data());
  listing.check_output(0, value, found.data());
  const auto top = casimir::junction_topk(batch, k, std::numeric_limits<double>::infinity(), 1);
  listing.check_top(k, top.counts[0], top.values.data(), top.labels.data());
  std::vector<double> table(graph.unary.size()), pairs(graph.pairwise.size());
  casimir::junction_max_marginals(batch, 1, table.data());
  listing.check_max_marginals(table.data(), labels);
  casimir::junction_expect(batch, mu, 1, &value, table.data(), pairs.data());
  listing.check_expect(mu, value, table.data(), labels);
}

}  // namespace fuzz
