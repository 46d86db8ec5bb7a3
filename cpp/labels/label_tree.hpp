// Labels whose pairs form a forest.
//
// With two labels a message is one number. b_t is what label 1 gains over label 0 below node t, and J = pair of the
// edge to its parent:
//     max:  m_t = max(0, b_t + J) - max(J, b_t), b_t = on[t] + sum_c m_c; under a parent of label y the label is 1
//     where
//           b_t + J > 0 (y = 1), b_t - J > 0 (y = 0)
//     sum:  with odds o_t = exp(b_t / mu) and E = exp(J / mu), exp(m_t / mu) = (1 + o_t E) / (E + o_t), and
//           Z = prod_{t not a root} (E + o_t) prod_{t a root} (1 + o_t)
// Where labels tie, and where odds would overflow, the algorithms of trees of any labels take over.
#pragma once

#include <span>

#include "labels/label_graph.hpp"
#include "tree/tree_order.hpp"

namespace casimir {

class LabelTree final : public LabelGraph {
 public:
  /// parents: [labels], -1 at roots; children: [edges], the lower end of every edge, each node that is no root once.
  /// Throws std::invalid_argument where these do not fit together.
  LabelTree(std::span<const std::int64_t> parents, std::span<const std::int64_t> children);

  std::unique_ptr<LabelOracles> oracles() const override;

  const TreeOrder& order() const { return order_; }
  /// The edge above the node at a position, -1 at roots.
  std::int64_t edge(std::int64_t t) const { return edge_[static_cast<std::size_t>(t)]; }

 private:
  TreeOrder order_;
  std::vector<std::int64_t> edge_;
};

}  // namespace casimir
