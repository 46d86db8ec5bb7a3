#include "chain/chain_dual.hpp"

#include <algorithm>
#include <numeric>

namespace casimir {
namespace {

constexpr std::size_t kLabelsPerLine = 64 / sizeof(std::uint16_t);  // of a line of the cache

/// The edges of y less those of z, where a token of `changed` has an end of them: calls see(cell, 1 or -1).
template <class See>
void for_changed_edges(const std::vector<std::int32_t>& changed, const std::uint16_t* y, const std::uint16_t* z,
                       std::int64_t p, std::int64_t stride, See see) {
  const auto see_edge = [&](std::int64_t t) {
    see(static_cast<std::size_t>(y[t] * stride + y[t + 1]), 1.0);
    see(static_cast<std::size_t>(z[t] * stride + z[t + 1]), -1.0);
  };
  for (std::size_t j = 0; j < changed.size(); ++j) {
    const std::int64_t t = changed[j];
    if (t > 0) see_edge(t - 1);
    if (t + 1 < p && (j + 1 == changed.size() || changed[j + 1] != t + 1)) see_edge(t);
  }
}

}  // namespace

ChainDual::ChainDual(const LinearChain& chain, int threads)
    : DualPasses(chain), chain_(chain), gram_(chain, true, threads) {
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
  edges_.assign(labels * stride, 0.0);
  lists_edges_ = chain.shape().labels >= kFewestLabelsOfGroups;
  of_nodes_.resize(direction_.size());
  of_edges_.assign(labels * stride, 0.0);
}

/// Index of the output in the cache, added with weight 0 if it is new.
std::size_t ChainDual::remember(std::int64_t i, const std::int32_t* labels) {
  const std::int64_t p = chain_.length(i);
  if (const auto known = block(i).find(labels, p)) return *known;
  return block(i).add(labels, p, chain_.cost_of(i, labels));
}

/// scores_k = sum of u over the labels of output k, and of `to` over its edges, leaving out what all outputs share.
void ChainDual::score_outputs(std::int64_t i, const double* u, const double* to, std::vector<double>& found) const {
  const ChainOutputs& own = block(i);
  const std::int64_t p = chain_.length(i), stride = chain_.shape().stride;
  const auto count = static_cast<std::int64_t>(own.weight.size());
  found.assign(own.weight.size(), 0.0);
  double* scores = found.data();
  // Outputs in the inner loop: their sums do not wait for each other.
  for (std::size_t j = 0; j < own.nodes.size(); ++j) {
    const std::int64_t t = own.nodes[j];
    const double* row = u + t * stride;
    const bool ends_edge = t > 0;
    const bool next_counts = j + 1 < own.nodes.size() && own.nodes[j + 1] == t + 1;
    const bool starts_edge = t + 1 < p && !next_counts;
    const std::uint16_t* y = own.labels.data() + t;
    for (std::int64_t k = 0; k < count; ++k, y += p) {
      double score = row[y[0]];
      if (ends_edge) score += to[y[-1] * stride + y[0]];
      if (starts_edge) score += to[y[0] * stride + y[1]];
      scores[k] += score;
    }
  }
}

/// Whether the inner products of all cached outputs are known now: they are not for chains too long for a Gram table,
/// nor where there are too many outputs.
bool ChainDual::complete_products(std::int64_t i) {
  ChainOutputs& own = block(i);
  if (!gram_.has(i) || own.weight.size() > OutputProducts::kMost) return false;
  while (own.products.count() < own.weight.size()) add_products(i, own.products.count());
  return true;
}

/// <a_k, a_l> of output k with all others: with u_t = sum_s <x_s, x_t> (y_s less the truth's label), these are scores.
void ChainDual::add_products(std::int64_t i, std::size_t k) {
  ChainOutputs& own = block(i);
  const std::int64_t p = chain_.length(i), stride = chain_.shape().stride;
  const std::uint16_t *z = own.output(0, p), *y = own.output(k, p);
  for (const std::int32_t t : own.nodes) std::fill_n(of_nodes_.data() + t * stride, stride, 0.0);
  changed_.clear();
  for (const std::int32_t s : own.nodes) {
    if (y[s] == z[s]) continue;
    changed_.push_back(s);
    for (const std::int32_t t : own.nodes) {
      const double product = gram_(i, s, t);
      double* row = of_nodes_.data() + t * stride;
      row[y[s]] += product;
      row[z[s]] -= product;
    }
  }
  for_changed_edges(changed_, y, z, p, stride, [&](std::size_t cell, double sign) { of_edges_[cell] += sign; });
  score_outputs(i, of_nodes_.data(), of_edges_.data(), products_);
  for_changed_edges(changed_, y, z, p, stride, [&](std::size_t cell, double) { of_edges_[cell] = 0.0; });
  const double of_truth = products_[0];
  for (double& product : products_) product -= of_truth;
  own.products.add(products_.data());
}

/// direction += amount (output `to` less output `from`)
void ChainDual::add_difference(std::int64_t i, std::size_t to, std::size_t from, double amount) {
  const ChainOutputs& own = block(i);
  const std::int64_t p = chain_.length(i), stride = chain_.shape().stride;
  const std::uint16_t *y = own.output(to, p), *z = own.output(from, p);
  changed_.clear();
  for (const std::int32_t t : own.nodes) {
    if (y[t] == z[t]) continue;
    changed_.push_back(t);
    direction_[static_cast<std::size_t>(t * stride + y[t])] += amount;
    direction_[static_cast<std::size_t>(t * stride + z[t])] -= amount;
  }
  for_changed_edges(changed_, y, z, p, stride, [&](std::size_t cell, double sign) {
    edges_[cell] += sign * amount;
    if (lists_edges_) edge_cells_.push_back(cell);
  });
  moved_ = true;
}

/// Sees the edges of the direction in order: all of them where labels are few, else those that may not be 0.
template <class See>
void ChainDual::for_edges(See&& see) {
  if (!lists_edges_) {
    for (std::size_t cell = 0; cell < edges_.size(); ++cell) see(cell, edges_[cell]);
    return;
  }
  std::sort(edge_cells_.begin(), edge_cells_.end());
  edge_cells_.erase(std::unique(edge_cells_.begin(), edge_cells_.end()), edge_cells_.end());
  for (const std::size_t cell : edge_cells_) see(cell, edges_[cell]);
}

void ChainDual::scale_direction(std::int64_t i, double factor) {
  const std::int64_t stride = chain_.shape().stride;
  for (const std::int32_t t : block(i).nodes)
    for (std::int64_t l = 0; l < stride; ++l) direction_[static_cast<std::size_t>(t * stride + l)] *= factor;
  for_edges([&](std::size_t, double& edge) { edge *= factor; });
}

/// |A_i^T direction|^2
double ChainDual::direction_norm(std::int64_t i) {
  double norm = 0.0;
  for_edges([&](std::size_t, double edge) { norm += edge * edge; });
  return norm + (gram_.has(i) ? node_norm(i) : gathered_node_norm(i));
}

/// What the tokens add to it, from their Gram table.
double ChainDual::node_norm(std::int64_t i) {
  const std::int64_t stride = chain_.shape().stride, labels = chain_.shape().labels;
  const auto row = [&](std::int32_t t) { return direction_.data() + t * stride; };
  changed_.clear();
  for (const std::int32_t t : block(i).nodes)
    if (std::any_of(row(t), row(t) + labels, [](double x) { return x != 0.0; })) changed_.push_back(t);
  double norm = 0.0;
  for (std::size_t a = 0; a < changed_.size(); ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      const std::int32_t s = changed_[a], t = changed_[b];
      const double overlap = std::inner_product(row(s), row(s) + labels, row(t), 0.0);
      if (overlap != 0.0) norm += (a == b ? 1.0 : 2.0) * overlap * gram_(i, s, t);
    }
  return norm;
}

/// The same in time linear in their features.
double ChainDual::gathered_node_norm(std::int64_t i) {
  const RowShape shape = chain_.shape();
  const TokenFeatures& x = chain_.data().features;
  const std::int64_t stride = shape.stride, first = chain_.data().offsets[i];
  const std::pmr::vector<std::int32_t>& nodes = block(i).nodes;
  gathered_.resize(static_cast<std::size_t>(chain_.n_params()), 0.0);
  double norm = 0.0;
  for (const std::int32_t t : nodes) {
    const double* row = direction_.data() + t * stride;
    chain_.ops().scatter(shape, x, first + t, 1, row, {gathered_.data(), 1.0});
    for (int l = 0; l < shape.labels; ++l) norm += gram_.end_scores(i, t) * row[l] * row[l];
  }
  for (const std::int32_t t : nodes)
    for (std::int64_t f = x.indptr[first + t]; f < x.indptr[first + t + 1]; ++f) {
      double* row = gathered_.data() + static_cast<std::int64_t>(x.indices[f]) * stride;
      for (int l = 0; l < shape.labels; ++l) norm += row[l] * row[l];
      std::fill(row, row + stride, 0.0);  // so that a feature of several tokens counts once
    }
  return norm;
}

void ChainDual::frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) {
  const ChainOutputs& own = block(i);
  for (std::size_t k = 0; k < scores_.size(); ++k)
    if (k != target && own.weight[k] != 0.0) add_difference(i, target, k, own.weight[k]);
  scale_direction(i, move_towards(i, target, direction_norm(i) * point.scale));
  apply(i, point);
}

