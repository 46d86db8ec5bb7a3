#include "tree/tree_batch.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "tree/tree_kbest.hpp"
#include "tree/tree_max.hpp"
#include "tree/tree_sum.hpp"
#include "tree/tree_ties.hpp"

namespace casimir {

void tree_max(const TreeBatch& batch, int threads, double* values, std::int64_t* labels) {
  parallel_chunks(batch.size, threads, [&](std::int64_t begin, std::int64_t end, int) {
    TreeMax best;
    TiedOutputs ties;
    std::vector<std::int32_t> found;
    for (std::int64_t i = begin; i < end; ++i) {
      const TreeView tree = batch.tree(i);
      std::int64_t* out = labels + batch.offsets[i];
      best.run(tree);
      values[i] = best.top();
      found.resize(static_cast<std::size_t>(tree.p));
      if (best.decode(found.data())) {
        for (std::int64_t t = 0; t < tree.p; ++t) out[tree.node[t]] = found[static_cast<std::size_t>(t)];
        continue;
      }
      ties.start(best);
      ties.list([&](const std::vector<std::int64_t>& first) {
        std::copy(first.begin(), first.end(), out);
        return false;
      });
    }
  });
}

TopKBatch tree_topk(const TreeBatch& batch, std::int64_t k, double mu, int threads) {
  return joined_chunks<TopKBatch>(batch.size, threads, [&](std::int64_t begin, std::int64_t end, TopKBatch& out) {
    TreeMax best;
    TreeKBest kbest;
    for (std::int64_t i = begin; i < end; ++i) {
      const TreeView tree = batch.tree(i);
      best.run(tree);
      kbest.run(best, k, mu);
      out.add(kbest.count(), kbest.values(), kbest.labels(), tree.p);
    }
  });
}

void tree_expect(const TreeBatch& batch, double mu, int threads, double* values, double* nodes, double* edges) {
  parallel_chunks(batch.size, threads, [&](std::int64_t begin, std::int64_t end, int) {
    TreeSum sum;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = batch.offsets[i] * batch.labels;
      values[i] = sum.run(batch.tree(i), mu, nodes + first, edges + first * batch.labels);
    }
  });
}

void tree_max_marginals(const TreeBatch& batch, int threads, double* out) {
  parallel_chunks(batch.size, threads, [&](std::int64_t begin, std::int64_t end, int) {
    TreeMax best;
    for (std::int64_t i = begin; i < end; ++i) {
      best.run(batch.tree(i));
      best.marginals(out + batch.offsets[i] * batch.labels);
    }
  });
}

}  // namespace casimir
