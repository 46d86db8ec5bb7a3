// DualBlocks of sets of labels. All labels of an example have the same features, so |x_i|^2 and the labels and pairs on
// which two outputs differ tell what a step does to the block's own scores.
#pragma once

#include <cstdint>
#include <vector>

#include "labels/linear_labels.hpp"
#include "solve/label_outputs.hpp"

namespace casimir {

struct LabelSets : LabelOutputs {
  using LabelOutputs::LabelOutputs;

  std::vector<std::int32_t> edges;  // one of whose labels differs between cached outputs, ascending
};

class LabelDual final : public DualPasses<LabelSets> {
 public:
  explicit LabelDual(const LinearLabels& labels);

 private:
  void prefetch(const std::int64_t* order, std::int64_t visit, std::int64_t count, const double* w,
                bool cached) const override;
  std::size_t remember(std::int64_t i, const std::int32_t* labels) override;
  std::int64_t label_count(std::int64_t /*i*/) const override { return 2; }
  std::size_t ask_oracle(std::int64_t i, const double* w) override;
  void rescore(std::int64_t i, const double* w) override;
  void frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) override;
  void pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) override;

  const std::uint16_t* output(std::int64_t i, std::size_t k) const { return block(i).output(k, problem_labels()); }
  std::int64_t problem_labels() const { return labels_.shape().labels; }
  void load(std::int64_t i, const double* w);
  void score_outputs(std::int64_t i);
  void add_direction(std::int64_t i, std::size_t k, double weight);
  void follow(std::int64_t i, double step, double scale);
  void apply(std::int64_t i, double step, const VisitPoint& point);

  const LinearLabels& labels_;
  LabelNorm norm_;

  // Scratch of the visit under way, in the layout of marginals.
  std::unique_ptr<Workspace> work_;
  std::vector<double> u_;          // scores of labels and pairs
  std::vector<double> direction_;  // of a step
  std::vector<double> moved_;      // sum of steps, not yet applied to w
  std::vector<RowRange> rows_;
};

}  // namespace casimir
