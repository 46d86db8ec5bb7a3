// The oracles of a batch of labelled trees given by plain score arrays (structures/tree.py).
#pragma once

#include <cstdint>

#include "base/topk_batch.hpp"
#include "tree/tree_order.hpp"
#include "tree/tree_view.hpp"

namespace casimir {

/// nodes: [N][labels]; example i owns rows offsets[i]:offsets[i + 1]; edges: one [labels][labels] matrix
/// (label of a node, label of its parent), or one per node, of which those of roots are not read.
struct TreeBatch {
  const double* nodes;
  const std::int64_t* offsets;
  std::int64_t size;
  const double* edges;
  bool shared_edges;
  int labels;
  TreeOrderView order;  // of all examples, one after another

  std::int64_t total() const { return offsets[size] - offsets[0]; }

  TreeView tree(std::int64_t i) const {
    const std::int64_t first = offsets[i], block = static_cast<std::int64_t>(labels) * labels;
    return {labels,
            offsets[i + 1] - first,
            order.node + first,
            order.parent + first,
            order.subtree + first,
            nodes + first * labels,
            shared_edges ? edges : edges + first * block,
            shared_edges ? 0 : block};
  }
};

void tree_max(const TreeBatch&, int threads, double* values, std::int64_t* labels);
/// At most k outputs; with a finite mu only those that l2 smoothing may give a weight.
TopKBatch tree_topk(const TreeBatch&, std::int64_t k, double mu, int threads);
/// nodes: [N][labels], edges: [N][labels][labels], zero at roots.
void tree_expect(const TreeBatch&, double mu, int threads, double* values, double* nodes, double* edges);
void tree_max_marginals(const TreeBatch&, int threads, double* out);

}  // namespace casimir
