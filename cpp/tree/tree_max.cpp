#include "tree/tree_max.hpp"

#include <algorithm>
#include <cmath>

#include "base/numbers.hpp"
#include "tree/label_rows.hpp"

namespace casimir {
namespace {

/// Sums along a tree are off by some units in the last place; 2^-48 is 16 of them.
constexpr double kRounding = 0x1p-48;

}  // namespace

void TreeMax::run(const TreeView& tree) {
  tree_ = tree;
  const std::int64_t p = tree.p, labels = tree.labels;
  const auto cells = static_cast<std::size_t>(p * labels);
  if (beta_.size() < cells) beta_.resize(cells), message_.resize(cells), root_top_.resize(cells);
  row_.resize(static_cast<std::size_t>(labels));
  for (std::int64_t t = 0; t < p; ++t) std::copy_n(tree.unary(t), labels, beta(t));
  double largest = 0.0;
  top_ = 0.0;
  with_label_rows(tree.labels, [&](const auto& rows) {
    for (std::int64_t t = p - 1; t >= 0; --t) {
      const double here = rows.highest(beta(t));
      largest = std::max(largest, std::abs(here));
      if (tree.is_root(t)) {
        root_top_[static_cast<std::size_t>(t)] = here;
        top_ += here;
        continue;
      }
      double* out = message_.data() + t * labels;
      double* above = beta(tree.parent[t]);
      rows.max_columns(tree.pair(t), beta(t), out);
      for (std::int64_t l = 0; l < labels; ++l) above[l] += out[l];
    }
  });
  tolerance_ = kRounding * largest;
}

void TreeMax::losses(std::int64_t t, std::int32_t parent_label, double* out) const {
  const int labels = tree_.labels;
  const double* b = beta(t);
  if (tree_.is_root(t)) {
    const double best = root_top_[static_cast<std::size_t>(t)];
    for (int l = 0; l < labels; ++l) out[l] = best - b[l] > tolerance_ ? best - b[l] : 0.0;
    return;
  }
  const double best = message(t)[parent_label];
  const double* pair = tree_.pair(t) + parent_label;
  for (int l = 0; l < labels; ++l, pair += labels) {
    const double loss = best - (b[l] + *pair);
    out[l] = loss > tolerance_ ? loss : 0.0;  // also where sums overflowed: some label must be the best
  }
}

bool TreeMax::decode(std::int32_t* labels) {
  bool only = true;
  for (std::int64_t t = 0; t < tree_.p; ++t) {
    losses(t, tree_.is_root(t) ? 0 : labels[tree_.parent[t]], row_.data());
    const auto best = std::find(row_.begin(), row_.end(), 0.0);
    labels[t] = static_cast<std::int32_t>(best - row_.begin());
    only = only && std::find(best + 1, row_.end(), 0.0) == row_.end();
  }
  return only;
}

/// outside_t(l) = max_y { pair_t(l, y) + max-marginal of the parent(y) - m_t(y) }: all that t does not see below
/// itself.
void TreeMax::marginals(double* out) {
  const std::int64_t labels = tree_.labels;
  with_label_rows(tree_.labels, [&](const auto& rows) {
    for (std::int64_t t = 0; t < tree_.p; ++t) {
      double* here = out + tree_.node[t] * labels;
      if (tree_.is_root(t)) {
        std::fill_n(here, labels, top_ - root_top_[static_cast<std::size_t>(t)]);
      } else {
        const double* above = out + tree_.node[tree_.parent[t]] * labels;
        // Where the parent cannot have label y, its message may be -inf as well.
        for (std::int64_t y = 0; y < labels; ++y)
          row_[static_cast<std::size_t>(y)] = above[y] == -kInf ? -kInf : above[y] - message(t)[y];
        rows.max_rows(tree_.pair(t), row_.data(), here);
      }
      for (std::int64_t l = 0; l < labels; ++l) here[l] += beta(t)[l];
    }
  });
}

}  // namespace casimir
