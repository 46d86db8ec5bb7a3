// The k heaviest matchings by Murty's partitioning.
//
// The outputs other than y are split by the first row v at which they leave it: rows before v as in y, row v not y_v
// (nor what was forbidden to it before). The best of each part is one heaviest cycle away from y. Parts are bounded
// first and searched only when their bound comes up.
#pragma once

#include <cstdint>
#include <queue>
#include <set>
#include <vector>

#include "matching/assignment.hpp"
#include "matching/reroute.hpp"
#include "matching/tight_graph.hpp"

namespace casimir {

/// Outputs of one table sorted by (weight descending, columns lexicographic).
class MatchingKBest {
 public:
  /// At most k outputs; with a finite mu it stops once the top-K strategy is exact (prop:smoothing:proj-simplex-2).
  void run(const WeightTable&, std::int64_t k, double mu);

  std::int64_t count() const { return static_cast<std::int64_t>(values_.size()); }
  const double* values() const { return values_.data(); }
  const std::int32_t* output(std::int64_t j) const { return found_[static_cast<std::size_t>(j)].a.match.data(); }

 private:
  /// An output, and the part of the output set that it is the best of: rows before `row` fixed, `forbidden` at `row`.
  struct Found {
    Assignment a;
    std::int32_t row;
    std::vector<std::int32_t> forbidden;
  };
  /// A part that has not been searched: leave found_[parent] at `row`; no output of it is heavier than `bound`.
  struct Part {
    double bound;
    std::int64_t parent;
    std::int32_t row;
    bool operator<(const Part& other) const { return bound < other.bound; }
  };
  /// The best output of a part.
  struct Candidate {
    double value;
    std::vector<std::int32_t> output;
    std::int64_t parent;
    std::int32_t row;
    bool operator<(const Candidate& other) const {
      return value != other.value ? value > other.value : output < other.output;
    }
  };

  void split(const WeightTable&, std::int64_t parent);
  double most(const WeightTable&, const Found& parent, std::int32_t row, const std::vector<std::uint8_t>& taken) const;
  void search(const WeightTable&, const Part& part, std::int64_t room);
  Found rebuild(const WeightTable&, const Candidate& candidate);
  std::vector<std::int32_t> forbidden_at(const Found& parent, std::int32_t row) const;

  AssignmentSolver solver_;
  Rerouter rerouter_;
  TightGraph tight_;
  double rounding_ = 0.0;
  std::vector<double> values_;
  std::vector<Found> found_;
  std::priority_queue<Part> parts_;
  std::set<Candidate> candidates_;
  Assignment work_;
};

}  // namespace casimir
