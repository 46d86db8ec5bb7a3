// DualBlocks of linear chains with features of edges. Outputs are label sequences; the few tokens and edges on which
// two of them differ give the direction of a step.
#pragma once

#include <cstdint>
#include <vector>

#include "chain/linear_chain.hpp"
#include "solve/label_outputs.hpp"
#include "solve/sparse_direction.hpp"

namespace casimir {

struct EdgeChainOutputs : LabelOutputs {
  using LabelOutputs::LabelOutputs;

  std::vector<std::int32_t> edges;  // tokens whose label or the one before differs, ascending
};

class EdgeChainDual final : public DualPasses<EdgeChainOutputs> {
 public:
  explicit EdgeChainDual(const LinearChain& chain);

 private:
  void prefetch(const std::int64_t* order, std::int64_t visit, std::int64_t count, const double* w,
                bool cached) const override;
  std::size_t remember(std::int64_t i, const std::int32_t* labels) override;
  std::int64_t label_count(std::int64_t /*i*/) const override { return chain_.shape().labels; }
  std::size_t ask_oracle(std::int64_t i, const double* w) override;
  void rescore(std::int64_t i, const double* w) override;
  void frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) override;
  void pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) override;

  void score_outputs(std::int64_t i);
  void add_difference(std::int64_t i, std::size_t a, std::size_t b, double weight);
  void add_output(std::int64_t i, const std::uint16_t* y, const std::uint16_t* other, double weight);

  const LinearChain& chain_;

  // Scratch of the visit under way.
  ChainWorkspace work_;
  SparseDirection direction_;
};

}  // namespace casimir
