// Chains under an automaton that reads their labels. A wide label is a pair (label, state after reading it); since the
// automaton is deterministic, every valid sequence of labels is one sequence of wide labels, and has its score.
#pragma once

#include <cstdint>
#include <vector>

#include "chain/chain_ops.hpp"

namespace casimir {

/// What an automaton makes of labels. Wide labels come in the order of their labels, so that ties are as without it.
struct UnfoldingData {
  std::vector<std::int32_t> label;  // of every wide label
  std::vector<double> pairs;  // [wide][wide]: 0 where a step of the automaton leads from one to the other, else -inf
  std::vector<double> first, last;  // 0 where an output may begin, may end, else -inf
};

/// The scores of one chain over wide labels, and marginals over them.
struct WideChain {
  std::vector<double> u, to, from, marginals;
  std::vector<std::int32_t> path;
};

class Unfolding {
 public:
  Unfolding(UnfoldingData data, RowShape narrow);

  explicit operator bool() const { return !data_.label.empty(); }
  RowShape shape() const { return wide_; }
  const ChainOps& ops() const { return *ops_; }

  /// Scores of p tokens and of pairs [from][to] of labels -> those of wide labels; forbidden steps score -inf.
  void unfold(std::int64_t p, const double* u, const double* to, WideChain& wide) const;
  /// Wide labels -> labels.
  void fold(std::int64_t p, const std::int32_t* wide, std::int32_t* labels) const;
  /// Adds the marginals of tokens and of pairs of wide labels to those of labels.
  void fold_marginals(std::int64_t p, const double* wide, double* nodes, double* pairs) const;

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(data_.label.size()); }

  UnfoldingData data_;
  RowShape narrow_{}, wide_{};
  const ChainOps* ops_ = nullptr;
};

}  // namespace casimir
