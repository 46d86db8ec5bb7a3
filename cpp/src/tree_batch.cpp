#include "casimir/tree_batch.hpp"

#include <algorithm>

#include "casimir/parallel.hpp"
#include "casimir/tree_kbest.hpp"
#include "casimir/tree_max.hpp"
#include "casimir/tree_sum.hpp"
#include "casimir/tree_ties.hpp"

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

TreeTopK tree_topk(const TreeBatch& batch, std::int64_t k, double mu, int threads) {
  std::vector<TreeTopK> parts(static_cast<std::size_t>(std::max(threads, 1)));
  parallel_chunks(batch.size, threads, [&](std::int64_t begin, std::int64_t end, int worker) {
    TreeMax best;
    TreeKBest kbest;
    TreeTopK& part = parts[static_cast<std::size_t>(worker)];
    for (std::int64_t i = begin; i < end; ++i) {
      best.run(batch.tree(i));
      kbest.run(best, k, mu);
      part.counts.push_back(kbest.count());
      part.values.insert(part.values.end(), kbest.values(), kbest.values() + kbest.count());
      part.labels.insert(part.labels.end(), kbest.labels(), kbest.labels() + kbest.count() * batch.tree(i).p);
    }
  });
  TreeTopK all;
  for (const TreeTopK& part : parts) {
    all.values.insert(all.values.end(), part.values.begin(), part.values.end());
    all.counts.insert(all.counts.end(), part.counts.begin(), part.counts.end());
    all.labels.insert(all.labels.end(), part.labels.begin(), part.labels.end());
  }
  return all;
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
