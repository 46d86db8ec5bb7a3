// Trees whose unary scores are linear in sparse node features, with one matrix of edge scores for all edges.
//
// Rows of w, each `stride` doubles: n_features unary rows, then `labels` edge rows [label][label of the parent].
#pragma once

#include <cstdint>
#include <vector>

#include "tree/shared_tree_sum.hpp"
#include "tree/tree_kbest.hpp"
#include "tree/tree_max.hpp"
#include "tree/tree_order.hpp"
#include "tree/tree_ties.hpp"
#include "weights/linear_tokens.hpp"

namespace casimir {

struct TreeWorkspace final : Workspace {
  std::vector<double> padded;  // rows of scores as the feature kernels write them
  std::vector<double> unary;   // [p][labels]
  std::vector<double> edges;   // [labels][labels]
  std::vector<double> parts, weights;
  std::vector<std::int32_t> found, output;  // best labels by position, by node
  TreeMax max;
  TreeKBest kbest;
  TiedOutputs ties;
  SharedTreeSum sum;
};

class LinearTree final : public LinearTokens {
 public:
  LinearTree(const LinearTokensData& data, const TreeOrderView& order);

  std::int64_t rows() const override { return data_.n_features + shape_.labels; }
  std::unique_ptr<Workspace> workspace() const override { return std::make_unique<TreeWorkspace>(); }
  void load_weights(const WeightView& w, Workspace& work) const override;
  Answer oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& work,
                double* parts) const override;
  void subtract_truth(std::int64_t i, double* parts) const override;
  void scatter(std::int64_t i, const double* parts, const ScatterTarget& target) const override;
  void collect(std::int64_t i, const double* parts, PartList& list) const override;

  /// Best labels without cost: labels[nodes], values[size].
  void decode(const double* w, int threads, std::int64_t* labels, double* values) const;

  /// Scores of node v of example i into row v of work.unary, the cost of each label added when asked for.
  void score_node(std::int64_t i, std::int64_t v, const WeightView& w, bool with_cost, TreeWorkspace& work) const;
  void score_nodes(std::int64_t i, const WeightView& w, bool with_cost, TreeWorkspace& work) const;
  /// Runs max-product on work.unary and work.edges; the best labels are in work.output. Returns the best score.
  double best_output(std::int64_t i, TreeWorkspace& work) const;

  /// The parents of example i's nodes, by node; -1 at roots.
  const std::int64_t* parents(std::int64_t i) const { return parent_.data() + data_.offsets[i]; }

 private:
  TreeView view(std::int64_t i, const TreeWorkspace& work) const;
  double output_score(std::int64_t i, const std::int32_t* labels, const TreeWorkspace& work) const;
  template <class Label>
  void add_output(std::int64_t i, const Label* labels, double weight, double* parts) const;
  Answer smoothed_max(std::int64_t i, const Smoothing& smoothing, double truth_score, TreeWorkspace& work,
                      double* parts) const;
  void finish_scores(std::int64_t i, std::int64_t v, const double* row, bool with_cost, TreeWorkspace& work) const;

  TreeOrderView order_;
  std::vector<std::int64_t> parent_;
};

}  // namespace casimir
