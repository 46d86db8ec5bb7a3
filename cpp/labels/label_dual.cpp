#include "labels/label_dual.hpp"

#include <algorithm>

#include "base/vectors.hpp"

namespace casimir {

LabelDual::LabelDual(const LinearLabels& labels)
    : DualPasses(labels),
      labels_(labels),
      norm_(labels),
      work_(labels.workspace()),
      u_(static_cast<std::size_t>(labels.width()), 0.0),
      direction_(u_),
      moved_(u_) {
  for (std::int64_t i = 0; i < labels.n_examples(); ++i)
    block(i).labels.assign(labels.truth(i), labels.truth(i) + problem_labels());
}

void LabelDual::prefetch(const std::int64_t* order, std::int64_t visit, std::int64_t count, const double* w,
                         bool) const {
  if (visit + 2 < count) labels_.features().prefetch_features(order[visit + 2]);
  if (visit + 1 < count) labels_.features().prefetch(order[visit + 1], {w});
}

/// Index of the output in the cache, added with weight 0 if it is new.
std::size_t LabelDual::remember(std::int64_t i, const std::int32_t* y) {
  LabelSets& own = block(i);
  if (const auto known = own.find(y, problem_labels())) return *known;
  const std::size_t k = own.add(y, problem_labels(), labels_.cost_of(i, y));
  const std::int64_t* ends = labels_.graph().ends();
  own.edges.clear();
  for (std::int64_t e = 0; e < labels_.graph().edges(); ++e)
    if (own.differs_at(ends[2 * e]) || own.differs_at(ends[2 * e + 1]))
      own.edges.push_back(static_cast<std::int32_t>(e));
  return k;
}

/// u_ at w.
void LabelDual::load(std::int64_t i, const double* w) {
  labels_.load_weights({w}, *work_);
  labels_.scores(i, {w}, *work_, u_.data());
}

/// Scores of the cached outputs from u_, leaving out what all of them share.
void LabelDual::score_outputs(std::int64_t i) {
  const LabelSets& own = block(i);
  const double* pairs = u_.data() + labels_.shape().stride;
  scores_.assign(own.weight.size(), 0.0);
  for (std::size_t k = 0; k < scores_.size(); ++k) {
    const std::uint16_t* y = output(i, k);
    double score = 0.0;
    for (const std::int32_t l : own.nodes)
      if (y[l]) score += u_[static_cast<std::size_t>(l)];
    for (const std::int32_t e : own.edges)
      if (labels_.graph().agree(e, y)) score += pairs[e];
    scores_[k] = score;
  }
}

std::size_t LabelDual::ask_oracle(std::int64_t i, const double* w) {
  auto& work = static_cast<LabelWorkspace&>(*work_);
  load(i, w);
  work.oracles->max(labels_.split(u_.data()), work.output.data());
  const std::size_t target = remember(i, work.output.data());
  score_outputs(i);
  return target;
}

void LabelDual::rescore(std::int64_t i, const double* w) {
  load(i, w);
  score_outputs(i);
}

/// direction_ += weight times the labels and pairs of output k that not all outputs share.
void LabelDual::add_direction(std::int64_t i, std::size_t k, double weight) {
  const LabelSets& own = block(i);
  double* pairs = direction_.data() + labels_.shape().stride;
  const std::uint16_t* y = output(i, k);
  for (const std::int32_t l : own.nodes)
    if (y[l]) direction_[static_cast<std::size_t>(l)] += weight;
  for (const std::int32_t e : own.edges)
    if (labels_.graph().agree(e, y)) pairs[e] += weight;
}

/// The scores after w -= scale step A_i^T direction, and the direction is noted and cleared.
void LabelDual::follow(std::int64_t i, double step, double scale) {
  const auto stride = static_cast<std::size_t>(labels_.shape().stride);
  const double squared = norm_.of_features(i);
  for (std::size_t j = 0; j < u_.size(); ++j) {
    const double change = step * direction_[j];
    u_[j] -= scale * change * (j < stride ? squared : 1.0);
    moved_[j] += change;
    direction_[j] = 0.0;
  }
}

/// Adds what was noted to the point, and clears it.
void LabelDual::apply(std::int64_t i, double step, const VisitPoint& point) {
  if (step != 1.0)
    for (double& x : moved_) x *= step;
  labels_.scatter(i, moved_.data(), point.target());
  std::fill(moved_.begin(), moved_.end(), 0.0);
  if (point.is_linear()) return;
  rows_.clear();
  labels_.touched(i, rows_);
  for (const auto& [begin, end] : rows_) point.refresh(begin, end);
}

void LabelDual::frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) {
  const std::pmr::vector<double>& weight = block(i).weight;
  add_direction(i, target, 1.0);
  for (std::size_t k = 0; k < weight.size(); ++k)
    if (weight[k] != 0.0) add_direction(i, k, -weight[k]);
  const double gamma = move_towards(i, target, norm_.squared(i, direction_.data()) * point.scale);
  std::swap(direction_, moved_);
  apply(i, gamma, point);
}

void LabelDual::pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) {
  for (int step = 1; step <= steps; ++step) {
    const PairwiseMove move = pairwise_move(scores_, block(i).weight);
    if (move.gain == 0.0) break;
    add_direction(i, move.best, 1.0);
    add_direction(i, move.worst, -1.0);
    const double length = move_between(i, move, norm_.squared(i, direction_.data()) * point.scale);
    follow(i, length, point.scale);
    if (step == steps) break;
    if (point.is_linear()) {
      score_outputs(i);
    } else {
      apply(i, 1.0, point);
      rescore(i, point.w());
    }
  }
  apply(i, 1.0, point);
}

}  // namespace casimir
