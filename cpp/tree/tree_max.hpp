// The max-product algorithm on trees (algo:dp:supp): tables from leaves to roots, and what outputs lose against them.
//
// With children c of t, and y the label of the parent of t,
//     beta_t(l) = unary_t(l) + sum_c m_c(l)              the best score of the subtree of t when t has label l
//     m_t(y)    = max_l { beta_t(l) + pair_t(l, y) }     its message to the parent
//     loss_t(l | y) = m_t(y) - (beta_t(l) + pair_t(l, y)) >= 0;   at a root, max_l' beta_t(l') - beta_t(l).
// The score of an output is top - sum_t loss_t, where top is the sum of the roots' maxima: top-down, the labels of loss
// 0 give the best outputs. Differences within rounding error of beta count as 0, so that ties are ties for scores such
// as 0.1 as well.
//
// Scores of -inf forbid labels or pairs of labels; what uses them loses infinitely much. At least one output must be
// left, and then the message to every label that the parent can have is finite.
#pragma once

#include <cstdint>
#include <vector>

#include "tree/tree_view.hpp"

namespace casimir {

class TreeMax {
 public:
  void run(const TreeView& tree);

  const TreeView& tree() const { return tree_; }
  double top() const { return top_; }

  /// out[l] = loss_t(l | parent_label), exactly 0 for the best labels. The parent's label is not read at roots.
  void losses(std::int64_t t, std::int32_t parent_label, double* out) const;

  /// The best output by position, lowest labels first from the roots down. Returns whether it is the only best one.
  bool decode(std::int32_t* labels);

  /// out[node][l]: the best score of outputs with label l at the node.
  void marginals(double* out);

 private:
  double* beta(std::int64_t t) { return beta_.data() + t * tree_.labels; }
  const double* beta(std::int64_t t) const { return beta_.data() + t * tree_.labels; }
  const double* message(std::int64_t t) const { return message_.data() + t * tree_.labels; }

  TreeView tree_{};
  double top_ = 0.0, tolerance_ = 0.0;
  std::vector<double> beta_, message_, root_top_, row_;
};

}  // namespace casimir
