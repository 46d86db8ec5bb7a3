#include "chain/chain_dual.hpp"

#include <algorithm>

namespace casimir {
namespace {

constexpr std::size_t kLabelsPerLine = 64 / sizeof(std::uint16_t);  // of a line of the cache

}  // namespace

ChainDual::ChainDual(const LinearChain& chain) : DualPasses(chain), chain_(chain), gram_(chain, true) {
  check_label_count(chain.shape().labels);
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < chain.n_examples(); ++i) {
    longest = std::max(longest, chain.length(i));
    block(i).labels.assign(chain.truth(i), chain.truth(i) + chain.length(i));
  }
  const auto stride = static_cast<std::size_t>(chain.shape().stride);
  const auto labels = static_cast<std::size_t>(chain.shape().labels);
  work_.u.resize(static_cast<std::size_t>(longest) * stride);
  direction_.assign(static_cast<std::size_t>(longest) * stride, 0.0);
  edge_count_.assign(labels * stride, 0.0);
  edge_total_.assign(labels * stride, 0.0);
}

/// Index of the output in the cache, added with weight 0 if it is new.
std::size_t ChainDual::remember(std::int64_t i, const std::int32_t* labels) {
  const std::int64_t p = chain_.length(i);
  if (const auto known = block(i).find(labels, p)) return *known;
  return block(i).add(labels, p, chain_.cost_of(i, labels));
}

/// Scores of the cached outputs from work_.u and work_.to, leaving out what all of them share.
void ChainDual::score_outputs(std::int64_t i) {
  const LabelOutputs& own = block(i);
  const std::int64_t p = chain_.length(i), stride = chain_.shape().stride;
  const auto count = static_cast<std::int64_t>(own.weight.size());
  scores_.assign(own.weight.size(), 0.0);
  double* scores = scores_.data();
  const double* to = work_.to.data();
  // Outputs in the inner loop: their sums do not wait for each other.
  for (std::size_t j = 0; j < own.nodes.size(); ++j) {
    const std::int64_t t = own.nodes[j];
    const double* u = work_.u.data() + t * stride;
    const bool ends_edge = t > 0;
    const bool next_counts = j + 1 < own.nodes.size() && own.nodes[j + 1] == t + 1;
    const bool starts_edge = t + 1 < p && !next_counts;
    const std::uint16_t* y = own.labels.data() + t;
    for (std::int64_t k = 0; k < count; ++k, y += p) {
      double score = u[y[0]];
      if (ends_edge) score += to[y[-1] * stride + y[0]];
      if (starts_edge) score += to[y[0] * stride + y[1]];
      scores[k] += score;
    }
  }
}

/// One step that moves weight from the worst active output to the best cached one; false when there is nothing to gain.
/// The chain's own scores follow the step unless it is the last.
bool ChainDual::pairwise_step(std::int64_t i, double scale, bool last) {
  const LabelOutputs& own = block(i);
  const std::int64_t p = chain_.length(i), stride = chain_.shape().stride;
  const PairwiseMove move = pairwise_move(scores_, own.weight);
  if (move.gain == 0.0) return false;

  const std::uint16_t* y = own.output(move.best, p);
  const std::uint16_t* z = own.output(move.worst, p);
  differing_.clear();
  for (const std::int32_t t : own.nodes)
    if (y[t] != z[t]) differing_.push_back(t);

  // Edge counts of y minus z.
  edge_changes_.clear();
  const auto count_edge = [&](std::int64_t t, const std::uint16_t* labels, double amount) {
    edge_count_[static_cast<std::size_t>(labels[t] * stride + labels[t + 1])] += amount;
    edge_changes_.push_back({labels[t], labels[t + 1], 0.0});
  };
  for (std::size_t j = 0; j < differing_.size(); ++j) {
    const std::int64_t t = differing_[j];
    const bool next_counts = j + 1 < differing_.size() && differing_[j + 1] == t + 1;
    if (t > 0) count_edge(t - 1, y, 1.0), count_edge(t - 1, z, -1.0);
    if (t + 1 < p && !next_counts) count_edge(t, y, 1.0), count_edge(t, z, -1.0);
  }
  collect_edge_changes();

  double norm = 0.0;
  for (const EdgeChange& edge : edge_changes_) norm += edge.amount * edge.amount;
  if (gram_.has(i)) {
    for (std::size_t a = 0; a < differing_.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        const std::int64_t s = differing_[a], t = differing_[b];
        const int overlap = (y[s] == y[t]) + (z[s] == z[t]) - (y[s] == z[t]) - (z[s] == y[t]);
        if (overlap != 0) norm += (a == b ? 1.0 : 2.0) * overlap * gram_(i, s, t);
      }
  } else {
    // The direction is empty here: without a table every step is applied before the next.
    for (const std::int32_t t : differing_) {
      direction_[static_cast<std::size_t>(t * stride + y[t])] = 1.0;
      direction_[static_cast<std::size_t>(t * stride + z[t])] = -1.0;
    }
    norm += direction_norm(i, differing_);
  }

  const double step = move_between(i, move, norm * scale);
  // What the step does to this chain's own scores, and what it will do to w.
  for (const std::int32_t t : differing_) {
    if (!gram_.has(i)) {
      direction_[static_cast<std::size_t>(t * stride + y[t])] *= step;
      direction_[static_cast<std::size_t>(t * stride + z[t])] *= step;
      continue;
    }
    direction_[static_cast<std::size_t>(t * stride + y[t])] += step;
    direction_[static_cast<std::size_t>(t * stride + z[t])] -= step;
    if (last) continue;
    for (const std::int32_t s : own.nodes) {
      const double change = step * scale * gram_(i, t, s);
      work_.u[static_cast<std::size_t>(s * stride + y[t])] -= change;
      work_.u[static_cast<std::size_t>(s * stride + z[t])] += change;
    }
  }
  for (const EdgeChange& edge : edge_changes_) {
    const auto cell = static_cast<std::size_t>(edge.from * stride + edge.to);
    edge_total_[cell] += step * edge.amount;
    work_.to[cell] -= step * scale * edge.amount;
  }
  moved_ = true;
  return true;
}

