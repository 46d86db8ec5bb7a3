// DualBlocks of linear chains. Outputs are label sequences; the token Gram matrix of each chain gives block norms and
// the change of its own scores without touching w.
#pragma once

#include <cstdint>
#include <vector>

#include "chain/linear_chain.hpp"
#include "solve/label_outputs.hpp"
#include "weights/token_gram.hpp"

namespace casimir {

class ChainDual final : public DualPasses<LabelOutputs> {
 public:
  explicit ChainDual(const LinearChain& chain);

 private:
  struct EdgeChange {
    std::int32_t from, to;
    double amount;
  };

  void prefetch(const std::int64_t* order, std::int64_t visit, std::int64_t count, const double* w,
                bool cached) const override;
  std::size_t ask_oracle(std::int64_t i, const double* w) override;
  void rescore(std::int64_t i, const double* w) override;
  void frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) override;
  void pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) override;

  std::size_t remember(std::int64_t i, const std::int32_t* labels);
  void score_outputs(std::int64_t i);
  bool pairwise_step(std::int64_t i, double scale, bool last);
  double direction_norm(std::int64_t i, const std::vector<std::int32_t>& tokens);
  void add_direction(std::int64_t i, const std::uint16_t* labels, double weight);
  void collect_edge_changes();
  void apply(std::int64_t i, const VisitPoint& point);

  const LinearChain& chain_;
  TokenGram gram_;

  // Scratch of the visit under way.
  ChainWorkspace work_;
  std::vector<double> gathered_;    // as long as w: the direction of a long chain in feature space, zero between uses
  std::vector<double> direction_;   // [p] rows: change of the node marginals not yet applied to w
  std::vector<double> edge_count_;  // [labels] rows
  std::vector<double> edge_total_;  // [labels] rows: change of the edge marginals not yet applied to w
  std::vector<EdgeChange> edge_changes_;
  std::vector<std::int32_t> differing_;
  bool moved_ = false;
};

}  // namespace casimir
