#include "tree/tree_dual.hpp"

namespace casimir {

TreeDual::TreeDual(const LinearTree& trees)
    : DualPasses(trees), trees_(trees), sums_(static_cast<std::size_t>(trees.n_params()), 0.0) {
  check_label_count(trees.shape().labels);
  for (std::int64_t i = 0; i < trees.n_examples(); ++i)
    block(i).labels.assign(trees.truth(i), trees.truth(i) + trees.length(i));
}

void TreeDual::prefetch(const std::int64_t* order, std::int64_t visit, std::int64_t count, const double* w,
                        bool cached) const {
  if (!cached && visit + 1 < count) trees_.prefetch(order[visit + 1], {w});
}

/// Index of the output in the cache, added with weight 0 if it is new.
std::size_t TreeDual::remember(std::int64_t i, const std::int32_t* labels) {
  TreeOutputs& own = block(i);
  const std::int64_t p = trees_.length(i);
  if (const auto known = own.find(labels, p)) return *known;
  const std::size_t k = own.add(labels, p, trees_.cost_of(i, labels));
  const std::int64_t* above = trees_.parents(i);
  own.edges.clear();
  for (std::int64_t v = 0; v < p; ++v)
    if (above[v] >= 0 && (own.differs_at(v) || own.differs_at(above[v])))
      own.edges.push_back(static_cast<std::int32_t>(v));
  return k;
}

std::size_t TreeDual::ask_oracle(std::int64_t i, const double* w) {
  const WeightView view{w};
  trees_.load_weights(view, work_);
  trees_.score_nodes(i, view, work_);
  trees_.best_output(i, work_);
  const std::size_t target = remember(i, work_.output.data());
  score_outputs(i);
  return target;
}

/// Scores of the cached outputs from work_.unary and work_.edges, leaving out what all of them share.
void TreeDual::score_outputs(std::int64_t i) {
  const TreeOutputs& own = block(i);
  const std::int64_t p = trees_.length(i), labels = trees_.shape().labels;
  const std::int64_t* above = trees_.parents(i);
  scores_.assign(own.weight.size(), 0.0);
  const std::uint16_t* y = own.labels.data();
  for (std::size_t k = 0; k < scores_.size(); ++k, y += p) {
    double score = 0.0;
    for (const std::int32_t v : own.nodes) score += work_.unary[static_cast<std::size_t>(v * labels + y[v])];
    for (const std::int32_t v : own.edges) score += work_.edges[static_cast<std::size_t>(y[v] * labels + y[above[v]])];
    scores_[k] = score;
  }
}

/// From the nodes on which the cached outputs differ, and the edge scores.
void TreeDual::rescore(std::int64_t i, const double* w) {
  const WeightView view{w};
  const std::int64_t p = trees_.length(i);
  const auto cells = static_cast<std::size_t>(p * trees_.shape().labels);
  const auto padded = static_cast<std::size_t>(p * trees_.shape().stride);
  if (work_.unary.size() < cells) work_.unary.resize(cells);
  if (work_.padded.size() < padded) work_.padded.resize(padded);
  trees_.load_weights(view, work_);
  for (const std::int32_t v : block(i).nodes) trees_.score_node(i, v, view, work_);
  score_outputs(i);
}

void TreeDual::add(std::int64_t at, double amount) {
  double& sum = sums_[static_cast<std::size_t>(at)];
  if (sum == 0.0) touched_.push_back(at);
  sum += amount;
}

/// sums_ += weight times the features of output a where it differs from output b.
void TreeDual::add_direction(std::int64_t i, std::size_t a, std::size_t b, double weight) {
  const TreeOutputs& own = block(i);
  const LinearTokensData& data = trees_.data();
  const std::int64_t p = trees_.length(i);
  const std::int64_t* above = trees_.parents(i);
  const std::uint16_t *y = own.output(a, p), *z = own.output(b, p);
  for (const std::int32_t v : own.nodes) {
    if (y[v] == z[v]) continue;
    const std::int64_t* range = data.features.indptr + data.offsets[i] + v;
    for (std::int64_t f = range[0]; f < range[1]; ++f)
      add(trees_.place(data.features.indices[f], y[v]),
          data.features.values ? weight * data.features.values[f] : weight);
  }
  for (const std::int32_t v : own.edges)
    if (y[v] != z[v] || y[above[v]] != z[above[v]]) add(trees_.place(data.n_features + y[v], y[above[v]]), weight);
}

/// Makes the sums the direction, and returns its squared norm.
double TreeDual::gather() {
  direction_.clear();
  double norm = 0.0;
  for (const std::int64_t at : touched_) {
    double& sum = sums_[static_cast<std::size_t>(at)];
    if (sum == 0.0) continue;
    direction_.emplace_back(at, sum);
    norm += sum * sum;
    sum = 0.0;
  }
  touched_.clear();
  return norm;
}

/// w -= step scale A_i^T direction.
void TreeDual::apply(double step, const VisitPoint& point) {
  const ScatterTarget target = point.target();
  for (const auto& [at, amount] : direction_) target.v[at] += step * target.a * amount;
  if (target.q)
    for (const auto& [at, amount] : direction_) target.q[at] += step * target.b * amount;
  if (point.is_linear()) return;
  for (const auto& change : direction_) point.refresh(change.first / point.width, change.first / point.width + 1);
}

void TreeDual::pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) {
  for (int taken = 1; taken <= steps; ++taken) {
    const PairwiseMove move = pairwise_move(scores_, block(i).weight);
    if (move.gain == 0.0) return;
    add_direction(i, move.best, move.worst, 1.0);
    add_direction(i, move.worst, move.best, -1.0);
    apply(move_between(i, move, gather() * point.scale), point);
    if (taken < steps) rescore(i, point.w());
  }
}

void TreeDual::frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) {
  const std::pmr::vector<double>& weight = block(i).weight;
  for (std::size_t k = 0; k < weight.size(); ++k) {
    if (weight[k] == 0.0) continue;
    add_direction(i, target, k, weight[k]);
    add_direction(i, k, target, -weight[k]);
  }
  apply(move_towards(i, target, gather() * point.scale), point);
}

}  // namespace casimir
