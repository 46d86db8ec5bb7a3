// Multiclass classification: score(j) = <x_i, W[:, j]>, the features of an example being the same for all classes.
//
// Rows of w, each `stride` doubles: one per feature, the intercepts last if there are any. Marginals of an example: one
// row.
#pragma once

#include <cstdint>
#include <memory>

#include "solve/list_oracles.hpp"
#include "solve/problem.hpp"
#include "weights/feature_rows.hpp"
#include "weights/fixed_rows.hpp"

namespace casimir {

struct LinearClassesData {
  std::int64_t n;
  FeatureRows features;
  const std::int32_t* y;  // [n] true classes, or null
  const double* truth;    // without y: its marginals, where it is not one class, [n][stride]; or null: no truth
  const double* cost;     // [n][labels]: the cost of every class (0 at the truth), or null
};

struct ClassWorkspace final : Workspace {
  ListWork list;
};

class LinearClasses final : public Problem {
 public:
  explicit LinearClasses(const LinearClassesData& data);

  std::int64_t n_examples() const override { return data_.n; }
  std::int64_t n_params() const override { return rows() * shape_.stride; }
  std::int64_t rows() const override { return data_.features.rows(); }
  std::int64_t marginal_offset(std::int64_t i) const override { return i * shape_.stride; }
  std::int64_t output_offset(std::int64_t i) const override { return i; }
  std::unique_ptr<Workspace> workspace() const override { return std::make_unique<ClassWorkspace>(); }
  void load_weights(const WeightView&, Workspace&) const override {}
  Answer oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& work,
                double* marginals) const override;
  void prefetch(std::int64_t i, const WeightView& w) const override { data_.features.prefetch(i, w); }
  void scores(std::int64_t i, const WeightView& w, Workspace&, double* out) const override { score(i, w, out); }
  double expect(std::int64_t i, const double* scores, double mu, Workspace& work, double* marginals) const override;
  double expected_cost(std::int64_t i, const double* marginals) const override;
  void add_truth_scores(std::int64_t i, double margin, double* scores) const override;
  std::unique_ptr<BlockNorm> block_norm() const override;
  void subtract_truth(std::int64_t i, double* marginals) const override;
  void scatter(std::int64_t i, const double* marginals, const ScatterTarget& target) const override {
    data_.features.scatter(i, marginals, target);
  }
  void collect(std::int64_t i, const double* marginals, MarginalList& list) const override;
  void scatter_list(const MarginalList& list, const ScatterTarget& target) const override;
  void touched(std::int64_t i, std::vector<RowRange>& ranges) const override { data_.features.touched(i, ranges); }
  /// Ties go to the lowest class.
  void decode(const double* w, int threads, std::int64_t* classes, double* values) const override;
  std::unique_ptr<DualBlocks> dual_blocks(int threads) const override;

  /// The scores of all classes of example i, their costs included; padding is -inf.
  void score(std::int64_t i, const WeightView& w, double* u) const;

  const LinearClassesData& data() const { return data_; }
  const FeatureRows& features() const { return data_.features; }
  RowShape shape() const { return shape_; }
  std::int64_t truth(std::int64_t i) const { return data_.y[i]; }
  double cost_of(std::int64_t i, std::int64_t j) const { return costs_.empty() ? 0.0 : costs_.row(i)[j]; }

 private:
  struct Of;

  const double* truth_marginals(std::int64_t i) const { return data_.truth + i * shape_.stride; }
  double truth_score(std::int64_t i, const double* scores) const;

  LinearClassesData data_;
  RowShape shape_;
  FixedRows costs_;
};

}  // namespace casimir
