// Sum-product on a tree whose edges all have the same scores: one exponential per pair of labels, not per pair and
// edge.
//
// With M[l][y] = exp((pair(l, y) - max pair) / mu) and b_t(l) = exp((beta_t(l) - max beta_t) / mu) of tree_sum.hpp,
//     message      m_t(y) = sum_l b_t(l) M[l][y]                        (up to a factor that the value keeps)
//     on the way down, with f_t(y) = P(y_parent = y) / m_t(y):   P(y_t = l) = b_t(l) sum_y M[l][y] f_t(y)
//     summed over edges    P(l, y) = M[l][y] sum_t b_t(l) f_t(y).
// beta is kept in logs, so that nodes may have any number of children.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tree/tree_sum.hpp"
#include "tree/tree_view.hpp"

namespace casimir {

class SharedTreeSum {
 public:
  /// Returns mu log sum_y exp(score(y) / mu) for a tree with edge_step 0. Writes node marginals, rows of `stride` by
  /// node, and adds the edge marginals summed over all edges to `edges`, rows of `stride`. Padding is left alone.
  double run(const TreeView& tree, double mu, std::int64_t stride, double* nodes, double* edges);
  /// The same value, without the way down.
  double value(const TreeView& tree, double mu);

 private:
  std::optional<double> load_pairs(const TreeView& tree, double mu);
  double run_in_logs(const TreeView& tree, double mu, std::int64_t stride, double* nodes, double* edges);
  double value_in_logs(const TreeView& tree, double mu);
  bool up(const TreeView& tree, double mu, double& value);
  static bool can_have(const TreeView& tree, const double* beta, std::int64_t y);
  void down(const TreeView& tree, std::int64_t stride, double* nodes);

  std::int64_t width_ = 0;  // labels rounded up to whole vectors; padding is 0
  std::vector<double> beta_, weight_, message_, factor_, matrix_, sums_;
  TreeSum in_logs_;
  std::vector<double> all_edges_, all_nodes_;
};

}  // namespace casimir
