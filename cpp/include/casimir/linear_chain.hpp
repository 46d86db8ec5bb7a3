// Chains whose unary scores are linear in sparse token features, with shared transitions, start and stop scores.
//
// Rows of w, each `stride` doubles: n_features unary rows, `labels` transition rows [from][to], start, stop.
#pragma once

#include <cstdint>
#include <vector>

#include "casimir/kbest.hpp"
#include "casimir/problem.hpp"

namespace casimir {

struct LinearChainData {
  const std::int64_t* offsets;  // [size + 1] sequence -> tokens
  std::int64_t size;
  TokenFeatures features;
  std::int64_t n_features;
  int labels;
  const std::int32_t* y;  // [tokens] true labels, or null
  const double* cost;     // [labels][labels] cost of predicting column for row, or null
};

struct ChainWorkspace final : Workspace {
  std::vector<double> u, beta, best, to, from, work, nodes;
  std::vector<std::int32_t> path;
  KBest kbest;
};

class LinearChain final : public Problem {
 public:
  explicit LinearChain(const LinearChainData& data);

  std::int64_t size() const override { return data_.size; }
  std::int64_t dim() const override { return rows() * shape_.stride; }
  std::int64_t rows() const override { return data_.n_features + shape_.labels + 2; }
  std::int64_t part_offset(std::int64_t i) const override {
    return (data_.offsets[i] + i * shape_.labels) * shape_.stride;
  }
  std::unique_ptr<Workspace> workspace() const override { return std::make_unique<ChainWorkspace>(); }
  void load_weights(const WeightView& w, Workspace& work) const override;
  Answer oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& work,
                double* parts) const override;
  void prefetch(std::int64_t i, const WeightView& w) const override { prefetch_tokens(i, 0, length(i), w); }
  void subtract_truth(std::int64_t i, double* parts) const override;
  void scatter(std::int64_t i, const double* parts, const ScatterTarget& target) const override;
  void collect(std::int64_t i, const double* parts, PartList& list) const override;
  void scatter_list(const PartList& list, const ScatterTarget& target) const override;

  /// Best labels without cost: labels[tokens], values[size].
  void decode(const double* w, int threads, std::int64_t* labels, double* values) const;

  /// Scores of tokens [first, first + count) of example i into work.u at the same positions, start and stop included;
  /// with_cost adds the cost of each label.
  void score_tokens(std::int64_t i, std::int64_t first, std::int64_t count, const WeightView& w, bool with_cost,
                    double* u) const;
  void prefetch_tokens(std::int64_t i, std::int64_t first, std::int64_t count, const WeightView& w) const;
  /// Runs max-product on work.u; the best labels are in work.path. Returns the best score.
  double best_path(std::int64_t p, ChainWorkspace& work) const;
  double path_score(std::int64_t p, const std::int32_t* labels, const ChainWorkspace& work) const;

  const LinearChainData& data() const { return data_; }
  RowShape shape() const { return shape_; }
  const ChainOps& ops() const { return ops_; }
  std::int64_t length(std::int64_t i) const { return data_.offsets[i + 1] - data_.offsets[i]; }
  const std::int32_t* truth(std::int64_t i) const { return data_.y + data_.offsets[i]; }
  double cost_of(std::int32_t truth, std::int32_t label) const {
    return cost_.empty() ? 0.0 : cost_[cell(truth, label)];
  }
  Transitions transitions(const ChainWorkspace& work) const { return {work.to.data(), work.from.data(), 0}; }

 private:
  std::size_t cell(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(row * shape_.stride + column);
  }
  void add_row(std::int64_t row, const double* x, const ScatterTarget& target) const;
  void add_output(std::int64_t p, const std::int32_t* labels, double weight, double* parts) const;

  LinearChainData data_;
  RowShape shape_;
  const ChainOps& ops_;
  std::vector<double> cost_;  // padded rows
};

}  // namespace casimir
