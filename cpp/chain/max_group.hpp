// The max-product of several chains that share their transitions, step by step together. Sums of two scores and maxima
// do not depend on their order, so the bits are those of one chain at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/products.hpp"
#include "chain/allowed_pairs.hpp"
#include "chain/chain_ops.hpp"
#include "chain/kbest.hpp"

namespace casimir {

/// Transitions that all chains share, ready for steps of groups.
class GroupTransitions {
 public:
  /// rows: those of the transitions [from][to], shape.stride apart. allowed: the scores of the allowed pairs, where
  /// these are few. All is kept by the caller.
  void load(RowShape shape, const double* rows, const AllowedScores* allowed);

  /// Of the rows of a group, whose padding is -inf.
  RowShape shape() const { return wide_; }
  /// Messages [rows] one step to the left; rows begin `stride` doubles after one another.
  void step_left(std::int64_t rows, const double* messages, double* out, std::int64_t stride) const;
  Transitions transitions() const { return {rows_, nullptr, 0, allowed_}; }

 private:
  RowShape wide_{};
  const double* rows_ = nullptr;
  const AllowedScores* allowed_ = nullptr;
  std::vector<double> to_;  // rows as wide as those of a group
  Panels from_;
};

/// The tables of max-product of a group. Its chains end together: chain c of length p owns rows [longest - p, longest)
/// of its block of `longest` rows.
class MaxGroup {
 public:
  /// lengths: in descending order. The scores of all chains are to be written to u then.
  void begin(RowShape shape, std::span<const std::int64_t> lengths);
  double* u(std::size_t chain) { return u_.data() + first(chain); }

  void run(const GroupTransitions& transitions);

  /// Writes the best labels of a chain, and returns their score.
  double best_path(std::size_t chain, const GroupTransitions& transitions, std::int32_t* labels) const;
  /// The best k, or fewer (KBest::run).
  void best_paths(std::size_t chain, const GroupTransitions& transitions, std::int64_t k, double mu, KBest&) const;

 private:
  std::int64_t first(std::size_t chain) const {
    return static_cast<std::int64_t>(chain) * block_ + (lengths_[0] - lengths_[chain]) * shape_.stride;
  }

  RowShape shape_{};
  std::span<const std::int64_t> lengths_;
  std::int64_t block_ = 0;  // from a row of one chain to that of the next
  std::vector<double> u_, beta_, best_;
};

}  // namespace casimir
