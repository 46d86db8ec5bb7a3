// DualBlocks of linear trees. Outputs are label vectors; the few nodes on which two of them differ give the direction
// of a step.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "casimir/dual.hpp"
#include "casimir/linear_tree.hpp"

namespace casimir {

class TreeDual final : public DualBlocks {
 public:
  explicit TreeDual(const LinearTree& trees);

  PassResult exact_pass(const std::int64_t* order, std::int64_t count, double sigma, StepRule rule, int steps,
                        double* w, DualAverage* average) override;
  PassResult cached_pass(const std::int64_t* order, std::int64_t count, double sigma, int steps, double skip_below,
                         double* w) override;
  double ell() const override { return ell_; }
  std::int64_t cached_outputs() const override;
  std::int64_t active_outputs() const override;

 private:
  /// The outputs of one example that were ever the oracle's answer; the truth is the first.
  struct Block {
    std::vector<std::uint16_t> labels;  // [count][p]
    std::vector<double> weight, cost;   // [count]
    std::vector<std::int32_t> nodes;    // where the cached outputs differ, ascending
    std::vector<std::int32_t> edges;    // nodes whose label or parent's label differs, ascending
    double gap = 0.0;
  };
  using Change = std::pair<std::int64_t, double>;  // an entry of w, and by how much A_i^T direction changes it

  std::size_t remember(std::int64_t i, const std::int32_t* labels);
  void score_outputs(std::int64_t i);
  void rescore(std::int64_t i, const double* w);
  double block_gap(const Block& block) const;
  void add_direction(std::int64_t i, std::size_t a, std::size_t b, double weight);
  double gather();
  void apply(double step, double sigma, double* w, DualAverage* average);
  void pairwise_steps(std::int64_t i, double sigma, int steps, double* w, DualAverage* average);
  void frank_wolfe_step(std::int64_t i, std::size_t target, double sigma, double* w, DualAverage* average);
  double mean_gap() const;

  const LinearTree& trees_;
  double inverse_n_;
  std::vector<Block> blocks_;
  double ell_ = 0.0;

  // Scratch of the visit under way.
  TreeWorkspace work_;
  std::vector<double> scores_;     // of the cached outputs, up to a common constant
  std::vector<Change> direction_;  // sorted, no entry twice, after gather
  std::vector<std::int64_t> chosen_;
};

}  // namespace casimir
