// Lazy K-best outputs of a tree: one max-product pass, then each further output is a single deviation from an earlier
// one.
//
// In preorder every parent stands before its children, so the reasoning of kbest.hpp holds with losses given the
// parent's label (tree_max.hpp): an output is a chain of deviations at increasing positions, completed by the best
// labels below each of them, and a best-first search over the last deviation meets each output once, by rising loss. A
// deviation changes labels in its own subtree only; everywhere else the losses are those of the best output.
//
// The search is blind to the order among ties. Ties are sorted afterwards when all of them were pulled; when too many
// tie with the last output, they are listed in order by tree_ties.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "base/interval_heap.hpp"
#include "tree/tree_max.hpp"
#include "tree/tree_ties.hpp"

namespace casimir {

/// Outputs of one tree sorted by (score descending, labels lexicographic by node number).
class TreeKBest {
 public:
  /// Pulls at most k outputs. With a finite mu it stops before output K + 1 when that and all later ones have weight 0
  /// in l2 smoothing (prop:smoothing:proj-simplex-2): mu <= sum_{i<=K} (z_i - z_{K+1}). Forbidden outputs, of score
  /// -inf, are not pulled; only where all are forbidden is there one, of value -inf.
  void run(TreeMax& best, std::int64_t k, double mu);

  std::int64_t count() const { return static_cast<std::int64_t>(values_.size()); }
  const double* values() const { return values_.data(); }
  const std::int64_t* labels() const { return outputs_.data(); }  // [count][p], by node

 private:
  struct Candidate {
    double loss;
    std::int32_t parent, position, label;
  };
  struct SmallerLoss {
    bool operator()(const Candidate& a, const Candidate& b) const { return a.loss < b.loss; }
  };

  bool search(TreeMax& best, std::int64_t k, std::int64_t most, double mu);
  void begin(TreeMax& best);
  void pull(const TreeMax& best, const Candidate& candidate);
  void expand(const TreeMax& best, std::int64_t parent, std::int64_t first, double limit, std::size_t room);
  void scan(const double* row, std::int64_t parent, std::int64_t t, double limit, std::size_t room);
  double bound(double limit, std::size_t room) const;
  void write_sorted(const TreeMax& best, std::int64_t count);
  void list_ties(const TreeMax& best, std::int64_t count);

  std::int64_t p_ = 0;
  int labels_count_ = 0;
  std::vector<double> values_;
  std::vector<std::int64_t> outputs_;
  std::vector<double> losses_;         // of the outputs pulled so far
  std::vector<std::int32_t> pulled_;   // their labels by position
  std::vector<double> rows_, second_;  // loss rows of the best output, and the smallest loss of another label
  std::vector<double> row_;
  IntervalHeap<Candidate> candidates_;  // one more than can still be pulled, at most
  TiedOutputs ties_;
};

}  // namespace casimir
