#include "casimir/matching_batch.hpp"

#include <algorithm>

#include "casimir/matching_kbest.hpp"
#include "casimir/matching_marginals.hpp"
#include "casimir/parallel.hpp"
#include "casimir/tight_graph.hpp"

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

MatchingTopK matching_topk(const MatchingBatch& batch, std::int64_t k, double mu, int threads) {
  std::vector<MatchingTopK> parts(static_cast<std::size_t>(std::max(threads, 1)));
  parallel_chunks(batch.size, threads, [&](std::int64_t begin, std::int64_t end, int worker) {
    MatchingKBest kbest;
    MatchingTopK& part = parts[static_cast<std::size_t>(worker)];
    for (std::int64_t i = begin; i < end; ++i) {
      const WeightTable table = batch.table(i);
      kbest.run(table, k, mu);
      part.counts.push_back(kbest.count());
      part.values.insert(part.values.end(), kbest.values(), kbest.values() + kbest.count());
      for (std::int64_t j = 0; j < kbest.count(); ++j)
        part.columns.insert(part.columns.end(), kbest.output(j), kbest.output(j) + table.rows);
    }
  });
  MatchingTopK all;
  for (const MatchingTopK& part : parts) {
    all.values.insert(all.values.end(), part.values.begin(), part.values.end());
    all.counts.insert(all.counts.end(), part.counts.begin(), part.counts.end());
    all.columns.insert(all.columns.end(), part.columns.begin(), part.columns.end());
  }
  return all;
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
