// The oracles of a batch of graphs of small treewidth (structures/junction.py).
#pragma once

#include <cstdint>

#include "base/topk_batch.hpp"
#include "junction/junction_plan.hpp"

namespace casimir {

/// nodes: [N][labels]; example i owns rows offsets[i]:offsets[i + 1]; edges: [M][labels][labels] in the order of the
/// graphs, example i owns edge_offsets[i]:edge_offsets[i + 1], or null (all zero).
struct JunctionBatch {
  const JunctionGraphs& graphs;
  const double* nodes;
  const std::int64_t* offsets;
  const double* edges;
  const std::int64_t* edge_offsets;

  std::int64_t length(std::int64_t i) const { return offsets[i + 1] - offsets[i]; }
};

/// Largest separator and number of cells of all tables, of the whole order or (finished is 0) of its beginning.
void junction_prepare(const JunctionGraphs&, const std::int64_t* offsets, int threads, std::int64_t* width,
                      double* cells, std::int64_t* finished);
void junction_max(const JunctionBatch&, int threads, double* values, std::int64_t* labels);
/// At most k outputs per example; with a finite mu fewer, once the top-K strategy is exact
/// (prop:smoothing:proj-simplex-2).
TopKBatch junction_topk(const JunctionBatch&, std::int64_t k, double mu, int threads);
void junction_expect(const JunctionBatch&, double mu, int threads, double* values, double* nodes, double* edges);
void junction_max_marginals(const JunctionBatch&, int threads, double* out);

}  // namespace casimir
