#include "chain/chain_batch.hpp"

#include <algorithm>
#include <cstring>

#include "base/numbers.hpp"
#include "base/parallel.hpp"
#include "chain/chain_group.hpp"
#include "chain/chain_ops.hpp"
#include "chain/kbest.hpp"
#include "chain/lane_chains.hpp"
#include "chain/soft_loss_groups.hpp"

namespace casimir {
namespace {

/// Padded copies of one chain's scores, and room for the tables of its oracles.
class PaddedChain {
 public:
  explicit PaddedChain(const ChainBatch& batch)
      : batch_(batch), shape_{batch.labels, stride_of(batch.labels)}, ops_(chain_ops(shape_.stride)) {
    if (batch.shared_edges) pad_edges(batch.edges, 1);
  }

  void load(std::int64_t i) {
    p_ = batch_.length(i);
    const std::int64_t stride = shape_.stride, labels = shape_.labels;
    u_.assign(static_cast<std::size_t>(p_ * stride), -kInf);
    const double* nodes = batch_.nodes + batch_.offsets[i] * labels;
    for (std::int64_t t = 0; t < p_; ++t)
      std::copy(nodes + t * labels, nodes + (t + 1) * labels, u_.begin() + t * stride);
    // Example i has one edge less than nodes, so its first edge is number offsets[i] - i.
    if (!batch_.shared_edges) pad_edges(batch_.edges + (batch_.offsets[i] - i) * labels * labels, p_ - 1);
  }

  void max_tables() {
    beta_.resize(u_.size());
    best_.resize(u_.size());
    ops_.backward_max(shape_, p_, u_.data(), transitions(), beta_.data(), best_.data());
  }

  /// The best labels, and their score.
  double best_path(std::vector<std::int32_t>& path) {
    max_tables();
    path.resize(static_cast<std::size_t>(p_));
    const double* first = std::max_element(beta_.data(), beta_.data() + shape_.labels);
    path[0] = static_cast<std::int32_t>(first - beta_.data());
    ops_.follow(shape_, p_, 0, transitions(), beta_.data(), best_.data(), nullptr, path.data(), nullptr);
    return *first;
  }

  /// mu logsumexp(score / mu), and marginals with padded rows.
  double expect(double mu) {
    const std::int64_t block = shape_.labels * shape_.stride;
    work_.resize(static_cast<std::size_t>(3 * p_ * shape_.stride));
    nodes_.resize(static_cast<std::size_t>(p_ * shape_.stride));
    edges_.resize(static_cast<std::size_t>(p_ * block));
    return ops_.expect(shape_, p_, u_.data(), transitions(), potentials_, mu, nodes_.data(), edges_.data(), block,
                       work_.data());
  }

  const double* node_marginals() const { return nodes_.data(); }
  const double* edge_marginals() const { return edges_.data(); }

  Transitions transitions() const {
    return {to_.data(), from_.data(),
            batch_.shared_edges ? 0 : static_cast<std::int64_t>(shape_.labels) * shape_.stride};
  }

  const ChainOps& ops() const { return ops_; }
  RowShape shape() const { return shape_; }
  std::int64_t length() const { return p_; }
  const double* u() const { return u_.data(); }
  const double* beta() const { return beta_.data(); }
  const double* best() const { return best_.data(); }

 private:
  void pad_edges(const double* edges, std::int64_t count) {
    const std::int64_t stride = shape_.stride, labels = shape_.labels, block = labels * stride;
    to_.assign(static_cast<std::size_t>(std::max<std::int64_t>(count, 0) * block), -kInf);
    from_.assign(to_.size(), -kInf);
    for (std::int64_t e = 0; e < count; ++e)
      for (std::int64_t y = 0; y < labels; ++y)
        for (std::int64_t z = 0; z < labels; ++z)
          to_[static_cast<std::size_t>(e * block + y * stride + z)] =
              from_[static_cast<std::size_t>(e * block + z * stride + y)] = edges[(e * labels + y) * labels + z];
  }

  const ChainBatch& batch_;
  RowShape shape_;
  const ChainOps& ops_;
  std::int64_t p_ = 0;
  std::vector<double> u_, to_, from_, beta_, best_, work_, nodes_, edges_;
  Potentials potentials_;
};

/// Rows without their padding. Whole vectors are written, whose last entries the next row covers.
void unpad(RowShape shape, const double* padded, std::int64_t rows, double* out) {
  const std::int64_t labels = shape.labels, stride = shape.stride;
  std::int64_t row = 0;
  for (; row * labels + stride <= rows * labels; ++row)
    for (std::int64_t j = 0; j < stride; j += 4)
      std::memcpy(out + row * labels + j, padded + row * stride + j, 4 * sizeof(double));
  for (; row < rows; ++row) std::copy_n(padded + row * stride, labels, out + row * labels);
}

}  // namespace

void chain_max(const ChainBatch& batch, int threads, double* values, std::int64_t* labels) {
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
  std::vector<char> done(static_cast<std::size_t>(batch.size), 0);
  if (batch.shared_edges && batch.labels >= kFewestLabelsOfGroups && batch.size > 1)
    soft_losses_of_groups(batch, y, mu, threads, losses, nodes, edges, done);
  parallel_chunks(batch.size, threads, [&](std::int64_t begin, std::int64_t end, int) {
    if (std::find(done.begin() + begin, done.begin() + end, 0) == done.begin() + end) return;
    PaddedChain chain(batch);
    const std::int64_t stride = chain.shape().stride, labels = batch.labels, block = labels * stride;
    std::vector<double> work, padded_nodes, padded_edges;
    Potentials potentials;
    for (std::int64_t i = begin; i < end; ++i) {
      if (done[static_cast<std::size_t>(i)]) continue;
      chain.load(i);
      const std::int64_t p = chain.length(), first = batch.offsets[i];
      const std::int64_t matrices = batch.shared_edges ? 1 : p - 1, first_matrix = batch.shared_edges ? i : first - i;
      work.resize(static_cast<std::size_t>(3 * p * stride));
      padded_nodes.resize(static_cast<std::size_t>(p * stride));
      padded_edges.assign(static_cast<std::size_t>(matrices * block), 0.0);
      double loss =
          chain.ops().expect(chain.shape(), p, chain.u(), chain.transitions(), potentials, mu, padded_nodes.data(),
                             padded_edges.data(), batch.shared_edges ? 0 : block, work.data());
      double* out = edges + first_matrix * labels * labels;
      unpad(chain.shape(), padded_edges.data(), matrices * labels, out);
      unpad(chain.shape(), padded_nodes.data(), p, nodes + first * labels);
      const double* pairs = batch.edges + (batch.shared_edges ? 0 : first_matrix) * labels * labels;
      for (std::int64_t t = 0; t < p; ++t) {
        double* row = nodes + (first + t) * labels;
        const std::int64_t label = y[first + t];
        row[label] -= 1.0;
        loss -= batch.nodes[(first + t) * labels + label];
        if (t == 0) continue;
        const std::int64_t cell = y[first + t - 1] * labels + label;
        const std::int64_t matrix = batch.shared_edges ? 0 : (t - 1) * labels * labels;
        loss -= pairs[matrix + cell];
        out[matrix + cell] -= 1.0;
      }
      losses[i] = loss;
    }
  });
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
