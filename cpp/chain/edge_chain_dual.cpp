#include "chain/edge_chain_dual.hpp"

namespace casimir {

EdgeChainDual::EdgeChainDual(const LinearChain& chain)
    : DualPasses(chain), chain_(chain), direction_(chain.n_params()) {
  check_label_count(chain.shape().labels);
  for (std::int64_t i = 0; i < chain.n_examples(); ++i)
    block(i).labels.assign(chain.truth(i), chain.truth(i) + chain.length(i));
}

void EdgeChainDual::prefetch(const std::int64_t* order, std::int64_t visit, std::int64_t count, const double* w,
                             bool cached) const {
  if (!cached && visit + 1 < count) chain_.prefetch(order[visit + 1], {w});
}

/// Index of the output in the cache, added with weight 0 if it is new.
std::size_t EdgeChainDual::remember(std::int64_t i, const std::int32_t* labels) {
  EdgeChainOutputs& own = block(i);
  const std::int64_t p = chain_.length(i);
  if (const auto known = own.find(labels, p)) return *known;
  const std::size_t k = own.add(labels, p, chain_.cost_of(i, labels));
  own.edges.clear();
  for (std::int64_t t = 1; t < p; ++t)
    if (own.differs_at(t - 1) || own.differs_at(t)) own.edges.push_back(static_cast<std::int32_t>(t));
  return k;
}

std::size_t EdgeChainDual::ask_oracle(std::int64_t i, const double* w) {
  const WeightView view{w};
  chain_.load_weights(view, work_);
  chain_.score_example(i, view, work_);
  chain_.best_path(chain_.length(i), work_);
  const std::size_t target = remember(i, work_.path.data());
  score_outputs(i);
  return target;
}

/// Scores of the cached outputs from work_, leaving out what all of them share.
void EdgeChainDual::score_outputs(std::int64_t i) {
  const EdgeChainOutputs& own = block(i);
  const std::int64_t p = chain_.length(i), stride = chain_.shape().stride;
  const Transitions edges = chain_.transitions(work_);
  scores_.assign(own.weight.size(), 0.0);
  const std::uint16_t* y = own.labels.data();
  for (std::size_t k = 0; k < scores_.size(); ++k, y += p) {
    double score = 0.0;
    for (const std::int32_t t : own.nodes) score += work_.u[static_cast<std::size_t>(t * stride + y[t])];
    for (const std::int32_t t : own.edges) score += edges.to[(t - 1) * edges.step + y[t - 1] * stride + y[t]];
    scores_[k] = score;
  }
}

/// From the tokens and edges on which the cached outputs differ.
void EdgeChainDual::rescore(std::int64_t i, const double* w) {
  const WeightView view{w};
  chain_.load_weights(view, work_);
  chain_.make_room(i, work_);
  for (const std::int32_t t : block(i).nodes) chain_.score_tokens(i, t, 1, view, work_.u.data());
  for (const std::int32_t t : block(i).edges) chain_.score_edge(i, t, view, work_);
  score_outputs(i);
}

/// The direction += weight times the features of output a less those of output b.
void EdgeChainDual::add_difference(std::int64_t i, std::size_t a, std::size_t b, double weight) {
  const EdgeChainOutputs& own = block(i);
  const std::int64_t p = chain_.length(i);
  add_output(i, own.output(a, p), own.output(b, p), weight);
  add_output(i, own.output(b, p), own.output(a, p), -weight);
}

/// The direction += weight times the features of y where it differs from the other.
void EdgeChainDual::add_output(std::int64_t i, const std::uint16_t* y, const std::uint16_t* other, double weight) {
  const EdgeChainOutputs& own = block(i);
  const std::int64_t p = chain_.length(i), first = chain_.data().offsets[i];
  const auto add_features = [&](const TokenFeatures& x, std::int64_t token, auto&& place) {
    for (std::int64_t f = x.indptr[token]; f < x.indptr[token + 1]; ++f)
      direction_.add(place(x.indices[f]), x.values ? weight * x.values[f] : weight);
  };
  for (const std::int32_t t : own.nodes) {
    if (y[t] == other[t]) continue;
    add_features(chain_.data().features, first + t, [&](std::int64_t f) { return chain_.place(f, y[t]); });
    if (t == 0) direction_.add(chain_.place(chain_.start_row(), y[t]), weight);
    if (t + 1 == p) direction_.add(chain_.place(chain_.stop_row(), y[t]), weight);
  }
  for (const std::int32_t t : own.edges) {
    const std::int64_t from = y[t - 1], to = y[t];
    if (from == other[t - 1] && to == other[t]) continue;
    direction_.add(chain_.place(chain_.data().n_features + from, to), weight);
    add_features(chain_.edges().data(), first + t,
                 [&](std::int64_t f) { return chain_.place(chain_.edges().row(f, from), to); });
  }
}

void EdgeChainDual::pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) {
  for (int taken = 1; taken <= steps; ++taken) {
    const PairwiseMove move = pairwise_move(scores_, block(i).weight);
    if (move.gain == 0.0) return;
    add_difference(i, move.best, move.worst, 1.0);
    const double amount = move_between(i, move, direction_.gather() * point.scale);
    direction_.apply(amount, point);
    if (taken < steps) rescore(i, point.w());
  }
}

void EdgeChainDual::frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) {
  const std::pmr::vector<double>& weight = block(i).weight;
  for (std::size_t k = 0; k < weight.size(); ++k)
    if (k != target && weight[k] != 0.0) add_difference(i, target, k, weight[k]);
  const double amount = move_towards(i, target, direction_.gather() * point.scale);
  direction_.apply(amount, point);
}

}  // namespace casimir
