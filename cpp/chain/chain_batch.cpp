#include "chain/chain_batch.hpp"

#include <algorithm>

#include "base/numbers.hpp"
#include "base/parallel.hpp"
#include "chain/chain_group.hpp"
#include "chain/kbest.hpp"
#include "chain/lane_chains.hpp"
#include "chain/max_group.hpp"
#include "chain/padded_chain.hpp"

namespace casimir {

namespace {

/// Max-product of all chains in groups; see(i, member, group, transitions) is called for chain i on any thread.
template <class See>
void max_in_groups(const ChainBatch& batch, int threads, See&& see) {
  const AllowedPairs pairs(batch.labels, batch.edges, batch.labels);
  AllowedScores allowed;
  if (pairs) allowed.load(pairs, batch.edges, batch.labels);
  GroupTransitions transitions;
  transitions.load({batch.labels, batch.labels}, batch.edges, pairs ? &allowed : nullptr);
  const std::vector<std::vector<std::int64_t>> plan = grouped(batch.lengths(), batch.labels);
  parallel_chunks(static_cast<std::int64_t>(plan.size()), threads, [&](std::int64_t begin, std::int64_t end, int) {
    MaxGroup group;
    std::vector<std::int64_t> lengths;
    const std::int64_t stride = transitions.shape().stride;
    for (std::int64_t g = begin; g < end; ++g) {
      const std::vector<std::int64_t>& chains = plan[at(g)];
      lengths.clear();
      for (const std::int64_t i : chains) lengths.push_back(batch.length(i));
      group.begin(transitions.shape(), lengths);
      for (std::size_t c = 0; c < chains.size(); ++c)
        for (std::int64_t t = 0; t < lengths[c]; ++t) {
          const double* row = batch.nodes + (batch.offsets[chains[c]] + t) * batch.labels;
          double* to = std::copy_n(row, batch.labels, group.u(c) + t * stride);
          std::fill_n(to, stride - batch.labels, -kInf);
        }
      group.run(transitions);
      for (std::size_t c = 0; c < chains.size(); ++c) see(chains[c], c, group, transitions);
    }
  });
}

}  // namespace

void chain_max(const ChainBatch& batch, int threads, double* values, std::int64_t* labels) {
  if (batch.has_groups())
    return max_in_groups(batch, threads, [&](std::int64_t i, std::size_t c, const MaxGroup& group, const auto& edges) {
      std::vector<std::int32_t> path(at(batch.length(i)));
      values[i] = group.best_path(c, edges, path.data());
      std::copy(path.begin(), path.end(), labels + batch.offsets[i]);
    });
  parallel_chunks(batch.size, threads, [&](std::int64_t begin, std::int64_t end, int) {
    PaddedChain chain(batch);
    std::vector<std::int32_t> path;
    for (std::int64_t i = begin; i < end; ++i) {
      chain.load(i);
      values[i] = chain.best_path(path);
      std::copy(path.begin(), path.end(), labels + batch.offsets[i]);
    }
  });
}

TopKBatch chain_topk(const ChainBatch& batch, std::int64_t k, double mu, int threads) {
  if (batch.has_groups()) {
    std::vector<TopKBatch> found(at(batch.size));
    max_in_groups(batch, threads, [&](std::int64_t i, std::size_t c, const MaxGroup& group, const auto& edges) {
      KBest kbest;
      group.best_paths(c, edges, k, mu, kbest);
      found[at(i)].add(kbest.count(), kbest.values(), kbest.labels(0), batch.length(i));
    });
    TopKBatch all;
    for (const TopKBatch& one : found) all.append(one);
    return all;
  }
  return joined_chunks<TopKBatch>(batch.size, threads, [&](std::int64_t begin, std::int64_t end, TopKBatch& out) {
    out.reserve(end - begin, k, batch.offsets[end] - batch.offsets[begin]);
    PaddedChain chain(batch);
    KBest kbest;
    for (std::int64_t i = begin; i < end; ++i) {
      chain.load(i);
      chain.max_tables();
      kbest.run(chain.ops(), chain.shape(), chain.length(), chain.transitions(), chain.beta(), chain.best(), k, mu, k);
      out.add(kbest.count(), kbest.values(), kbest.labels(0), chain.length());
    }
  });
}

void chain_log_sum(const ChainBatch& batch, double mu, int threads, double* sums) {
  parallel_chunks(batch.size, threads, [&](std::int64_t begin, std::int64_t end, int) {
    PaddedChain chain(batch);
    for (std::int64_t i = begin; i < end; ++i) {
      chain.load(i);
      sums[i] = chain.log_sum(mu);
    }
  });
}

namespace {

/// Chains [begin, end) that share lanes, about the same length together. Those that are answered are marked in done.
void expect_in_lanes(const ChainBatch& batch, double mu, std::int64_t begin, std::int64_t end, double* values,
                     double* nodes, double* edges, std::vector<char>& done) {
  std::vector<std::int64_t> taken;
  for (std::int64_t i = begin; i < end; ++i)
    if (batch.shared_edges && LaneChains::takes(batch.length(i), batch.labels)) taken.push_back(i);
  std::sort(taken.begin(), taken.end(), [&](std::int64_t a, std::int64_t b) {
    return batch.length(a) != batch.length(b) ? batch.length(a) > batch.length(b) : a < b;
  });
  if (taken.empty()) return;
  LaneChains lanes(batch.edges, batch.labels, mu);
  const std::int64_t labels = batch.labels;
  LaneChains::Chain chains[LaneChains::kLanes];
  for (std::size_t first = 0; first < taken.size(); first += LaneChains::kLanes) {
    const std::size_t count = std::min<std::size_t>(LaneChains::kLanes, taken.size() - first);
    for (std::size_t c = 0; c < count; ++c) {
      const std::int64_t i = taken[first + c], rows = batch.offsets[i] * labels;
      double* own_edges = edges + (batch.offsets[i] - i) * labels * labels;
      chains[c] = {batch.nodes + rows, batch.length(i), nodes + rows, own_edges, 0.0, false};
    }
    lanes.run({chains, count});
    for (std::size_t c = 0; c < count; ++c) {
      if (chains[c].is_lost) continue;
      values[taken[first + c]] = chains[c].value;
      done[static_cast<std::size_t>(taken[first + c] - begin)] = 1;
    }
  }
}

}  // namespace

void chain_expect(const ChainBatch& batch, double mu, int threads, double* values, double* nodes, double* edges) {
  parallel_chunks(batch.size, threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::vector<char> done(static_cast<std::size_t>(end - begin), 0);
    expect_in_lanes(batch, mu, begin, end, values, nodes, edges, done);
    if (std::find(done.begin(), done.end(), 0) == done.end()) return;
    PaddedChain chain(batch);
    const std::int64_t labels = batch.labels;
    for (std::int64_t i = begin; i < end; ++i) {
      if (done[static_cast<std::size_t>(i - begin)]) continue;
      chain.load(i);
      values[i] = chain.expect(mu);
      const std::int64_t p = chain.length();
      unpad(chain.shape(), chain.node_marginals(), p, nodes + batch.offsets[i] * labels);
      unpad(chain.shape(), chain.edge_marginals(), (p - 1) * labels, edges + (batch.offsets[i] - i) * labels * labels);
    }
  });
}

