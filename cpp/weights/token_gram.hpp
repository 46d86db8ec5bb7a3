// Inner products of the tokens of each example, for block norms and the change of an example's own scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "weights/linear_tokens.hpp"

namespace casimir {

class TokenGram {
 public:
  /// has_ends: the first and the last token have a start and a stop score.
  TokenGram(const LinearTokens& tokens, bool has_ends, int threads = 1);

  /// Examples that are too long have no table, and none has one where cells share weights or pairs have features.
  bool has(std::int64_t i) const { return offset_[static_cast<std::size_t>(i)] >= 0; }

  /// <x_s, x_t> of tokens of an example with a table.
  double operator()(std::int64_t i, std::int64_t s, std::int64_t t) const {
    const std::int64_t place = offset_[static_cast<std::size_t>(i)] + cell(std::max(s, t), std::min(s, t));
    const auto at = static_cast<std::size_t>(place);
    return !small_.empty() ? small_[at] : table_.empty() ? counts_[at] : table_[at];
  }

  /// Start and stop scores count as features of the first and last token.
  double end_scores(std::int64_t i, std::int64_t t) const {
    return has_ends_ ? (t == 0 ? 1.0 : 0.0) + (t + 1 == tokens_.length(i) ? 1.0 : 0.0) : 0.0;
  }

 private:
  struct Scratch {
    std::vector<std::int32_t> last;      // [n_features] the last entry of a feature so far, or -1
    std::vector<std::int32_t> before;    // of each entry of an example: the one before it of the same feature, or -1
    std::vector<std::int32_t> token_of;  // entry
    std::vector<double> table;           // [p][p], of which the lower triangle counts
  };

  /// Of a table's lower triangle, s >= t.
  static std::int64_t cell(std::int64_t s, std::int64_t t) { return s * (s + 1) / 2 + t; }

  template <class Cell>
  bool fill_all(std::pmr::vector<Cell>& cells, int threads) const;
  void fill(std::int64_t i, Scratch& scratch) const;

  const LinearTokens& tokens_;
  bool has_ends_;
  // The lower triangles of [p][p] of short examples, in one of these:
  std::pmr::vector<std::uint8_t> small_;    // shared features, when all values are 1
  std::pmr::vector<std::uint16_t> counts_;  // the same where there are more than 255 of them
  std::pmr::vector<double> table_;          // of real-valued features
  std::pmr::vector<std::int64_t> offset_;   // -1: the example has none
};

}  // namespace casimir
