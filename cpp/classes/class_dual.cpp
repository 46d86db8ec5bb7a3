#include "classes/class_dual.hpp"

#include <algorithm>

#include "base/vectors.hpp"

namespace casimir {

ClassDual::ClassDual(const LinearClasses& classes)
    : DualPasses(classes),
      classes_(classes),
      u_(static_cast<std::size_t>(classes.shape().stride)),
      direction_(static_cast<std::size_t>(classes.shape().stride)) {
  for (std::int64_t i = 0; i < classes.n_examples(); ++i) {
    block(i).label = {static_cast<std::int32_t>(classes.truth(i))};
    block(i).cost = {classes.cost_of(i, classes.truth(i))};
    ell_ += block(i).cost[0] * classes.share(i);
    squared_.push_back(classes.features().squared(i));
  }
}

/// Index of the class in the cache, added with weight 0 if it is new.
std::size_t ClassDual::remember(std::int64_t i, const std::int32_t* label) {
  std::vector<std::int32_t>& known = block(i).label;
  const auto place = std::find(known.begin(), known.end(), *label);
  if (place != known.end()) return static_cast<std::size_t>(place - known.begin());
  known.push_back(*label);
  return block(i).add(classes_.cost_of(i, *label));
}

void ClassDual::score_outputs(std::int64_t i) {
  scores_.clear();
  for (const std::int32_t j : block(i).label) scores_.push_back(u_[static_cast<std::size_t>(j)]);
}

std::size_t ClassDual::ask_oracle(std::int64_t i, const double* w) {
  classes_.score(i, {w}, u_.data());
  const auto best = static_cast<std::int32_t>(best_of_list(u_.data(), classes_.shape().labels));
  const std::size_t target = remember(i, &best);
  score_outputs(i);
  return target;
}

void ClassDual::rescore(std::int64_t i, const double* w) {
  classes_.score(i, {w}, u_.data());
  score_outputs(i);
}

void ClassDual::frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) {
  const std::pmr::vector<double>& weight = block(i).weight;
  direction(i, target) += 1.0;
  for (std::size_t k = 0; k < weight.size(); ++k) direction(i, k) -= weight[k];
  const auto stride = static_cast<std::int64_t>(direction_.size());
  const double norm = squared_[static_cast<std::size_t>(i)] * dot(direction_.data(), direction_.data(), stride);
  const double gamma = move_towards(i, target, norm * point.scale);
  for (double& x : direction_) x *= gamma;
  apply(i, point);
}

/// One pairwise step, which the cached scores follow; false when there is nothing to gain.
bool ClassDual::pairwise_step(std::int64_t i, double scale) {
  const PairwiseMove move = pairwise_move(scores_, block(i).weight);
  if (move.gain == 0.0) return false;
  const double squared = squared_[static_cast<std::size_t>(i)];
  const double step = move_between(i, move, 2.0 * squared * scale);
  direction(i, move.best) += step;
  direction(i, move.worst) -= step;
  scores_[move.best] -= step * scale * squared;
  scores_[move.worst] += step * scale * squared;
  return true;
}

void ClassDual::pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) {
  for (int step = 1; step <= steps && pairwise_step(i, point.scale); ++step) {
    if (point.is_linear() || step == steps) continue;
    apply(i, point);
    rescore(i, point.w());
  }
  apply(i, point);
}

/// Adds the direction to the point, and clears it.
void ClassDual::apply(std::int64_t i, const VisitPoint& point) {
  classes_.features().scatter(i, direction_.data(), point.target());
  std::fill(direction_.begin(), direction_.end(), 0.0);
  if (point.is_linear()) return;
  rows_.clear();
  classes_.touched(i, rows_);
  for (const auto& [begin, end] : rows_) point.refresh(begin, end);
}

void ClassDual::prefetch(const std::int64_t* order, std::int64_t visit, std::int64_t count, const double* w,
                         bool) const {
  if (visit + 4 < count) __builtin_prefetch(&block(order[visit + 4]));
  if (visit + 3 < count) {
    const ClassOutputs& near = block(order[visit + 3]);
    __builtin_prefetch(near.label.data());
    __builtin_prefetch(near.weight.data());
    classes_.features().prefetch_features(order[visit + 3]);
  }
  if (visit + 1 < count) classes_.features().prefetch(order[visit + 1], {w});
}

}  // namespace casimir
