// DualBlocks of linear chains. Outputs are label sequences; their inner products, from those of the tokens, give block
// norms and the change of their own scores without touching w.
#pragma once

#include <cstdint>
#include <vector>

#include "chain/linear_chain.hpp"
#include "solve/label_outputs.hpp"
#include "solve/output_products.hpp"
#include "weights/token_gram.hpp"

namespace casimir {

struct ChainOutputs : LabelOutputs {
  explicit ChainOutputs(allocator_type memory = {}) : LabelOutputs(memory), products(memory) {}

  OutputProducts products;  // of the first of them, as far as steps have needed
};

class ChainDual final : public DualPasses<ChainOutputs> {
 public:
  ChainDual(const LinearChain& chain, int threads);

 private:
  void prefetch(const std::int64_t* order, std::int64_t visit, std::int64_t count, const double* w,
                bool cached) const override;
  std::size_t remember(std::int64_t i, const std::int32_t* labels) override;
  std::int64_t label_count(std::int64_t /*i*/) const override { return chain_.shape().labels; }
  std::size_t ask_oracle(std::int64_t i, const double* w) override;
  void rescore(std::int64_t i, const double* w) override;
  void frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) override;
  void pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) override;

  void score_outputs(std::int64_t i, const double* u, const double* to, std::vector<double>& found) const;
  bool complete_products(std::int64_t i);
  void add_products(std::int64_t i, std::size_t k);
  double step_between(std::int64_t i, const PairwiseMove& move, const VisitPoint& point);
  void add_difference(std::int64_t i, std::size_t to, std::size_t from, double amount);
  void scale_direction(std::int64_t i, double factor);
  double direction_norm(std::int64_t i);
  double node_norm(std::int64_t i);
  double gathered_node_norm(std::int64_t i);
  void apply(std::int64_t i, const VisitPoint& point);
  template <class See>
  void for_edges(See&& see);

  const LinearChain& chain_;
  TokenGram gram_;

  // Scratch of the visit under way.
  ChainWorkspace work_;
  std::vector<double> gathered_;         // as long as w: the direction in feature space, zero between uses
  std::vector<double> direction_;        // [p] rows: change of the node marginals not yet applied to w
  std::vector<double> edges_;            // [labels] rows: change of the edge marginals not yet applied to w
  std::vector<std::size_t> edge_cells_;  // where there are many labels: what of edges_ may not be 0
  bool lists_edges_ = false;
  std::vector<double> of_nodes_;       // [p] rows: the scores that one output, less the truth, gives as a direction
  std::vector<double> of_edges_;       // [labels] rows of the same, zero between uses
  std::vector<double> products_;       // of one output with all
  std::vector<std::int32_t> changed_;  // where two outputs differ
  bool moved_ = false;
};

}  // namespace casimir
