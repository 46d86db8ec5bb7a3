// Sets of labels with linear scores: the features of an example are the same for all labels, and every pair of labels
// that interacts has a weight.
//
//     score(y) = sum_l <x_i, W[:, l]> y_l + sum_e J[e] [y_u = y_v]
//
// Rows of w, each `stride` doubles: one per feature, the intercepts last if there are any, then J, filled row by row.
// Marginals of an example: a row of P(y_l = 1), then P(y_u = y_v) in rows like those of J.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "labels/label_graph.hpp"
#include "solve/problem.hpp"
#include "weights/feature_rows.hpp"
#include "weights/fixed_rows.hpp"

namespace casimir {

struct LinearLabelsData {
  std::int64_t n;
  FeatureRows features;
  std::shared_ptr<const LabelGraph> graph;
  const std::int32_t* y;  // [n][labels] true labels, 0 or 1, or null
  const double* truth;    // without y: its marginals, where it is not one output; or null: no truth
  const double* fixed;    // [n][labels][2]: scores of both values of a label that do not depend on w; or null
};

/// Doubles of an example's marginals: a row of labels, then rows of pairs.
inline std::int64_t label_width(const LabelGraph& graph) {
  const std::int64_t stride = stride_of(graph.labels());
  return stride + (graph.edges() + stride - 1) / stride * stride;
}

struct LabelWorkspace final : Workspace {
  std::unique_ptr<LabelOracles> oracles;
  std::vector<double> scores;  // in the layout of marginals
  std::vector<double> pair, marginals, weights;
  std::vector<std::int32_t> output;
  TopKBatch best;
};

class LinearLabels final : public Problem {
 public:
  explicit LinearLabels(const LinearLabelsData& data);

  std::int64_t n_examples() const override { return data_.n; }
  std::int64_t n_params() const override { return rows() * shape_.stride; }
  std::int64_t rows() const override { return data_.features.rows() + pair_rows(); }
  std::int64_t marginal_offset(std::int64_t i) const override { return i * width(); }
  std::int64_t output_offset(std::int64_t i) const override { return i * shape_.labels; }
  std::unique_ptr<Workspace> workspace() const override;
  void load_weights(const WeightView& w, Workspace& work) const override;
  Answer oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& work,
                double* marginals) const override;
  void prefetch(std::int64_t i, const WeightView& w) const override { data_.features.prefetch(i, w); }
  void scores(std::int64_t i, const WeightView& w, Workspace& work, double* out) const override;
  double expect(std::int64_t i, const double* scores, double mu, Workspace& work, double* marginals) const override;
  double expected_cost(std::int64_t i, const double* marginals) const override;
  void add_truth_scores(std::int64_t i, double margin, double* scores) const override;
  std::unique_ptr<BlockNorm> block_norm() const override;
  void subtract_truth(std::int64_t i, double* marginals) const override;
  void scatter(std::int64_t i, const double* marginals, const ScatterTarget& target) const override;
  void collect(std::int64_t i, const double* marginals, MarginalList& list) const override;
  void scatter_list(const MarginalList& list, const ScatterTarget& target) const override;
  void touched(std::int64_t i, std::vector<RowRange>& ranges) const override;
  void decode(const double* w, int threads, std::int64_t* labels, double* values) const override;
  std::unique_ptr<DualBlocks> dual_blocks(int threads) const override;

  const LinearLabelsData& data() const { return data_; }
  const FeatureRows& features() const { return data_.features; }
  const LabelGraph& graph() const { return *data_.graph; }
  RowShape shape() const { return shape_; }
  std::int64_t width() const { return label_width(graph()); }
  const std::int32_t* truth(std::int64_t i) const { return data_.y + i * shape_.labels; }
  /// A block in the layout of marginals as scores.
  LabelScores split(const double* block) const { return {block, block + shape_.stride}; }
  /// ell_i(y), the fixed score of y less that of the truth.
  template <class Label>
  double cost_of(std::int64_t i, const Label* y) const {
    if (fixed_.empty()) return 0.0;
    double cost = constant_[static_cast<std::size_t>(i)];
    for (int l = 0; l < shape_.labels; ++l)
      if (y[l]) cost += fixed_.row(i)[l];
    return cost;
  }

 private:
  struct Oracles;

  std::int64_t pair_rows() const { return width() / shape_.stride - 1; }
  std::int64_t first_pair() const { return data_.features.rows() * shape_.stride; }
  void keep_fixed();
  void add_pairs(std::int64_t row, const double* x, std::int64_t count, const ScatterTarget& target) const;
  template <class Label>
  void add_output(const Label* y, double weight, double* marginals) const;
  const double* truth_marginals(std::int64_t i) const { return data_.truth + marginal_offset(i); }
  double truth_score(std::int64_t i, const double* scores) const;
  double base_of(std::int64_t i) const { return base_.empty() ? 0.0 : base_[static_cast<std::size_t>(i)]; }

  LinearLabelsData data_;
  RowShape shape_;
  FixedRows fixed_;               // of a label's 1, less that of its 0
  std::vector<double> base_;      // [n]: the fixed score of y = 0; empty: all 0
  std::vector<double> constant_;  // [n]: the same less that of the truth
};

/// |x_i|^2 |labels|^2 + |pairs|^2
class LabelNorm final : public BlockNorm {
 public:
  explicit LabelNorm(const LinearLabels& labels);

  double squared(std::int64_t i, const double* x) override;
  /// |x_i|^2
  double of_features(std::int64_t i) const { return features_[static_cast<std::size_t>(i)]; }

 private:
  std::int64_t stride_, width_;
  std::vector<double> features_;
};

}  // namespace casimir
