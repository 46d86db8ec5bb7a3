// DualBlocks of linear trees. Outputs are label vectors; the few nodes on which two of them differ give the direction
// of a step.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "solve/label_outputs.hpp"
#include "tree/linear_tree.hpp"

namespace casimir {

struct TreeOutputs : LabelOutputs {
  using LabelOutputs::LabelOutputs;

  std::vector<std::int32_t> edges;  // nodes whose label or parent's label differs, ascending
};

class TreeDual final : public DualPasses<TreeOutputs> {
 public:
  explicit TreeDual(const LinearTree& trees);

 private:
  using Change = std::pair<std::int64_t, double>;  // an entry of w, and by how much A_i^T direction changes it

  void prefetch(const std::int64_t* order, std::int64_t visit, std::int64_t count, const double* w,
                bool cached) const override;
  std::size_t remember(std::int64_t i, const std::int32_t* labels) override;
  std::int64_t label_count(std::int64_t /*i*/) const override { return trees_.shape().labels; }
  std::size_t ask_oracle(std::int64_t i, const double* w) override;
  void rescore(std::int64_t i, const double* w) override;
  void frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) override;
  void pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) override;

  void score_outputs(std::int64_t i);
  void add_direction(std::int64_t i, std::size_t a, std::size_t b, double weight);
  void add(std::int64_t at, double amount);
  double gather();
  void apply(double step, const VisitPoint& point);

  const LinearTree& trees_;

  // Scratch of the visit under way.
  TreeWorkspace work_;
  std::vector<double> sums_;           // as long as w, zero between uses: the direction that is being gathered
  std::vector<std::int64_t> touched_;  // where it is not zero; an entry may come twice
  std::vector<Change> direction_;      // no entry twice, after gather
};

}  // namespace casimir
