// DualBlocks of candidate lists. Outputs are candidates; inner products of the cached ones give the change of the
// block's own scores without touching w.
#pragma once

#include <cstdint>
#include <vector>

#include "casimir/dual.hpp"
#include "casimir/linear_candidates.hpp"

namespace casimir {

class CandidateDual final : public DualBlocks {
 public:
  explicit CandidateDual(const LinearCandidates& candidates);

  PassResult exact_pass(const std::int64_t* order, std::int64_t count, double sigma, StepRule rule, int steps,
                        double* w, DualAverage* average) override;
  PassResult cached_pass(const std::int64_t* order, std::int64_t count, double sigma, int steps, double skip_below,
                         double* w) override;
  double ell() const override { return ell_; }
  std::int64_t cached_outputs() const override;
  std::int64_t active_outputs() const override;

 private:
  /// The candidates of one example that were ever the oracle's answer; the truth is the first.
  struct Block {
    std::vector<std::int32_t> candidate;
    std::vector<double> weight, cost;
    std::vector<double> gram;  // lower triangle of the first `tabulated` ones
    std::size_t tabulated = 0;
    double gap = 0.0;
  };

  std::size_t remember(std::int64_t i, std::int64_t candidate);
  void update_gap(Block& block);
  void frank_wolfe_step(std::int64_t i, std::size_t target, double sigma, const ScatterTarget& target_w);
  void pairwise_steps(std::int64_t i, double sigma, int steps, const ScatterTarget& target_w);
  bool pairwise_step(std::int64_t i, double sigma, bool last);
  void tabulate_gram(std::int64_t i);
  double gram(std::int64_t i, std::size_t a, std::size_t b) const;
  std::int64_t row(std::int64_t i, std::size_t k) const;
  PassResult finish(PassResult result) const;

  const LinearCandidates& candidates_;
  double inverse_n_;
  std::vector<Block> blocks_;
  double ell_ = 0.0;
  double gap_sum_ = 0.0;

  // Scratch of the visit under way.
  std::vector<double> all_scores_;  // of all candidates
  std::vector<double> scores_;      // of the cached ones
  std::vector<double> change_;      // of the weights of the cached ones, not yet applied to w
  std::vector<double> direction_;   // [dim]
  std::vector<std::int64_t> chosen_;
};

}  // namespace casimir