/// w -= scale A_i^T direction, and clears the direction.
void ChainDual::apply(std::int64_t i, const VisitPoint& point) {
  if (!moved_) return;
  moved_ = false;
  const ChainOutputs& own = block(i);
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
  double *v = target.v + base * stride, *q = target.q ? target.q + base * stride : nullptr;
  for_edges([&](std::size_t cell, double& edge) {
    v[cell] += target.a * edge;
    if (q) q[cell] += target.b * edge;
    edge = 0.0;
  });
  edge_cells_.clear();
  if (point.is_linear()) return;
  const TokenFeatures& x = chain_.data().features;
  for (const std::int32_t t : own.nodes)
    for (std::int64_t f = x.indptr[first + t]; f < x.indptr[first + t + 1]; ++f)
      point.refresh(x.indices[f], x.indices[f] + std::int64_t{1});
  point.refresh(base, base + shape.labels + 2);  // transitions, start and stop
}

/// How much weight the step moves; its direction waits to be applied to w.
double ChainDual::step_between(std::int64_t i, const PairwiseMove& move, const VisitPoint& point) {
  if (complete_products(i)) {
    const double norm = block(i).products.squared_distance(move.best, move.worst);
    const double amount = move_between(i, move, norm * point.scale);
    add_difference(i, move.best, move.worst, amount);
    return amount;
  }
  add_difference(i, move.best, move.worst, 1.0);  // the direction was empty: such steps are applied one by one
  const double amount = move_between(i, move, direction_norm(i) * point.scale);
  scale_direction(i, amount);
  return amount;
}

