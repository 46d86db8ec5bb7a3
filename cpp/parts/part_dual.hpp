// DualBlocks of part features. A cached output keeps a = A_i^T (y - y_i) on the weights that any of its example's
// outputs uses, so that score(y) = cost + <w, a>: only oracles read features.
#pragma once

#include <cstdint>
#include <vector>

#include "parts/linear_parts.hpp"
#include "solve/label_outputs.hpp"

namespace casimir {

struct PartOutputs : CachedOutputs {
  using CachedOutputs::CachedOutputs;

  std::vector<std::uint16_t> labels;  // [count][p]
  std::vector<std::int64_t> columns;  // weights, ascending
  std::vector<double> rows;           // [count][columns]: a of every output

  const std::vector<std::uint16_t>& outputs() const { return labels; }
  std::size_t width() const { return columns.size(); }
  const double* row(std::size_t k) const { return rows.data() + k * width(); }
};

class PartDual final : public DualPasses<PartOutputs> {
 public:
  explicit PartDual(const LinearParts& parts);

  void ask_together(std::int64_t at_once, int threads) override;

 private:
  /// What a thread works with that asks oracles.
  struct Worker {
    explicit Worker(const LinearParts& parts) : gradient(parts), work(parts.workspace()) {}

    PartGradient gradient;
    std::unique_ptr<Workspace> work;
    std::vector<std::int64_t> used;  // the cells of an output
    std::vector<double> difference;  // of an output and the truth, in the layout of marginals
  };

  std::size_t remember(std::int64_t i, const std::int32_t* labels) override;
  std::int64_t label_count(std::int64_t i) const override { return parts_.structure().labels(i); }
  std::size_t ask_oracle(std::int64_t i, const double* w) override;
  void ask_oracles(std::span<const std::int64_t> examples, const double* w) override;
  void rescore(std::int64_t i, const double* w) override;
  void frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) override;
  void pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) override;

  std::size_t remember(std::int64_t i, const std::int32_t* labels, Worker& worker);
  std::size_t best_at(std::int64_t i, const double* w, Worker& worker);
  static void widen(PartOutputs& own, const std::vector<std::int64_t>& columns);
  void score_outputs(std::int64_t i, const double* w);
  void apply(std::int64_t i, double step, const VisitPoint& point);

  const LinearParts& parts_;
  std::vector<Worker> workers_;  // [threads]

  // Scratch of the visit under way.
  std::vector<double> weights_;    // w on the block's columns
  std::vector<double> direction_;  // of a step, on the same
};

}  // namespace casimir
