#include "parts/part_dual.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <stdexcept>

#include "base/parallel.hpp"
#include "base/vectors.hpp"

namespace casimir {

PartDual::PartDual(const LinearParts& parts) : DualPasses(parts), parts_(parts) {
  workers_.emplace_back(parts);
  for (std::int64_t i = 0; i < parts.n_examples(); ++i) {
    check_label_count(parts.structure().labels(i));
    block(i).labels.assign(parts.truth(i), parts.truth(i) + parts.length(i));
  }
}

void PartDual::ask_together(std::int64_t at_once, int threads) {
  if (at_once < 1 || threads < 1) throw std::invalid_argument("ask_together needs at_once >= 1 and threads >= 1.");
  at_once_ = at_once;
  const auto most = static_cast<std::size_t>(std::min<std::int64_t>(threads, at_once));
  while (workers_.size() < most) workers_.emplace_back(parts_);
}

std::size_t PartDual::remember(std::int64_t i, const std::int32_t* labels) { return remember(i, labels, workers_[0]); }

std::size_t PartDual::remember(std::int64_t i, const std::int32_t* labels, Worker& worker) {
  auto& [gradient, work, used, difference] = worker;
  PartOutputs& own = block(i);
  const std::int64_t p = parts_.length(i);
  for (std::size_t k = 0; k < own.weight.size(); ++k)
    if (std::equal(labels, labels + p, own.labels.begin() + static_cast<std::ptrdiff_t>(k) * p)) return k;
  parts_.structure().cells_of(i, labels, used);
  difference.assign(at(parts_.marginal_count(i)), 0.0);
  for (const std::int64_t cell : used) difference[at(cell)] += 1.0;
  parts_.subtract_truth(i, difference.data());
  gradient.compute(i, difference.data());
  widen(own, gradient.columns());
  own.labels.insert(own.labels.end(), labels, labels + p);
  const std::size_t start = own.rows.size();
  own.rows.resize(start + own.width(), 0.0);
  auto place = own.columns.begin();
  for (std::size_t j = 0; j < gradient.columns().size(); ++j) {
    place = std::lower_bound(place, own.columns.end(), gradient.columns()[j]);
    own.rows[start + static_cast<std::size_t>(place - own.columns.begin())] = gradient.values()[j];
  }
  return own.add(parts_.cost_of(i, used));
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

/// The number of the best output at w; that of the truth where scores are not finite.
std::size_t PartDual::best_at(std::int64_t i, const double* w, Worker& worker) {
  auto& work = static_cast<PartsWorkspace&>(*worker.work);
  work.cells.resize(at(parts_.marginal_count(i)));
  parts_.load_weights({w}, work);
  parts_.scores(i, {w}, work, work.cells.data());
  return parts_.best_output(i, work) ? remember(i, work.output.data(), worker) : 0;
}

std::size_t PartDual::ask_oracle(std::int64_t i, const double* w) {
  const std::size_t target = best_at(i, w, workers_[0]);
  score_outputs(i, w);
  return target;
}

/// An example that is drawn twice in a round leaves the round to one thread.
void PartDual::ask_oracles(std::span<const std::int64_t> examples, const double* w) {
  std::vector<std::int64_t> sorted(examples.begin(), examples.end());
  std::sort(sorted.begin(), sorted.end());
  const bool are_apart = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  const auto count = static_cast<std::int64_t>(examples.size());
  const auto threads = are_apart ? static_cast<int>(std::min(count, static_cast<std::int64_t>(workers_.size()))) : 1;
  std::atomic<std::int64_t> next{0};
  parallel_chunks(threads, threads, [&](std::int64_t, std::int64_t, int worker) {
    for (std::int64_t k; (k = next.fetch_add(1)) < count;)
      best_at(examples[static_cast<std::size_t>(k)], w, workers_[static_cast<std::size_t>(worker)]);
  });
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
