// DualBlocks of linear chains. Outputs are label sequences; the token Gram matrix of each chain gives block norms and
// the change of its own scores without touching w.
#pragma once

#include <cstdint>
#include <vector>

#include "casimir/dual.hpp"
#include "casimir/linear_chain.hpp"

namespace casimir {

class ChainDual final : public DualBlocks {
 public:
  explicit ChainDual(const LinearChain& chain);

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
    std::vector<std::int32_t> tokens;   // where the cached outputs differ, ascending
    double gap = 0.0;
  };
  struct EdgeChange {
    std::int32_t from, to;
    double amount;
  };

  std::size_t remember(std::int64_t i, const std::int32_t* labels);
  void score_outputs(std::int64_t i);
  double block_gap(const Block& block) const;
  void pairwise_steps(std::int64_t i, double sigma, int steps, double* w, DualAverage* average);
  void rescore(std::int64_t i, const double* w);
  double direction_norm(std::int64_t i, const std::vector<std::int32_t>& tokens);
  bool has_table(std::int64_t i) const { return gram_offset_[static_cast<std::size_t>(i)] >= 0; }
  bool pairwise_step(std::int64_t i, double sigma, bool last);
  void frank_wolfe_step(std::int64_t i, std::size_t target, double sigma);
  void add_direction(std::int64_t i, const std::uint16_t* labels, double weight);
  void collect_edge_changes();
  void prefetch(const std::int64_t* order, std::int64_t visit, std::int64_t count, const double* w, bool cached) const;
  void apply(std::int64_t i, double sigma, double* w, DualAverage* average);
  double gram(std::int64_t i, std::int64_t s, std::int64_t t) const;
  double end_scores(std::int64_t i, std::int64_t t) const;
  void fill_table(std::int64_t i);
  bool in_tokens(const Block& block, std::int64_t t) const;
  double mean_gap() const;

  const LinearChain& chain_;
  double inverse_n_;
  std::vector<Block> blocks_;
  std::vector<std::uint16_t> counts_;      // [p][p] of short chains: shared features, when all values are 1
  std::vector<double> gram_;               // the same for real-valued features
  std::vector<std::int64_t> gram_offset_;  // -1: the chain is too long for one
  double ell_ = 0.0;

  // Scratch of the visit under way.
  ChainWorkspace work_;
  std::vector<double> scores_;      // of the cached outputs, up to a common constant
  std::vector<double> gathered_;    // as long as w: the direction of a long chain in feature space, zero between uses
  std::vector<double> direction_;   // [p] rows: change of the node marginals not yet applied to w
  std::vector<double> edge_count_;  // [labels] rows
  std::vector<double> edge_total_;  // [labels] rows: change of the edge marginals not yet applied to w
  std::vector<EdgeChange> edge_changes_;
  std::vector<std::int32_t> differing_;
  std::vector<std::int64_t> chosen_;
  bool moved_ = false;
};

}  // namespace casimir
