// The sum-product algorithm on trees (algo:dp:supp_sum-prod), in the log domain.
//
// On the way up,  beta_t(l) = unary_t(l) + sum_c m_c(l)  and  m_t(y) = mu log sum_l exp((beta_t(l) + pair_t(l, y)) /
// mu). The terms of that sum, divided by it, are the probabilities of l given the parent's label y; so on the way down
//     P(y_t = l, y_parent = y) = P(y_parent = y) P(l | y)
// needs neither another exponential nor a quotient of messages. A subtree's sum holds a term exp(0), so it is 0 only
// under a label that forbidden scores (-inf) keep from the parent.
#pragma once

#include <cstdint>
#include <vector>

#include "tree/tree_view.hpp"

namespace casimir {

class TreeSum {
 public:
  /// Returns mu log sum_y exp(score(y) / mu); writes its gradient, nodes [p][labels] and edges [p][labels][labels], by
  /// node, zero at roots.
  double run(const TreeView& tree, double mu, double* nodes, double* edges);

 private:
  static double root(const double* beta, double mu, double* marginals, int labels);

  std::vector<double> beta_, total_, top_;
};

}  // namespace casimir
