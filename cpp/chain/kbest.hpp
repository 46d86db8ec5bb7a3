// Lazy K-best outputs of a chain: one max-product pass, then each further output is a single deviation from an earlier
// one.
//
// Let beta_t(y) be the best completion from position t with label y. A path loses
//     loss_t(l) = max_l' { T(y_{t-1}, l') + beta_t(l') } - (T(y_{t-1}, l) + beta_t(l)) >= 0
// when it takes label l at position t and completes greedily after it. Every output is one chain of such deviations at
// increasing positions, so a best-first search over "last deviation" yields each output once, in order of its score.
// Greedy completions take the lowest best labels: an output comes before its deviations in the order of labels too.
//
// A completion mostly meets the output it left after a few labels, and from there on both are the same, losses
// included: what was near enough to be a candidate behind that output is all that can be one behind the new one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/interval_heap.hpp"
#include "chain/chain_ops.hpp"

namespace casimir {

/// Outputs of one chain sorted by (score descending, labels lexicographic).
class KBest {
 public:
  /// Reads the tables of backward_max. Pulls at most k outputs; with a finite mu only those whose loss is below mu, and
  /// stops once the top-K strategy is exact (prop:smoothing:proj-simplex-2): mu <= sum_{i<=K} (z_i - z_{K+1}).
  /// Forbidden outputs, of score -inf, lose infinitely much and are not pulled; only where all are forbidden is there
  /// one, of value -inf. Only the first `labelled` outputs have labels: of one that is there to tell whether the others
  /// are enough, the value says so.
  void run(const ChainOps& ops, RowShape shape, std::int64_t p, Transitions edges, const double* beta,
           const double* best, std::int64_t k, double mu, std::int64_t labelled);

  std::int64_t count() const { return static_cast<std::int64_t>(values_.size()); }
  const double* values() const { return values_.data(); }
  const std::int32_t* labels(std::int64_t k) const { return labels_.data() + k * p_; }
  /// Is the simplex projection of the outputs' scores over the mu of `run` the projection over all outputs?
  bool exact() const { return exact_; }

 private:
  struct Candidate {
    double loss;
    std::int32_t parent, position, label;
  };
  /// Smaller loss first; ties by the labels themselves.
  struct Before {
    const KBest* kbest;
    bool operator()(const Candidate& a, const Candidate& b) const {
      if (a.loss == b.loss) [[unlikely]]
        return kbest->tie_before(a, b);
      return a.loss < b.loss;
    }
  };

  /// A step off an output's path: what it loses, less what the output itself loses.
  struct Step {
    double loss;
    std::int32_t position, label;
  };
  struct Expansion;

  void pull_first(double limit, std::int64_t room);
  void write_gains();
  double first_bound(std::int64_t room);
  void pull(const Candidate& candidate, double limit, std::int64_t room);
  double offer(std::int64_t parent, const Step& step, double base, double limit, std::size_t room);
  double bound(double limit, std::size_t room) const;
  bool tie_before(const Candidate& a, const Candidate& b) const;

  const ChainOps* ops_ = nullptr;
  RowShape shape_{};
  std::int64_t p_ = 0;
  Transitions edges_{};
  const double* beta_ = nullptr;
  const double* best_ = nullptr;
  bool exact_ = false;  // the rest has no weight, or there is none with a loss below the limit
  std::vector<double> values_;
  std::vector<std::int32_t> labels_;
  std::vector<double> gains_;    // [p][stride], of the first output
  std::vector<double> columns_;  // [stride]: scratch
  /// Per output, the steps that were near enough when it was pulled, from left to right; those of output j are
  /// near_[near_from_[j] : near_from_[j + 1]].
  std::vector<Step> near_;
  std::vector<std::size_t> near_from_;
  std::int64_t noted_ = 0;              // the outputs whose steps were kept; memory is bounded
  IntervalHeap<Candidate> candidates_;  // no more than can still be pulled
};

}  // namespace casimir
