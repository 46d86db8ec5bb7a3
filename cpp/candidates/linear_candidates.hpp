// A finite list of candidates per example with dense features: score(j) = <features[j], w>.
//
// The parts of an example are the marginals of its candidates. Rows of w have one double: coordinates can be split
// freely.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "solve/list_oracles.hpp"
#include "solve/problem.hpp"
#include "weights/dense_rows.hpp"

namespace casimir {

struct LinearCandidatesData {
  const std::int64_t* offsets;  // [n + 1] example -> candidates, none of them empty
  std::int64_t n;
  DenseRows features;     // one row per candidate
  const std::int32_t* y;  // [n] index of the true candidate in its list, or null
  const double* truth;    // without y: weights of the candidates, where the truth is not one of them; or null: no truth
  const double* cost;     // one per candidate: the cost of choosing it (0 at the truth), or null
};

struct CandidatesWorkspace final : Workspace {
  ListWork list;
};

class LinearCandidates final : public Problem {
 public:
  explicit LinearCandidates(const LinearCandidatesData& data) : data_(data) {}

  std::int64_t n_examples() const override { return data_.n; }
  std::int64_t n_params() const override { return data_.features.dim(); }
  std::int64_t rows() const override { return n_params(); }
  std::int64_t marginal_offset(std::int64_t i) const override { return data_.offsets[i]; }
  std::int64_t output_offset(std::int64_t i) const override { return i; }
  std::unique_ptr<Workspace> workspace() const override { return std::make_unique<CandidatesWorkspace>(); }
  void load_weights(const WeightView&, Workspace&) const override {}
  Answer oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& work,
                double* marginals) const override;
  void prefetch(std::int64_t, const WeightView&) const override {}  // dense rows stream well by themselves
  void scores(std::int64_t i, const WeightView& w, Workspace&, double* out) const override {
    score(i, 0, count(i), w, out);
  }
  double expect(std::int64_t i, const double* scores, double mu, Workspace& work, double* marginals) const override;
  double expected_cost(std::int64_t i, const double* marginals) const override;
  void add_truth_scores(std::int64_t i, double margin, double* scores) const override;
  std::unique_ptr<BlockNorm> block_norm() const override;
  void subtract_truth(std::int64_t i, double* marginals) const override;
  void scatter(std::int64_t i, const double* marginals, const ScatterTarget& target) const override;
  void collect(std::int64_t i, const double* marginals, MarginalList& list) const override;
  void scatter_list(const MarginalList& list, const ScatterTarget& target) const override;
  void touched(std::int64_t, std::vector<RowRange>& ranges) const override { ranges.emplace_back(0, rows()); }
  /// Ties go to the lowest candidate.
  void decode(const double* w, int threads, std::int64_t* indices, double* values) const override;
  std::unique_ptr<DualBlocks> dual_blocks(int threads) const override;

  /// Scores of candidates [first, first + count) of example i, their costs included.
  void score(std::int64_t i, std::int64_t first, std::int64_t count, const WeightView& w, double* out) const;

  const LinearCandidatesData& data() const { return data_; }
  std::int64_t count(std::int64_t i) const { return data_.offsets[i + 1] - data_.offsets[i]; }
  std::int64_t truth(std::int64_t i) const { return data_.y[i]; }
  double cost_of(std::int64_t i, std::int64_t j) const { return data_.cost ? data_.cost[data_.offsets[i] + j] : 0.0; }

 private:
  struct Of;

  double truth_score(std::int64_t i, const double* scores) const;
  void add_candidate(std::int64_t row, double weight, const ScatterTarget& target) const;

  LinearCandidatesData data_;
};

}  // namespace casimir