SpanBatch chain_best_spans(const ChainBatch& batch, const SpanRules& rules, double mu, int threads, double* values) {
  return joined_chunks<SpanBatch>(batch.size, threads, [&](std::int64_t begin, std::int64_t end, SpanBatch& out) {
    PaddedChain chain(batch);
    std::vector<std::int32_t> path;
    std::vector<LabelSpan> spans;
    std::vector<double> work;
    for (std::int64_t i = begin; i < end; ++i) {
      chain.load(i);
      chain.best_path(path);
      values[i] = chain.expect(mu);
      read_spans(rules, path.data(), chain.length(), spans);
      out.counts.push_back(static_cast<std::int64_t>(spans.size()));
      for (const LabelSpan& span : spans) {
        out.spans.insert(out.spans.end(), {span.start, span.end, span.type});
        out.probabilities.push_back(span_probability(rules, span, chain.length(), chain.shape().stride,
                                                     chain.node_marginals(), chain.edge_marginals(), work));
      }
    }
  });
}

void chain_soft_loss(const ChainBatch& batch, const std::int64_t* y, double mu, int threads, double* losses,
                     double* nodes, double* edges) {
  chain_expect(batch, mu, threads, losses, nodes, edges);
  const std::int64_t labels = batch.labels;
  for (std::int64_t i = 0; i < batch.size; ++i) {
    const std::int64_t first = batch.offsets[i], block = (first - i) * labels * labels;
    for (std::int64_t t = 0; t < batch.length(i); ++t) {
      const std::int64_t label = y[first + t];
      nodes[(first + t) * labels + label] -= 1.0;
      losses[i] -= batch.nodes[(first + t) * labels + label];
      if (t == 0) continue;
      const std::int64_t cell = ((t - 1) * labels + y[first + t - 1]) * labels + label;
      losses[i] -= batch.edges[block + cell];
      edges[block + cell] -= 1.0;
    }
  }
}

void chain_max_marginals(const ChainBatch& batch, int threads, double* out) {
  parallel_chunks(batch.size, threads, [&](std::int64_t begin, std::int64_t end, int) {
    PaddedChain chain(batch);
    std::vector<double> alpha;
    for (std::int64_t i = begin; i < end; ++i) {
      chain.load(i);
      chain.max_tables();
      const std::int64_t p = chain.length(), stride = chain.shape().stride;
      alpha.resize(static_cast<std::size_t>(p * stride));
      chain.ops().forward_max(chain.shape(), p, chain.u(), chain.transitions(), alpha.data());
      for (std::int64_t t = 0; t < p; ++t)
        for (int y = 0; y < batch.labels; ++y) {
          const std::int64_t cell = t * stride + y;
          const double tail = t + 1 < p ? chain.best()[cell] : 0.0;  // the best completion after t, u_t left out
          out[(batch.offsets[i] + t) * batch.labels + y] = alpha[static_cast<std::size_t>(cell)] + tail;
        }
    }
  });
}

}  // namespace casimir
