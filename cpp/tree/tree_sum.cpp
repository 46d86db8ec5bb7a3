#include "tree/tree_sum.hpp"

#include <algorithm>
#include <cmath>

#include "base/numbers.hpp"
#include "tree/label_rows.hpp"

namespace casimir {

double TreeSum::run(const TreeView& tree, double mu, double* nodes, double* edges) {
  const std::int64_t p = tree.p, labels = tree.labels, block = labels * labels;
  const auto cells = static_cast<std::size_t>(p * labels);
  if (beta_.size() < cells) beta_.resize(cells), total_.resize(cells);
  top_.resize(static_cast<std::size_t>(labels));
  const double inverse_mu = 1.0 / mu;
  double value = 0.0;
  for (std::int64_t t = 0; t < p; ++t) std::copy_n(tree.unary(t), labels, beta_.data() + t * labels);
  with_label_rows(tree.labels, [&](const auto& rows) {
    for (std::int64_t t = p - 1; t >= 0; --t) {
      const double* beta = beta_.data() + t * labels;
      if (tree.is_root(t)) {
        value += root(beta, mu, nodes + tree.node[t] * labels, tree.labels);
        std::fill_n(edges + tree.node[t] * block, block, 0.0);
        continue;
      }
      double* total = total_.data() + t * labels;
      rows.max_columns(tree.pair(t), beta, top_.data());
      for (double& top : top_)
        if (top == -kInf) top = 0.0;  // a label that the parent cannot have: all terms are exp(-inf) = 0
      rows.exp_columns(tree.pair(t), beta, top_.data(), inverse_mu, edges + tree.node[t] * block, total);
      double* above = beta_.data() + tree.parent[t] * labels;
      for (std::int64_t y = 0; y < labels; ++y) above[y] += top_[static_cast<std::size_t>(y)] + mu * std::log(total[y]);
    }
    for (std::int64_t t = 0; t < p; ++t) {
      if (tree.is_root(t)) continue;
      const double* above = nodes + tree.node[tree.parent[t]] * labels;
      double* factor = total_.data() + t * labels;  // total >= 1, its largest term is exp(0); or 0, and so is above
      for (std::int64_t y = 0; y < labels; ++y) factor[y] = factor[y] > 0.0 ? above[y] / factor[y] : 0.0;
      rows.scale_columns(factor, edges + tree.node[t] * block, nodes + tree.node[t] * labels);
    }
  });
  return value;
}

/// mu logsumexp(beta / mu), and its gradient.
double TreeSum::root(const double* beta, double mu, double* marginals, int labels) {
  const double top = *std::max_element(beta, beta + labels);
  double sum = 0.0;
  for (int l = 0; l < labels; ++l) sum += marginals[l] = std::exp((beta[l] - top) / mu);
  for (int l = 0; l < labels; ++l) marginals[l] /= sum;
  return top + mu * std::log(sum);
}

}  // namespace casimir
