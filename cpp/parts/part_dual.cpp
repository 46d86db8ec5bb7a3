#include "parts/part_dual.hpp"

#include <algorithm>
#include <iterator>

#include "base/vectors.hpp"

namespace casimir {

PartDual::PartDual(const LinearParts& parts)
    : DualPasses(parts), parts_(parts), gradient_(parts), work_(parts.workspace()) {
  for (std::int64_t i = 0; i < parts.n_examples(); ++i) {
    check_label_count(parts.structure().labels(i));
    block(i).labels.assign(parts.truth(i), parts.truth(i) + parts.length(i));
  }
}

std::size_t PartDual::remember(std::int64_t i, const std::int32_t* labels) {
  PartOutputs& own = block(i);
  const std::int64_t p = parts_.length(i);
  for (std::size_t k = 0; k < own.weight.size(); ++k)
    if (std::equal(labels, labels + p, own.labels.begin() + static_cast<std::ptrdiff_t>(k) * p)) return k;
  parts_.structure().cells_of(i, labels, used_);
  difference_.assign(at(parts_.marginal_count(i)), 0.0);
  for (const std::int64_t cell : used_) difference_[at(cell)] += 1.0;
  parts_.subtract_truth(i, difference_.data());
  gradient_.compute(i, difference_.data());
  widen(own, gradient_.columns());
  own.labels.insert(own.labels.end(), labels, labels + p);
  const std::size_t start = own.rows.size();
  own.rows.resize(start + own.width(), 0.0);
  auto place = own.columns.begin();
  for (std::size_t j = 0; j < gradient_.columns().size(); ++j) {
    place = std::lower_bound(place, own.columns.end(), gradient_.columns()[j]);
    own.rows[start + static_cast<std::size_t>(place - own.columns.begin())] = gradient_.values()[j];
  }
  return own.add(parts_.cost_of(i, used_));
}

/// Gives the block these columns as well.
void PartDual::widen(PartOutputs& own, const std::vector<std::int64_t>& columns) {
  if (std::includes(own.columns.begin(), own.columns.end(), columns.begin(), columns.end())) return;
  std::vector<std::int64_t> all;
  std::set_union(own.columns.begin(), own.columns.end(), columns.begin(), columns.end(), std::back_inserter(all));
  std::vector<double> rows(own.weight.size() * all.size(), 0.0);
  for (std::size_t j = 0, to = 0; j < own.width(); ++j, ++to) {
    while (all[to] != own.columns[j]) ++to;
    for (std::size_t k = 0; k < own.weight.size(); ++k) rows[k * all.size() + to] = own.row(k)[j];
  }
  own.columns = std::move(all);
  own.rows = std::move(rows);
}

/// score = cost + <w, a>; that of the truth is 0.
void PartDual::score_outputs(std::int64_t i, const double* w) {
  const PartOutputs& own = block(i);
  weights_.resize(own.width());
  for (std::size_t j = 0; j < own.width(); ++j) weights_[j] = w[own.columns[j]];
  scores_.resize(own.weight.size());
  for (std::size_t k = 0; k < scores_.size(); ++k)
    scores_[k] = own.cost[k] + dot(own.row(k), weights_.data(), static_cast<std::int64_t>(own.width()));
}

std::size_t PartDual::ask_oracle(std::int64_t i, const double* w) {
  auto& work = static_cast<PartsWorkspace&>(*work_);
  work.cells.resize(at(parts_.marginal_count(i)));
  parts_.load_weights({w}, work);
  parts_.scores(i, {w}, work, work.cells.data());
  const std::size_t target = parts_.best_output(i, work) ? remember(i, work.output.data()) : 0;
  score_outputs(i, w);
  return target;
}

void PartDual::rescore(std::int64_t i, const double* w) { score_outputs(i, w); }

/// Moves the point by `step` times the direction.
void PartDual::apply(std::int64_t i, double step, const VisitPoint& point) {
  const std::vector<std::int64_t>& columns = block(i).columns;
  const ScatterTarget target = point.target();
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const double change = step * direction_[j];
    target.v[columns[j]] += target.a * change;
    if (target.q) target.q[columns[j]] += target.b * change;
    point.refresh(columns[j], columns[j] + 1);
  }
}

void PartDual::frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) {
  const PartOutputs& own = block(i);
  const auto width = static_cast<std::int64_t>(own.width());
  direction_.assign(own.row(target), own.row(target) + width);
  for (std::size_t k = 0; k < own.weight.size(); ++k)
    if (own.weight[k] != 0.0)
      for (std::size_t j = 0; j < direction_.size(); ++j) direction_[j] -= own.weight[k] * own.row(k)[j];
  const double gamma = move_towards(i, target, dot(direction_.data(), direction_.data(), width) * point.scale);
  apply(i, gamma, point);
}

void PartDual::pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) {
  const PartOutputs& own = block(i);
  const auto width = static_cast<std::int64_t>(own.width());
  direction_.resize(own.width());
  for (int step = 1; step <= steps; ++step) {
    const PairwiseMove move = pairwise_move(scores_, own.weight);
    if (move.gain == 0.0) return;
    for (std::size_t j = 0; j < direction_.size(); ++j) direction_[j] = own.row(move.best)[j] - own.row(move.worst)[j];
    apply(i, move_between(i, move, dot(direction_.data(), direction_.data(), width) * point.scale), point);
    if (step < steps) score_outputs(i, point.w());
  }
}

}  // namespace casimir
