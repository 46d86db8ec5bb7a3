// The oracles of a batch of chains given by plain score arrays (structures/chain.py).
#pragma once

#include <cstdint>
#include <vector>

#include "base/topk_batch.hpp"
#include "chain/chain_group.hpp"
#include "chain/chain_spans.hpp"

namespace casimir {

/// nodes: [N][labels]; example i owns rows offsets[i]:offsets[i + 1]; edges: one [labels][labels] matrix, or one per
/// edge.
struct ChainBatch {
  const double* nodes;
  const std::int64_t* offsets;
  std::int64_t size;
  const double* edges;
  bool shared_edges;
  int labels;

  std::int64_t length(std::int64_t i) const { return offsets[i + 1] - offsets[i]; }
  std::int64_t total() const { return offsets[size] - offsets[0]; }
  std::vector<std::int64_t> lengths() const {
    std::vector<std::int64_t> found;
    for (std::int64_t i = 0; i < size; ++i) found.push_back(length(i));
    return found;
  }
  /// Whether chains run in groups.
  bool has_groups() const { return shared_edges && labels >= kFewestLabelsOfGroups && size > 1; }
};

void chain_max(const ChainBatch&, int threads, double* values, std::int64_t* labels);
TopKBatch chain_topk(const ChainBatch&, std::int64_t k, double mu, int threads);
/// sums[i] = mu logsumexp(score / mu), the value of `chain_expect` alone.
void chain_log_sum(const ChainBatch&, double mu, int threads, double* sums);
void chain_expect(const ChainBatch&, double mu, int threads, double* values, double* nodes, double* edges);

/// losses[i] = mu logsumexp(score / mu) - score(y), y: [N] labels of all chains, and its gradient by the scores: nodes
/// [N][labels] = marginals minus indicators of y; edges the same, one matrix per edge. They are not shared: SharedPairs
/// is for those that are.
void chain_soft_loss(const ChainBatch&, const std::int64_t* y, double mu, int threads, double* losses, double* nodes,
                     double* edges);

/// The spans of the best labels, with their probabilities under p(y) ~ exp(score(y) / mu), and values[i], mu times the
/// log of the sum of the latter.
SpanBatch chain_best_spans(const ChainBatch&, const SpanRules&, double mu, int threads, double* values);

void chain_max_marginals(const ChainBatch&, int threads, double* out);

}  // namespace casimir