void ChainDual::pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) {
  for (int step = 1; step <= steps; ++step) {
    const PairwiseMove move = pairwise_move(scores_, block(i).weight);
    if (move.gain == 0.0) break;
    const double amount = step_between(i, move, point);
    if (step == steps) break;
    if (point.is_linear() && block(i).products.count() == scores_.size()) {
      block(i).products.shift(scores_, move.best, move.worst, amount * point.scale);
    } else {
      apply(i, point);
      rescore(i, point.w());
    }
  }
  apply(i, point);
}

/// From the tokens on which the cached outputs differ, and the transitions.
void ChainDual::rescore(std::int64_t i, const double* w) {
  const double* transitions = w + chain_.data().n_features * chain_.shape().stride;
  if (chain_.data().fixed_pairs) {
    chain_.load_transitions({w}, work_.to);
    transitions = work_.to.data();
  }
  for (const std::int32_t t : block(i).nodes) chain_.score_tokens(i, t, 1, {w}, work_.u.data());
  score_outputs(i, work_.u.data(), transitions, scores_);
}

std::size_t ChainDual::ask_oracle(std::int64_t i, const double* w) {
  const WeightView view{w};
  const std::int64_t p = chain_.length(i);
  chain_.load_weights(view, work_);
  chain_.score_tokens(i, 0, p, view, work_.u.data());
  chain_.best_path(p, work_);
  const std::size_t target = remember(i, work_.path.data());
  score_outputs(i, work_.u.data(), work_.to.data(), scores_);
  return target;
}

/// The examples come in random order, so what the next visits will read is asked for in good time: first where a
/// block's arrays are, then the arrays, then the features and inner products of its tokens, then the weights.
void ChainDual::prefetch(const std::int64_t* order, std::int64_t visit, std::int64_t count, const double* w,
                         bool cached) const {
  if (visit + 6 < count) {
    const std::int64_t far = order[visit + 6];
    __builtin_prefetch(&block(far));
    __builtin_prefetch(&block(far).nodes);
    chain_.prefetch_places(far);
  }
  if (visit + 4 < count) {
    const ChainOutputs& near = block(order[visit + 4]);
    __builtin_prefetch(near.labels.data());
    __builtin_prefetch(near.weight.data());
    __builtin_prefetch(near.nodes.data());
  }
  if (visit + 2 < count) {
    const std::int64_t soon = order[visit + 2];
    const std::pmr::vector<std::uint16_t>& labels = block(soon).labels;
    for (std::size_t j = kLabelsPerLine; j < labels.size(); j += kLabelsPerLine) __builtin_prefetch(&labels[j]);
    if (!cached) chain_.prefetch_features(soon, 0, chain_.length(soon));
    const std::pmr::vector<std::int32_t>& nodes = block(soon).nodes;
    for (const std::int32_t t : nodes)
      if (cached) chain_.prefetch_features(soon, t, 1);
    block(soon).products.prefetch();
  }
  if (visit + 1 >= count) return;
  const std::int64_t next = order[visit + 1];
  if (!cached) return chain_.prefetch(next, {w});
  for (const std::int32_t t : block(next).nodes) chain_.prefetch_tokens(next, t, 1, {w});
}

}  // namespace casimir
