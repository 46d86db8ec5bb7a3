// Inner products of the tokens of each chain, for block norms and the change of a chain's own scores.
#pragma once

#include <cstdint>
#include <vector>

#include "chain/linear_chain.hpp"

namespace casimir {

class TokenGram {
 public:
  explicit TokenGram(const LinearChain& chain);

  /// Chains that are too long have no table.
  bool has(std::int64_t i) const { return offset_[static_cast<std::size_t>(i)] >= 0; }

  /// <x_s, x_t> of tokens of a chain with a table.
  double operator()(std::int64_t i, std::int64_t s, std::int64_t t) const {
    const auto cell = static_cast<std::size_t>(offset_[static_cast<std::size_t>(i)] + s * chain_.length(i) + t);
    return table_.empty() ? counts_[cell] : table_[cell];
  }

  /// Start and stop scores count as features of the first and last token.
  double end_scores(std::int64_t i, std::int64_t t) const {
    return (t == 0 ? 1.0 : 0.0) + (t + 1 == chain_.length(i) ? 1.0 : 0.0);
  }

  void prefetch(std::int64_t i, std::int64_t t) const {
    if (has(i) && table_.empty())
      __builtin_prefetch(counts_.data() + offset_[static_cast<std::size_t>(i)] + t * chain_.length(i));
  }

 private:
  void fill(std::int64_t i);

  const LinearChain& chain_;
  std::vector<std::uint16_t> counts_;  // [p][p] of short chains: shared features, when all values are 1
  std::vector<double> table_;          // the same for real-valued features
  std::vector<std::int64_t> offset_;   // -1: the chain is too long for one
};

}  // namespace casimir