/// Turns the touched cells of edge_count_ into a list without duplicates, and clears them.
void ChainDual::collect_edge_changes() {
  std::size_t kept = 0;
  for (EdgeChange edge : edge_changes_) {
    double& count = edge_count_[static_cast<std::size_t>(edge.from * chain_.shape().stride + edge.to)];
    if (count == 0.0) continue;
    edge.amount = count;
    count = 0.0;
    edge_changes_[kept++] = edge;
  }
  edge_changes_.resize(kept);
}

void ChainDual::add_direction(std::int64_t i, const std::uint16_t* y, double weight) {
  const LabelOutputs& own = block(i);
  const std::int64_t p = chain_.length(i), stride = chain_.shape().stride;
  const auto count_edge = [&](std::int64_t t) {
    edge_count_[static_cast<std::size_t>(y[t] * stride + y[t + 1])] += weight;
    edge_changes_.push_back({y[t], y[t + 1], 0.0});
  };
  for (std::size_t j = 0; j < own.nodes.size(); ++j) {
    const std::int64_t t = own.nodes[j];
    const bool next_counts = j + 1 < own.nodes.size() && own.nodes[j + 1] == t + 1;
    direction_[static_cast<std::size_t>(t * stride + y[t])] += weight;
    if (t > 0) count_edge(t - 1);
    if (t + 1 < p && !next_counts) count_edge(t);
  }
}

void ChainDual::frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) {
  const LabelOutputs& own = block(i);
  const std::int64_t p = chain_.length(i), stride = chain_.shape().stride;
  edge_changes_.clear();
  add_direction(i, own.output(target, p), 1.0);
  for (std::size_t k = 0; k < scores_.size(); ++k)
    if (own.weight[k] != 0.0) add_direction(i, own.output(k, p), -own.weight[k]);
  collect_edge_changes();
  double norm = 0.0;
  for (const EdgeChange& edge : edge_changes_) norm += edge.amount * edge.amount;
  if (!gram_.has(i)) norm += direction_norm(i, own.nodes);
  for (std::size_t a = 0; gram_.has(i) && a < own.nodes.size(); ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      const std::int64_t s = own.nodes[a], t = own.nodes[b];
      double overlap = 0.0;
      for (std::int64_t l = 0; l < chain_.shape().labels; ++l)
        overlap +=
            direction_[static_cast<std::size_t>(s * stride + l)] * direction_[static_cast<std::size_t>(t * stride + l)];
      norm += (a == b ? 1.0 : 2.0) * overlap * gram_(i, s, t);
    }
  const double gamma = move_towards(i, target, norm * point.scale);
  for (const std::int32_t t : own.nodes)
    for (std::int64_t l = 0; l < stride; ++l) direction_[static_cast<std::size_t>(t * stride + l)] *= gamma;
  for (const EdgeChange& edge : edge_changes_)
    edge_total_[static_cast<std::size_t>(edge.from * stride + edge.to)] += gamma * edge.amount;
  moved_ = true;
  apply(i, point);
}

/// w -= scale A_i^T direction, and clears the direction.
void ChainDual::apply(std::int64_t i, const VisitPoint& point) {
  if (!moved_) return;
  moved_ = false;
  const LabelOutputs& own = block(i);
  const RowShape shape = chain_.shape();
  const std::int64_t stride = shape.stride, p = chain_.length(i), first = chain_.data().offsets[i];
  const ScatterTarget target = point.target();
  const auto add_row = [&](std::int64_t row, const double* x) {
    for (std::int64_t l = 0; l < stride; ++l) {
      target.v[row * stride + l] += target.a * x[l];
      if (target.q) target.q[row * stride + l] += target.b * x[l];
    }
  };
  const std::int64_t base = chain_.data().n_features;
  for (const std::int32_t t : own.nodes) {
    double* row = direction_.data() + t * stride;
    chain_.ops().scatter(shape, chain_.data().features, first + t, 1, row, target);
    if (t == 0) add_row(base + shape.labels, row);
    if (t + 1 == p) add_row(base + shape.labels + 1, row);
    std::fill(row, row + stride, 0.0);
  }
  for (std::int64_t y = 0; y < shape.labels; ++y) add_row(base + y, edge_total_.data() + y * stride);
  std::fill(edge_total_.begin(), edge_total_.end(), 0.0);
  if (point.is_linear()) return;
  const TokenFeatures& x = chain_.data().features;
  for (const std::int32_t t : own.nodes)
    for (std::int64_t f = x.indptr[first + t]; f < x.indptr[first + t + 1]; ++f)
      point.refresh(x.indices[f], x.indices[f] + std::int64_t{1});
  point.refresh(base, base + shape.labels + 2);  // transitions, start and stop
}

