// DualBlocks of classes. All classes of an example have the same features, so |x_i|^2 tells what a step does to the
// block's own scores.
#pragma once

#include <cstdint>
#include <vector>

#include "classes/linear_classes.hpp"
#include "solve/dual_passes.hpp"

namespace casimir {

struct ClassOutputs : CachedOutputs {
  using CachedOutputs::CachedOutputs;

  std::vector<std::int32_t> label;  // [count]

  const std::vector<std::int32_t>& outputs() const { return label; }
};

class ClassDual final : public DualPasses<ClassOutputs> {
 public:
  explicit ClassDual(const LinearClasses& classes);

 private:
  void prefetch(const std::int64_t* order, std::int64_t visit, std::int64_t count, const double* w,
                bool cached) const override;
  std::size_t remember(std::int64_t i, const std::int32_t* labels) override;
  std::int64_t label_count(std::int64_t /*i*/) const override { return classes_.shape().labels; }
  std::size_t ask_oracle(std::int64_t i, const double* w) override;
  void rescore(std::int64_t i, const double* w) override;
  void frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) override;
  void pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) override;

  void score_outputs(std::int64_t i);
  bool pairwise_step(std::int64_t i, double scale);
  void apply(std::int64_t i, const VisitPoint& point);
  double& direction(std::int64_t i, std::size_t k) { return direction_[static_cast<std::size_t>(block(i).label[k])]; }

  const LinearClasses& classes_;
  std::vector<double> squared_;  // [n] |x_i|^2

  // Scratch of the visit under way.
  std::vector<double> u_;          // scores of all classes
  std::vector<double> direction_;  // a row: change of the weights of the classes, not yet applied to w
  std::vector<RowRange> rows_;
};

}  // namespace casimir
