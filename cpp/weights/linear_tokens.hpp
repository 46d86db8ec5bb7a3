// What linear chains and trees share: labels of tokens whose unary scores are linear in sparse features.
//
// Rows of w, each `stride` doubles: n_features unary rows, then the rows of the structure, `labels` of them for pairs.
// Parts of an example: a row per token, then `labels` rows of pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "solve/problem.hpp"

namespace casimir {

struct LinearTokensData {
  const std::int64_t* offsets;  // [size + 1] example -> tokens
  std::int64_t size;
  TokenFeatures features;
  std::int64_t n_features;
  int labels;
  const std::int32_t* y;  // [tokens] true labels, or null
  const double* cost;     // [labels][labels] cost of predicting column for row, or null
};

class LinearTokens : public Problem {
 public:
  std::int64_t size() const final { return data_.size; }
  std::int64_t dim() const final { return rows() * shape_.stride; }
  std::int64_t part_offset(std::int64_t i) const final {
    return (data_.offsets[i] + i * shape_.labels) * shape_.stride;
  }
  void prefetch(std::int64_t i, const WeightView& w) const final { prefetch_tokens(i, 0, length(i), w); }
  void scatter_list(const PartList& list, const ScatterTarget& target) const final;

  void prefetch_tokens(std::int64_t i, std::int64_t first, std::int64_t count, const WeightView& w) const;

  const LinearTokensData& data() const { return data_; }
  RowShape shape() const { return shape_; }
  const ChainOps& ops() const { return ops_; }
  std::int64_t length(std::int64_t i) const { return data_.offsets[i + 1] - data_.offsets[i]; }
  const std::int32_t* truth(std::int64_t i) const { return data_.y + data_.offsets[i]; }
  double cost_of(std::int32_t truth, std::int32_t label) const {
    return cost_.empty() ? 0.0 : cost_[cell(truth, label)];
  }

 protected:
  explicit LinearTokens(const LinearTokensData& data);

  std::size_t cell(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(row * shape_.stride + column);
  }
  /// Adds the parts x to a row of the target that is not one of features.
  void add_row(std::int64_t row, const double* x, const ScatterTarget& target) const;
  /// Adds x to the list unless it is zero; units are tokens, or -1 - row.
  void collect_unit(std::int64_t unit, const double* x, PartList& list) const;
  /// Scatters and collects the rows of tokens and of pairs.
  void scatter_pairwise(std::int64_t i, const double* parts, const ScatterTarget& target) const;
  void collect_pairwise(std::int64_t i, const double* parts, PartList& list) const;

  /// <u, cost> of node marginals u, a row per token.
  double expected_cost(std::int64_t i, const double* marginals) const;
  template <class Label>
  double cost_of_output(std::int64_t i, const Label* labels) const {
    double cost = 0.0;
    for (std::int64_t t = 0; t < length(i); ++t) cost += cost_of(truth(i)[t], static_cast<std::int32_t>(labels[t]));
    return cost;
  }

  LinearTokensData data_;
  RowShape shape_;
  const ChainOps& ops_;
  std::vector<double> cost_;  // padded rows
};

}  // namespace casimir