void ChainDual::pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) {
  for (int step = 1; step <= steps && pairwise_step(i, point.scale, step == steps); ++step) {
    if (step == steps) break;
    if (gram_.has(i) && point.is_linear()) {
      score_outputs(i);
    } else {
      apply(i, point);
      rescore(i, point.w());
    }
  }
  apply(i, point);
}

/// From the tokens on which the cached outputs differ, and the transitions.
void ChainDual::rescore(std::int64_t i, const double* w) {
  const RowShape shape = chain_.shape();
  if (chain_.data().fixed_pairs) {
    chain_.load_transitions({w}, work_.to);
  } else {
    const double* transitions = w + chain_.data().n_features * shape.stride;
    work_.to.assign(transitions, transitions + shape.labels * shape.stride);
  }
  for (const std::int32_t t : block(i).nodes) chain_.score_tokens(i, t, 1, {w}, work_.u.data());
  score_outputs(i);
}

std::size_t ChainDual::ask_oracle(std::int64_t i, const double* w) {
  const WeightView view{w};
  const std::int64_t p = chain_.length(i);
  chain_.load_weights(view, work_);
  chain_.score_tokens(i, 0, p, view, work_.u.data());
  chain_.best_path(p, work_);
  const std::size_t target = remember(i, work_.path.data());
  score_outputs(i);
  return target;
}

/// |X_i^T direction|^2 over the given tokens, in time linear in their features: for chains too long for a Gram table.
double ChainDual::direction_norm(std::int64_t i, const std::vector<std::int32_t>& tokens) {
  const RowShape shape = chain_.shape();
  const TokenFeatures& x = chain_.data().features;
  const std::int64_t stride = shape.stride, first = chain_.data().offsets[i];
  gathered_.resize(static_cast<std::size_t>(chain_.n_params()), 0.0);
  double norm = 0.0;
  for (const std::int32_t t : tokens) {
    const double* row = direction_.data() + t * stride;
    chain_.ops().scatter(shape, x, first + t, 1, row, {gathered_.data(), 1.0});
    for (int l = 0; l < shape.labels; ++l) norm += gram_.end_scores(i, t) * row[l] * row[l];
  }
  for (const std::int32_t t : tokens)
    for (std::int64_t f = x.indptr[first + t]; f < x.indptr[first + t + 1]; ++f) {
      double* row = gathered_.data() + static_cast<std::int64_t>(x.indices[f]) * stride;
      for (int l = 0; l < shape.labels; ++l) norm += row[l] * row[l];
      std::fill(row, row + stride, 0.0);  // so that a feature of several tokens counts once
    }
  return norm;
}

/// The examples come in random order, so what the next visits will read is asked for in good time: first where a
/// block's arrays are, then the arrays, then the features and inner products of its tokens, then the weights.
void ChainDual::prefetch(const std::int64_t* order, std::int64_t visit, std::int64_t count, const double* w,
                         bool cached) const {
  if (visit + 6 < count) {
    const std::int64_t far = order[visit + 6];
    __builtin_prefetch(&block(far));
    __builtin_prefetch(&block(far).nodes);
    __builtin_prefetch(chain_.data().features.indptr + chain_.data().offsets[far]);
  }
  if (visit + 4 < count) {
    const LabelOutputs& near = block(order[visit + 4]);
    __builtin_prefetch(near.labels.data());
    __builtin_prefetch(near.weight.data());
    __builtin_prefetch(near.nodes.data());
  }
  if (visit + 2 < count) {
    const std::int64_t soon = order[visit + 2];
    const std::vector<std::uint16_t>& labels = block(soon).labels;
    for (std::size_t j = kLabelsPerLine; j < labels.size(); j += kLabelsPerLine) __builtin_prefetch(&labels[j]);
    if (!cached) chain_.prefetch_features(soon, 0, chain_.length(soon));
    const std::vector<std::int32_t>& nodes = block(soon).nodes;
    for (const std::int32_t t : nodes) {
      if (cached) chain_.prefetch_features(soon, t, 1);
      gram_.prefetch(soon, t, nodes.front(), nodes.back());
    }
  }
  if (visit + 1 >= count) return;
  const std::int64_t next = order[visit + 1];
  if (!cached) return chain_.prefetch(next, {w});
  for (const std::int32_t t : block(next).nodes) chain_.prefetch_tokens(next, t, 1, {w});
}

}  // namespace casimir
