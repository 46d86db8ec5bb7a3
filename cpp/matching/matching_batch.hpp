// The oracles of a batch of weight tables (structures/matching.py).
#pragma once

#include <cstdint>
#include <vector>

#include "base/topk_batch.hpp"
#include "matching/assignment.hpp"

namespace casimir {

/// Example i is the table weights + offsets[i] of shape shapes[2 i] x shapes[2 i + 1]; with `null` the last column is
/// the weight of staying unmatched.
struct MatchingBatch {
  const double* weights;
  const std::int64_t* offsets;
  const std::int64_t* shapes;
  std::int64_t size;
  bool null;

  WeightTable table(std::int64_t i) const {
    return {weights + offsets[i], static_cast<std::int32_t>(shapes[2 * i]),
            static_cast<std::int32_t>(shapes[2 * i + 1] - (null ? 1 : 0)), null};
  }
  /// Where the output of each example starts when all are written one after another, and where the last one ends.
  std::vector<std::int64_t> row_offsets() const;
};

void matching_max(const MatchingBatch&, int threads, double* values, std::int64_t* columns);
/// The labels are columns.
TopKBatch matching_topk(const MatchingBatch&, std::int64_t k, double mu, int threads);
/// out: as the weights; the largest weight of a matching in which row v takes column z.
void matching_max_marginals(const MatchingBatch&, int threads, double* out);

}  // namespace casimir
