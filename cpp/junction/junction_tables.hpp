// The clique tables of one example, and the two passes over the clique tree: towards the last clique and back.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "junction/junction_plan.hpp"

namespace casimir {

/// Calls op(cell, projected) for all cells of a table [labels]^dimensions in order; `projected` is the cell of a
/// smaller table with the given step per dimension (0: not a dimension of the smaller one).
template <class Op>
void project(const std::int64_t* strides, std::int64_t dimensions, std::int64_t labels, double* table, double* small,
             Op op) {
  // The last dimensions are one run where the smaller table has none of them, or all of them in the same order.
  std::int64_t outer = dimensions, run = 1, step = strides[dimensions - 1];
  if (step == 0)
    for (; outer > 0 && strides[outer - 1] == 0; --outer) run *= labels;
  else if (step == 1)
    for (; outer > 0 && strides[outer - 1] == run; --outer) run *= labels;
  else
    --outer, run = labels;
  std::int64_t count = 1;
  for (std::int64_t d = 0; d < outer; ++d) count *= labels;
  std::array<std::int64_t, 64> digits{};  // of the outer dimensions; with one label count is 1 and none is read
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i, table += run) {
    if (step == 0)
      for (std::int64_t j = 0; j < run; ++j) op(table[j], small[at]);
    else if (step == 1)
      for (std::int64_t j = 0; j < run; ++j) op(table[j], small[at + j]);
    else
      for (std::int64_t j = 0; j < run; ++j) op(table[j], small[at + j * step]);
    if (i + 1 == count) break;
    std::int64_t d = outer - 1;
    for (; digits[static_cast<std::size_t>(d)] == labels - 1; --d) {
      digits[static_cast<std::size_t>(d)] = 0;
      at -= (labels - 1) * strides[d];
    }
    ++digits[static_cast<std::size_t>(d)];
    at += strides[d];
  }
}

/// The scores of one example: unary [nodes][labels], pairwise [edges][labels][labels] or null (all zero).
struct JunctionScores {
  const std::int64_t* ends;
  std::int64_t edges;
  const double* unary;
  const double* pairwise;
};

/// A reach beyond which only forbidden parts should lie; infinite when there are none.
double usual_reach(const JunctionPlan& plan, const JunctionScores& scores);

class JunctionTables {
 public:
  /// Prepares max_losses: every score is rounded to a multiple of d = 2^(e - 51), where 2^e exceeds all sums of scores.
  /// Sums and differences are then exact, in any order, so that equal scores compare equal. Whole numbers stay as they
  /// are, and the error is that of adding up in floating point.
  ///
  /// Parts that are forbidden by a large negative score would make d large. So scores that lie more than `reach` below
  /// the best of their row (the labels of a node, the pairs of an edge) are first raised to that. An output that uses
  /// one scores less than tops - reach / 2, tops the sum of the rows' best, which is returned; above that all is right.
  double load_exact(const JunctionPlan& plan, const JunctionScores& scores, double reach);
  /// Prepares normalise: scores / mu.
  void load_scaled(const JunctionPlan& plan, const JunctionScores& scores, double mu);

  /// Max-product towards the last clique (algo:dp:supp on a clique tree). Returns the best score and leaves
  ///   loss_t(s, l) = max_l' phi_t(s, l') - phi_t(s, l) >= 0,    score(y) = best - sum_t loss_t(y).
  double max_losses();
  /// The way back: cells become the least total loss of the outputs that agree with them.
  void least_losses();
  /// Sum-product towards the last clique, in logs. Returns log sum_y exp score(y) and leaves p(y_t | separator).
  double normalise();
  /// The way back: cells become the marginals p(y_t, separator). No message is divided by another.
  void marginals();

  /// target[node][label] = op over the cells of the node's clique with that label, starting from `start`.
  template <class Op>
  void reduce_nodes(double start, double* target, Op op) {
    const std::int64_t labels = plan_->labels;
    for (std::int64_t t = 0; t < plan_->nodes; ++t) {
      double* row = target + plan_->order[static_cast<std::size_t>(t)] * labels;
      for (std::int64_t l = 0; l < labels; ++l) row[l] = start;
      const double* cell = cells(t);
      for (std::int64_t s = 0; s < plan_->rows(t); ++s, cell += labels)
        for (std::int64_t l = 0; l < labels; ++l) row[l] = op(row[l], cell[l]);
    }
  }
  /// target[edge][label][label] = sum of the cells with these labels.
  void sum_edges(const JunctionScores& scores, double* target);

  const JunctionPlan& plan() const { return *plan_; }
  double* cells(std::int64_t t) { return cells_.data() + plan_->table(t); }
  const double* cells(std::int64_t t) const { return cells_.data() + plan_->table(t); }
  /// Losses of the labels at position t, given labels of the later positions.
  const double* row(std::int64_t t, const std::int32_t* labels) const {
    std::int64_t index = 0;
    const std::int64_t* separator = plan_->separator(t);
    for (std::int64_t j = 0; j < plan_->separator_size(t); ++j) index = index * plan_->labels + labels[separator[j]];
    return cells(t) + index * plan_->labels;
  }

 private:
  void load(const JunctionPlan& plan, const JunctionScores& scores);
  std::int64_t edge_strides(const std::int64_t* ends, std::vector<std::int64_t>& strides) const;

  const JunctionPlan* plan_ = nullptr;
  std::vector<double> cells_, message_, unary_, pairwise_;
  std::vector<std::int64_t> strides_;
};

}  // namespace casimir
