// Oracles of binary labellings whose pairs of nodes prefer equal labels, by minimum cuts (structures/graph_cut.py).
//
//     score(y) = sum_v unary[v][y_v] + sum_(u,v) pair[y_u][y_v],    pair[0][0] + pair[1][1] >= pair[0][1] + pair[1][0]
//
// With gap = (pair[0][0] + pair[1][1] - pair[0][1] - pair[1][0]) / 2 >= 0 a pair is
//     pair[y_u][y_v] = pair[0][0] + gain_u y_u + gain_v y_v - gap [y_u != y_v],
//     gain_u = (pair[1][0] - pair[0][0] + pair[1][1] - pair[0][1]) / 2, and gain_v the same with u and v exchanged:
// the normal form of Kolmogorov & Zabih (2004), its one arc split into two halves so that pairs that only ask for equal
// labels leave the unary scores alone. The source is label 1, and the sink is label 0.
#pragma once

#include <cstdint>
#include <vector>

#include "base/topk_batch.hpp"
#include "cut/maxflow.hpp"

namespace casimir {

/// nodes: [N][2]; example i owns rows offsets[i]:offsets[i + 1], and rows edge_offsets[i]:edge_offsets[i + 1] of
/// ends [M][2] (nodes counted within the example) and edges [M][2][2]. edges may be null: no pair scores.
struct GraphBatch {
  const double* nodes;
  const std::int64_t* offsets;
  std::int64_t size;
  const double* edges;
  const std::int64_t* ends;
  const std::int64_t* edge_offsets;

  std::int64_t total() const { return offsets[size]; }
};

/// One example: its scores and a maximum flow in the graph that stands for them.
class BinaryGraph {
 public:
  using Labels = std::vector<std::int8_t>;

  /// Loads example i and finds its best output.
  void load(const GraphBatch& batch, std::int64_t i);

  std::int32_t size() const { return n_nodes_; }
  double score(const Labels& y) const;
  /// The sum over nodes and edges of their largest absolute score: the unit of rounding errors.
  double magnitude() const;
  /// The lowest maximiser of the score under the labels forced so far: label 1 only where every maximiser has it. It is
  /// also the first in lexicographic order. Valid after `load` and after a `force` that was not cut short.
  void best(Labels& y) const;
  /// How much the maximum falls when node v must have label j; gives up once that is more than `limit`.
  double force(std::int32_t v, int j, double limit = std::numeric_limits<double>::infinity());

  /// loss[v] = how much the maximum falls when node v must leave its label in the best output. No label is forced yet.
  void losses(double* loss) { flow_.force_each(loss); }

  void mark() { flow_.mark(); }
  void rollback() { flow_.rollback(); }

 private:
  std::int32_t n_nodes_ = 0, n_edges_ = 0;
  const double* unary_ = nullptr;
  const double* pair_ = nullptr;
  const std::int64_t* ends_ = nullptr;
  std::vector<double> gain_, capacity_;
  MaxFlow flow_;
};

void graph_cut_max(const GraphBatch&, int threads, double* values, std::int64_t* labels);
/// out: [N][2], the best score with node v labelled j.
void graph_cut_max_marginals(const GraphBatch&, int threads, double* out);
TopKBatch graph_cut_topk(const GraphBatch&, std::int64_t k, double mu, int threads);

}  // namespace casimir
