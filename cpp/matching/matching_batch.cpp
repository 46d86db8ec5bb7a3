#include "matching/matching_batch.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "matching/matching_kbest.hpp"
#include "matching/matching_marginals.hpp"
#include "matching/tight_graph.hpp"

namespace casimir {

std::vector<std::int64_t> MatchingBatch::row_offsets() const {
  std::vector<std::int64_t> starts(static_cast<std::size_t>(size) + 1, 0);
  for (std::int64_t i = 0; i < size; ++i)
    starts[static_cast<std::size_t>(i) + 1] = starts[static_cast<std::size_t>(i)] + shapes[2 * i];
  return starts;
}

void matching_max(const MatchingBatch& batch, int threads, double* values, std::int64_t* columns) {
  const std::vector<std::int64_t> starts = batch.row_offsets();
  parallel_chunks(batch.size, threads, [&](std::int64_t begin, std::int64_t end, int) {
    AssignmentSolver solver;
    TightGraph tight;
    Assignment best;
    for (std::int64_t i = begin; i < end; ++i) {
      const WeightTable table = batch.table(i);
      const double rounding = rounding_of(table);
      solver.solve(table, best);
      tight.first_matching(table, best, 0, {}, rounding);
      values[i] = weight_of(table, best.match.data());
      std::copy(best.match.begin(), best.match.end(), columns + starts[static_cast<std::size_t>(i)]);
    }
  });
}

TopKBatch matching_topk(const MatchingBatch& batch, std::int64_t k, double mu, int threads) {
  return joined_chunks<TopKBatch>(batch.size, threads, [&](std::int64_t begin, std::int64_t end, TopKBatch& out) {
    MatchingKBest kbest;
    for (std::int64_t i = begin; i < end; ++i) {
      const WeightTable table = batch.table(i);
      kbest.run(table, k, mu);
      out.counts.push_back(kbest.count());
      out.values.insert(out.values.end(), kbest.values(), kbest.values() + kbest.count());
      for (std::int64_t j = 0; j < kbest.count(); ++j)
        out.labels.insert(out.labels.end(), kbest.output(j), kbest.output(j) + table.rows);
    }
  });
}

void matching_max_marginals(const MatchingBatch& batch, int threads, double* out) {
  parallel_chunks(batch.size, threads, [&](std::int64_t begin, std::int64_t end, int) {
    AssignmentSolver solver;
    TightGraph tight;
    MatchingMarginals marginals;
    Assignment best;
    for (std::int64_t i = begin; i < end; ++i) {
      const WeightTable table = batch.table(i);
      const double rounding = rounding_of(table);
      solver.solve(table, best);
      tight.first_matching(table, best, 0, {}, rounding);  // so that the value is that of the max oracle, bit for bit
      marginals.run(table, best, weight_of(table, best.match.data()), out + batch.offsets[i]);
    }
  });
}

}  // namespace casimir
