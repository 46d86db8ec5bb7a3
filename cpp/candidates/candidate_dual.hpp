// DualBlocks of candidate lists. Outputs are candidates; inner products of the cached ones give the change of the
// block's own scores without touching w.
#pragma once

#include <cstdint>
#include <vector>

#include "candidates/linear_candidates.hpp"
#include "solve/dual_passes.hpp"

namespace casimir {

struct CandidateOutputs : CachedOutputs {
  using CachedOutputs::CachedOutputs;

  std::vector<std::int32_t> candidate;  // [count]
  std::vector<double> gram;             // lower triangle of the first `tabulated` ones
  std::size_t tabulated = 0;

  const std::vector<std::int32_t>& outputs() const { return candidate; }
};

class CandidateDual final : public DualPasses<CandidateOutputs> {
 public:
  explicit CandidateDual(const LinearCandidates& candidates);

 private:
  std::size_t remember(std::int64_t i, const std::int32_t* labels) override;
  std::int64_t label_count(std::int64_t i) const override { return candidates_.count(i); }
  std::size_t ask_oracle(std::int64_t i, const double* w) override;
  void rescore(std::int64_t i, const double* w) override;
  void frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) override;
  void pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) override;

  bool pairwise_step(std::int64_t i, double scale, bool last);
  void apply(std::int64_t i, const VisitPoint& point);
  void tabulate_gram(std::int64_t i);
  double gram(std::int64_t i, std::size_t a, std::size_t b) const;
  std::int64_t row(std::int64_t i, std::size_t k) const;

  const LinearCandidates& candidates_;

  // Scratch of the visit under way.
  std::vector<double> all_scores_;  // of all candidates
  std::vector<double> change_;      // of the weights of the cached ones, not yet applied to w
  std::vector<double> direction_;   // [dim]
};

}  // namespace casimir
