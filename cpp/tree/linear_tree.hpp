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
  std::vector<double> marginals, weights;
  std::vector<std::int32_t> found, output;  // best labels by position, by node
  TreeMax max;
  TreeKBest kbest;
  TiedOutputs ties;
  SharedTreeSum sum;
};

class LinearTree final : public LinearTokens {
 public:
  LinearTree(const LinearTokensData& data, const TreeOrderView& order, const SharedWeights& shared = {});

  std::unique_ptr<Workspace> workspace() const override { return std::make_unique<TreeWorkspace>(); }
  void load_weights(const WeightView& w, Workspace& work) const override;
  Answer oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& work,
                double* marginals) const override;
  void scores(std::int64_t i, const WeightView& w, Workspace& work, double* out) const override;
  double expect(std::int64_t i, const double* scores, double mu, Workspace& work, double* marginals) const override;
  std::unique_ptr<BlockNorm> block_norm() const override;
  void subtract_truth(std::int64_t i, double* marginals) const override;
  void scatter(std::int64_t i, const double* marginals, const ScatterTarget& target) const override;
  void collect(std::int64_t i, const double* marginals, MarginalList& list) const override;
  void decode(const double* w, int threads, std::int64_t* labels, double* values) const override;
  std::unique_ptr<DualBlocks> dual_blocks(int threads) const override;

  /// Scores of node v of example i into row v of work.unary, fixed ones included.
  void score_node(std::int64_t i, std::int64_t v, const WeightView& w, TreeWorkspace& work) const;
  void score_nodes(std::int64_t i, const WeightView& w, TreeWorkspace& work) const;
  /// Runs max-product on work.unary and work.edges; the best labels are in work.output. Returns the best score.
  double best_output(std::int64_t i, TreeWorkspace& work) const;
  /// ell_i(y), the fixed score of y less that of the truth.
  template <class Label>
  double cost_of(std::int64_t i, const Label* labels) const {
    return fixed_score(i, labels) - fixed_of_truth(i);
  }

  /// The parents of example i's nodes, by node; -1 at roots.
  const std::int64_t* parents(std::int64_t i) const { return parent_.data() + data_.offsets[i]; }

 private:
  struct Oracles;

  std::int64_t weight_rows() const override { return data_.n_features + shape_.labels; }

  TreeView view(std::int64_t i, const TreeWorkspace& work) const;
  double output_score(std::int64_t i, const std::int32_t* labels, const TreeWorkspace& work) const;
  double truth_score(std::int64_t i, const TreeWorkspace& work) const;
  template <class Label>
  double fixed_score(std::int64_t i, const Label* labels) const {
    double score = 0.0;
    const std::int64_t* above = parents(i);
    for (std::int64_t v = 0; has_fixed() && v < length(i); ++v) {
      score += fixed_node(i, v, labels[v]);
      if (above[v] >= 0) score += fixed_pair(labels[v], labels[above[v]]);
    }
    return score;
  }
  template <class Label>
  void add_output(std::int64_t i, const Label* labels, double weight, double* marginals) const;
  void finish_scores(std::int64_t i, std::int64_t v, const double* row, TreeWorkspace& work) const;

  TreeOrderView order_;
  std::vector<std::int64_t> parent_;
};

}  // namespace casimir
