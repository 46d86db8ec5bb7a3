#include "cut/graph_cut.hpp"

#include <algorithm>
#include <cmath>

#include "base/parallel.hpp"
#include "cut/binary_kbest.hpp"

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

double BinaryGraph::magnitude() const {
  double total = 0.0;
  for (std::int32_t v = 0; v < n_nodes_; ++v) total += std::max(std::abs(unary_[2 * v]), std::abs(unary_[2 * v + 1]));
  for (std::int64_t e = 0; e < n_edges_; ++e) {
    const double* s = pair_ + 4 * e;
    total += std::max({std::abs(s[0]), std::abs(s[1]), std::abs(s[2]), std::abs(s[3])});
  }
  return total;
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
    std::vector<double> loss;
    for (std::int64_t i = begin; i < end; ++i) {
      graph.load(batch, i);
      graph.best(y);
      const double top = graph.score(y);
      loss.resize(y.size());
      graph.losses(loss.data());
      double* table = out + 2 * batch.offsets[i];
      for (std::size_t v = 0; v < y.size(); ++v) {
        const auto j = static_cast<std::size_t>(y[v]);
        table[2 * v + j] = top;
        table[2 * v + 1 - j] = top - loss[v];
      }
    }
  });
}

TopKBatch graph_cut_topk(const GraphBatch& batch, std::int64_t k, double mu, int threads) {
  return joined_chunks<TopKBatch>(batch.size, threads, [&](std::int64_t begin, std::int64_t end, TopKBatch& out) {
    BinaryGraph graph;
    BinaryKBest kbest;
    for (std::int64_t i = begin; i < end; ++i) {
      graph.load(batch, i);
      kbest.run(graph, k, mu);
      out.counts.push_back(static_cast<std::int64_t>(kbest.values().size()));
      out.values.insert(out.values.end(), kbest.values().begin(), kbest.values().end());
      for (const auto& y : kbest.outputs()) out.labels.insert(out.labels.end(), y.begin(), y.end());
    }
  });
}

}  // namespace casimir
