// Problems with the same weights, one after another, as one: example i is number i - first[s] of shard s.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "solve/problem.hpp"

namespace casimir {

class ShardedProblem final : public Problem {
 public:
  /// Called with a shard and the next one, if any, before stochastic steps come to the shard.
  using Enter = std::function<void(std::size_t, std::optional<std::size_t>)>;

  /// Shards of at least one example with equally many weights and rows. They count in the mean of all examples from now
  /// on. They have to stay.
  ShardedProblem(std::vector<Problem*> shards, Enter enter);

  std::int64_t n_examples() const override { return first_.back(); }
  std::int64_t n_params() const override { return shards_[0]->n_params(); }
  std::int64_t rows() const override { return shards_[0]->rows(); }
  std::int64_t marginal_offset(std::int64_t i) const override {
    return offset_of(i, marginals_, &Problem::marginal_offset);
  }
  std::int64_t output_offset(std::int64_t i) const override { return offset_of(i, outputs_, &Problem::output_offset); }

  std::unique_ptr<Workspace> workspace() const override { return shards_[0]->workspace(); }
  void load_weights(const WeightView& w, Workspace& work) const override { shards_[0]->load_weights(w, work); }
  Answer oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& work,
                double* marginals) const override;
  void prefetch(std::int64_t i, const WeightView& w) const override;
  void prefetch_features(std::int64_t i) const override;
  void prefetch_places(std::int64_t i) const override;
  void announce(std::span<const std::int64_t> order) const override;
  void subtract_truth(std::int64_t i, double* marginals) const override;
  void scatter(std::int64_t i, const double* marginals, const ScatterTarget& target) const override;
  void collect(std::int64_t i, const double* marginals, MarginalList& list) const override;
  void scatter_list(const MarginalList& list, const ScatterTarget& target) const override;
  void touched(std::int64_t i, std::vector<RowRange>& ranges) const override;
  void scores(std::int64_t i, const WeightView& w, Workspace& work, double* out) const override;
  double expect(std::int64_t i, const double* scores, double mu, Workspace& work, double* marginals) const override;
  double expected_cost(std::int64_t i, const double* marginals) const override;
  void add_truth_scores(std::int64_t i, double margin, double* scores) const override;
  std::unique_ptr<BlockNorm> block_norm() const override;
  void decode(const double* w, int threads, std::int64_t* outputs, double* values) const override;
  /// Those of the shards, one after another, are what a pass runs on: see ShardedDualBlocks in Python.
  std::unique_ptr<DualBlocks> dual_blocks(int threads) const override;

 private:
  struct Place {
    std::size_t shard;
    std::int64_t i;  // there
  };

  Place place(std::int64_t i) const;
  void enter_next() const;
  /// Whether steps have come to a shard; what they have not come to may still be on disk.
  bool is_entered(std::size_t shard) const { return entered_ > 0 && coming_[entered_ - 1] == shard; }
  std::int64_t offset_of(std::int64_t i, const std::vector<std::int64_t>& first,
                         std::int64_t (Problem::*own)(std::int64_t) const) const;

  std::vector<Problem*> shards_;
  Enter enter_;
  mutable std::vector<std::size_t> coming_;                         // the shards of the steps under way, in their order
  mutable std::size_t entered_ = 0;                                 // how many of them steps have come to
  std::vector<std::int64_t> first_{0}, marginals_{0}, outputs_{0};  // [shards + 1]
};

}  // namespace casimir
