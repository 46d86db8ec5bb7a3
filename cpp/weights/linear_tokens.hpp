// What linear chains and trees share: labels of tokens whose unary scores are linear in sparse features.
//
// Rows of w, each `stride` doubles: n_features unary rows, then the rows of the structure, `labels` of them for pairs.
// Where cells of these rows share weights, w holds those instead.
// Marginals of an example: a row per token, then `labels` rows of pairs, of all of its pairs together or of each.
#pragma once

#include <cstdint>
#include <vector>

#include "chain/chain_ops.hpp"
#include "solve/problem.hpp"
#include "weights/fixed_rows.hpp"
#include "weights/shared_weights.hpp"

namespace casimir {

struct LinearTokensData {
  const std::int64_t* offsets;  // [n + 1] example -> tokens
  std::int64_t n;
  TokenFeatures features;
  std::int64_t n_features;
  int labels;
  const std::int32_t* y;  // [tokens] true labels, or null
  const double* truth;    // without y: the marginals of the truth, where it is not one output; or null: no truth
  // Scores that do not depend on w: costs, offsets, and -inf for what is not allowed; or null.
  const double* fixed_nodes;  // [tokens][labels]
  const double* fixed_pairs;  // [labels][labels], of every pair
  bool pairs_apart = false;   // whether marginals have rows for each pair of neighbours, and not for all together
  std::pmr::memory_resource* memory = nullptr;  // see Problem; null: the heap
};

class LinearTokens : public Problem {
 public:
  std::int64_t n_examples() const final { return data_.n; }
  std::int64_t n_params() const final { return shared_ ? shared_.count : weight_rows() * shape_.stride; }
  std::int64_t rows() const final { return shared_ ? shared_.count : weight_rows(); }
  std::int64_t marginal_offset(std::int64_t i) const final {
    const std::int64_t blocks = data_.pairs_apart ? data_.offsets[i] - i : i;
    return (data_.offsets[i] + blocks * shape_.labels) * shape_.stride;
  }
  std::int64_t output_offset(std::int64_t i) const final { return data_.offsets[i]; }
  void prefetch(std::int64_t i, const WeightView& w) const final { prefetch_tokens(i, 0, length(i), w); }
  void prefetch_features(std::int64_t i) const final { prefetch_features(i, 0, length(i)); }
  void prefetch_places(std::int64_t i) const final;
  void scatter_list(const MarginalList& list, const ScatterTarget& target) const override;
  void touched(std::int64_t i, std::vector<RowRange>& ranges) const override;
  double expected_cost(std::int64_t i, const double* marginals) const final {
    return has_fixed() ? expected_fixed(i, marginals) - fixed_of_truth(i) : 0.0;
  }
  void add_truth_scores(std::int64_t i, double margin, double* scores) const final;

  /// Asks the memory for the weights of tokens [first, first + count) of example i.
  void prefetch_tokens(std::int64_t i, std::int64_t first, std::int64_t count, const WeightView& w) const;
  /// Asks for the features of these tokens, which prefetch_tokens reads.
  void prefetch_features(std::int64_t i, std::int64_t first, std::int64_t count) const;

  const LinearTokensData& data() const { return data_; }
  bool is_shared() const { return static_cast<bool>(shared_); }
  /// Where w holds the weight of a label in a row.
  std::int64_t place(std::int64_t row, std::int64_t label) const {
    return shared_ ? shared_.at[row * shape_.labels + label] : row * shape_.stride + label;
  }
  RowShape shape() const { return shape_; }
  const ChainOps& ops() const { return ops_; }
  std::int64_t length(std::int64_t i) const { return data_.offsets[i + 1] - data_.offsets[i]; }
  /// Rows of pairs in the marginals of example i.
  std::int64_t pair_rows(std::int64_t i) const { return (data_.pairs_apart ? length(i) - 1 : 1) * shape_.labels; }
  /// The true labels; there are some unless the truth is given by its marginals, or not at all.
  const std::int32_t* truth(std::int64_t i) const { return data_.y + data_.offsets[i]; }

 protected:
  explicit LinearTokens(const LinearTokensData& data, const SharedWeights& shared = {});

  /// Rows of features and of the structure, whether or not their cells share weights.
  virtual std::int64_t weight_rows() const = 0;
  /// Scores of tokens [first, first + count), counted over all examples, from their features alone.
  void score_features(std::int64_t first, std::int64_t count, const WeightView& w, double* u) const;
  void scatter_features(std::int64_t first, std::int64_t count, const double* x, const ScatterTarget& target) const;

  std::size_t cell(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(row * shape_.stride + column);
  }
  /// Adds the marginals x to a row of the target that is not one of features.
  void add_row(std::int64_t row, const double* x, const ScatterTarget& target) const;
  /// Adds x to the list unless it is zero; units are tokens, or -1 - row.
  void collect_unit(std::int64_t unit, const double* x, MarginalList& list) const;
  /// Scatters and collects the rows of tokens and of pairs; those of pairs apart are not collected.
  void scatter_pairwise(std::int64_t i, const double* marginals, const ScatterTarget& target) const;
  void collect_pairwise(std::int64_t i, const double* marginals, MarginalList& list) const;

  /// The fixed score of label l at token t of example i, and of a pair.
  double fixed_node(std::int64_t i, std::int64_t t, std::int64_t l) const {
    return fixed_nodes_.empty() ? 0.0 : fixed_nodes_.row(data_.offsets[i] + t)[l];
  }
  double fixed_pair(std::int64_t a, std::int64_t b) const {
    return data_.fixed_pairs ? data_.fixed_pairs[a * shape_.labels + b] : 0.0;
  }
  bool has_fixed() const { return !fixed_nodes_.empty() || data_.fixed_pairs; }
  double fixed_of_truth(std::int64_t i) const {
    return fixed_of_truth_.empty() ? 0.0 : fixed_of_truth_[static_cast<std::size_t>(i)];
  }
  /// For constructors: of(i) is the fixed score of the true output of example i.
  template <class Of>
  void keep_fixed_of_truth(Of&& of) {
    if (has_fixed()) fixed_of_truth_.reserve(static_cast<std::size_t>(data_.n));
    for (std::int64_t i = 0; has_fixed() && i < data_.n; ++i)
      fixed_of_truth_.push_back(data_.y ? of(i) : data_.truth ? expected_fixed(i, truth_marginals(i)) : 0.0);
  }
  const double* truth_marginals(std::int64_t i) const { return data_.truth + marginal_offset(i); }
  /// Subtracts the truth that is given by its marginals, if any.
  void subtract_marginals(std::int64_t i, double* marginals) const;
  /// sum u score of rows of marginals and of scores; what has no weight does not count.
  static double expected_score(const double* marginals, const double* scores, std::int64_t count);
  /// The fixed scores under marginals; what has no weight does not count.
  double expected_fixed(std::int64_t i, const double* marginals) const;

  LinearTokensData data_;
  SharedWeights shared_;
  RowShape shape_;
  const ChainOps& ops_;
  FixedRows fixed_nodes_;

 private:
  std::pmr::vector<double> fixed_of_truth_;  // [n], or empty: all 0
};

}  // namespace casimir
