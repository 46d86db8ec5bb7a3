#include "casimir/graph_cut.hpp"

#include <algorithm>

#include "casimir/parallel.hpp"

namespace casimir {

void BinaryGraph::load(const GraphBatch& batch, std::int64_t i) {
  n_nodes_ = static_cast<std::int32_t>(batch.offsets[i + 1] - batch.offsets[i]);
  unary_ = batch.nodes + 2 * batch.offsets[i];
  const std::int64_t first = batch.edge_offsets[i];
  n_edges_ = batch.edges ? static_cast<std::int32_t>(batch.edge_offsets[i + 1] - first) : 0;
  pair_ = batch.edges ? batch.edges + 4 * first : nullptr;
  ends_ = batch.ends + 2 * first;

  gain_.resize(static_cast<std::size_t>(n_nodes_));
  capacity_.resize(2 * static_cast<std::size_t>(n_edges_));
  for (std::int32_t v = 0; v < n_nodes_; ++v) gain_[static_cast<std::size_t>(v)] = unary_[2 * v + 1] - unary_[2 * v];
  for (std::int64_t e = 0; e < n_edges_; ++e) {
    const double *s = pair_ + 4 * e, s00 = s[0], s01 = s[1], s10 = s[2], s11 = s[3];
    gain_[static_cast<std::size_t>(ends_[2 * e])] += 0.5 * ((s10 - s00) + (s11 - s01));
    gain_[static_cast<std::size_t>(ends_[2 * e + 1])] += 0.5 * ((s01 - s00) + (s11 - s10));
    // Below zero only by rounding: the caller has refused anything else.
    const double gap = std::max(0.0, 0.5 * ((s00 - s01) + (s11 - s10)));
    capacity_[static_cast<std::size_t>(2 * e)] = capacity_[static_cast<std::size_t>(2 * e + 1)] = gap;
  }
  flow_.load(n_nodes_, gain_.data(), n_edges_, ends_, capacity_.data());
  flow_.solve();
}

double BinaryGraph::score(const Labels& y) const {
  double nodes = 0.0, edges = 0.0;
  for (std::int32_t v = 0; v < n_nodes_; ++v) nodes += unary_[2 * v + y[static_cast<std::size_t>(v)]];
  for (std::int64_t e = 0; e < n_edges_; ++e)
    edges +=
        pair_[4 * e + 2 * y[static_cast<std::size_t>(ends_[2 * e])] + y[static_cast<std::size_t>(ends_[2 * e + 1])]];
  return nodes + edges;
}

void BinaryGraph::best(Labels& y) const {
  y.resize(static_cast<std::size_t>(n_nodes_));
  for (std::int32_t v = 0; v < n_nodes_; ++v) y[static_cast<std::size_t>(v)] = flow_.on_source_side(v);
}

double BinaryGraph::force(std::int32_t v, int j, double limit) {
  const double direct = flow_.force(v, j == 1 ? MaxFlow::Side::source : MaxFlow::Side::sink);
  return direct > limit ? direct : direct + flow_.solve(limit - direct);
}

void graph_cut_max(const GraphBatch& batch, int threads, double* values, std::int64_t* labels) {
  parallel_chunks(batch.size, threads, [&](std::int64_t begin, std::int64_t end, int) {
    BinaryGraph graph;
    BinaryGraph::Labels y;
    for (std::int64_t i = begin; i < end; ++i) {
      graph.load(batch, i);
      graph.best(y);
      values[i] = graph.score(y);
      std::copy(y.begin(), y.end(), labels + batch.offsets[i]);
    }
  });
}

void graph_cut_max_marginals(const GraphBatch& batch, int threads, double* out) {
  parallel_chunks(batch.size, threads, [&](std::int64_t begin, std::int64_t end, int) {
    BinaryGraph graph;
    BinaryGraph::Labels y;
    for (std::int64_t i = begin; i < end; ++i) {
      graph.load(batch, i);
      graph.best(y);
      const double top = graph.score(y);
      double* table = out + 2 * batch.offsets[i];
      for (std::int32_t v = 0; v < graph.size(); ++v) {
        const int j = y[static_cast<std::size_t>(v)];
        graph.mark();
        table[2 * v + j] = top;
        table[2 * v + 1 - j] = top - graph.force(v, 1 - j);
        graph.rollback();
      }
    }
  });
}

}  // namespace casimir
