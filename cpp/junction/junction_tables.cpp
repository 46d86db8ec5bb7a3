#include "junction/junction_tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/numbers.hpp"

namespace casimir {
namespace {

// Scores this many times further below the best of their row than usual are taken for forbidden parts.
constexpr double kFar = 0x1p14;

/// Calls visit(row, width) for the labels of every node and the pairs of labels of every edge.
template <class Visit>
void for_each_row(const JunctionPlan& plan, const JunctionScores& scores, Visit&& visit) {
  const std::int64_t labels = plan.labels, pairs = labels * labels;
  for (std::int64_t v = 0; v < plan.nodes; ++v) visit(scores.unary + v * labels, labels);
  for (std::int64_t e = 0; scores.pairwise && e < scores.edges; ++e) visit(scores.pairwise + e * pairs, pairs);
}

/// d with |score(y)| < 2^51 d for all outputs, when scores below the best of their row minus `reach` are raised to it.
double exact_unit(const JunctionPlan& plan, const JunctionScores& scores, double reach) {
  double bound = 0.0;
  for_each_row(plan, scores, [&](const double* row, std::int64_t width) {
    const auto [low, high] = std::minmax_element(row, row + width);
    bound += std::max(std::abs(std::max(*low, *high - reach)), std::abs(*high));
  });
  if (!std::isfinite(4.0 * bound)) throw std::invalid_argument("the scores are so large that their sum is infinite.");
  int exponent = 0;
  std::frexp(bound, &exponent);
  return std::max(std::ldexp(1.0, exponent - 51), std::numeric_limits<double>::denorm_min());
}

}  // namespace

double usual_reach(const JunctionPlan& plan, const JunctionScores& scores) {
  double tops = 0.0, deepest = 0.0;
  std::int64_t rows = 0;
  for_each_row(plan, scores, [&](const double* row, std::int64_t width) {
    const auto [low, high] = std::minmax_element(row, row + width);
    tops += std::abs(*high);
    deepest = std::max(deepest, *high - *low);
    ++rows;
  });
  const auto count = static_cast<double>(rows);
  if (!(deepest * count > kFar * tops)) return kInf;
  std::vector<double> depths;
  for_each_row(plan, scores, [&](const double* row, std::int64_t width) {
    const double top = *std::max_element(row, row + width);
    for (std::int64_t j = 0; j < width; ++j)
      if (row[j] < top) depths.push_back(top - row[j]);
  });
  const auto middle = depths.begin() + static_cast<std::ptrdiff_t>(depths.size() / 2);
  std::nth_element(depths.begin(), middle, depths.end());
  const double reach = 2.0 * (tops + count * *middle);
  return deepest * count > kFar * reach ? reach : kInf;
}

double JunctionTables::load_exact(const JunctionPlan& plan, const JunctionScores& scores, double reach) {
  const double unit = exact_unit(plan, scores, reach);
  unary_.clear(), pairwise_.clear();
  double tops = 0.0;
  const std::int64_t nodes = plan.nodes;
  std::int64_t index = 0;
  for_each_row(plan, scores, [&](const double* row, std::int64_t width) {
    std::vector<double>& target = index++ < nodes ? unary_ : pairwise_;
    const double top = *std::max_element(row, row + width);
    tops += std::nearbyint(top / unit) * unit;
    for (std::int64_t j = 0; j < width; ++j)
      target.push_back(std::nearbyint(std::max(row[j], top - reach) / unit) * unit);
  });
  load(plan, scores);
  return tops;
}

void JunctionTables::load_scaled(const JunctionPlan& plan, const JunctionScores& scores, double mu) {
  const auto scaled = [mu](double score) { return score / mu; };
  unary_.resize(static_cast<std::size_t>(plan.nodes * plan.labels));
  std::transform(scores.unary, scores.unary + unary_.size(), unary_.begin(), scaled);
  pairwise_.resize(static_cast<std::size_t>(scores.pairwise ? scores.edges * plan.labels * plan.labels : 0));
  std::transform(scores.pairwise, scores.pairwise + pairwise_.size(), pairwise_.begin(), scaled);
  load(plan, scores);
}

/// phi_t(s, l) = unary(l) + sum of the edges from t to its separator.
void JunctionTables::load(const JunctionPlan& plan, const JunctionScores& scores) {
  plan_ = &plan;
  cells_.resize(static_cast<std::size_t>(plan.table_offsets.back()));
  std::int64_t most = 1;
  for (std::int64_t t = 0; t < plan.nodes; ++t) {
    most = std::max(most, plan.rows(t));
    const double* own = unary_.data() + plan.order[static_cast<std::size_t>(t)] * plan.labels;
    for (double* cell = cells(t); cell < cells(t) + plan.rows(t) * plan.labels; cell += plan.labels)
      std::copy(own, own + plan.labels, cell);
  }
  message_.resize(static_cast<std::size_t>(most));
  if (pairwise_.empty()) return;
  for (std::int64_t e = 0; e < scores.edges; ++e) {
    const std::int64_t t = edge_strides(scores.ends + 2 * e, strides_);
    project(strides_.data(), plan.dimensions(t), plan.labels, cells(t),
            pairwise_.data() + e * plan.labels * plan.labels, [](double& cell, double score) { cell += score; });
  }
}

/// The clique that an edge belongs to, and the steps of its dimensions in the edge's [labels][labels].
std::int64_t JunctionTables::edge_strides(const std::int64_t* ends, std::vector<std::int64_t>& strides) const {
  const std::int64_t u = plan_->position[static_cast<std::size_t>(ends[0])];
  const std::int64_t v = plan_->position[static_cast<std::size_t>(ends[1])];
  const std::int64_t t = std::min(u, v), other = std::max(u, v);
  const std::int64_t *separator = plan_->separator(t), size = plan_->separator_size(t);
  strides.assign(static_cast<std::size_t>(size) + 1, 0);
  strides.back() = t == u ? plan_->labels : 1;
  const auto dimension = std::find(separator, separator + size, other) - separator;
  strides[static_cast<std::size_t>(dimension)] = t == u ? 1 : plan_->labels;
  return t;
}

double JunctionTables::max_losses() {
  const std::int64_t labels = plan_->labels;
  double best = 0.0;
  for (std::int64_t t = 0; t < plan_->nodes; ++t) {
    double* cell = cells(t);
    for (std::int64_t s = 0; s < plan_->rows(t); ++s, cell += labels) {
      const double top = *std::max_element(cell, cell + labels);
      for (std::int64_t l = 0; l < labels; ++l) cell[l] = top - cell[l];
      message_[static_cast<std::size_t>(s)] = top;
    }
    if (plan_->separator_size(t) == 0) {
      best += message_[0];
      continue;
    }
    const std::int64_t parent = plan_->parent[static_cast<std::size_t>(t)];
    project(plan_->strides_in_parent(t), plan_->dimensions(parent), labels, cells(parent), message_.data(),
            [](double& target, double score) { target += score; });
  }
  return best;
}

void JunctionTables::least_losses() {
  const std::int64_t labels = plan_->labels;
  for (std::int64_t t = plan_->nodes - 2; t >= 0; --t) {
    const std::int64_t parent = plan_->parent[static_cast<std::size_t>(t)];
    std::fill_n(message_.begin(), plan_->rows(t), kInf);
    project(plan_->strides_in_parent(t), plan_->dimensions(parent), labels, cells(parent), message_.data(),
            [](double cell, double& least) { least = std::min(least, cell); });
    double* cell = cells(t);
    for (std::int64_t s = 0; s < plan_->rows(t); ++s, cell += labels)
      for (std::int64_t l = 0; l < labels; ++l) cell[l] += message_[static_cast<std::size_t>(s)];
  }
}

double JunctionTables::normalise() {
  const std::int64_t labels = plan_->labels;
  double value = 0.0;
  for (std::int64_t t = 0; t < plan_->nodes; ++t) {
    double* cell = cells(t);
    for (std::int64_t s = 0; s < plan_->rows(t); ++s, cell += labels) {
      const double top = *std::max_element(cell, cell + labels);
      double sum = 0.0;
      for (std::int64_t l = 0; l < labels; ++l) sum += cell[l] = std::exp(cell[l] - top);
      for (std::int64_t l = 0; l < labels; ++l) cell[l] /= sum;
      message_[static_cast<std::size_t>(s)] = top + std::log(sum);
    }
    if (plan_->separator_size(t) == 0) {
      value += message_[0];
      continue;
    }
    const std::int64_t parent = plan_->parent[static_cast<std::size_t>(t)];
    project(plan_->strides_in_parent(t), plan_->dimensions(parent), labels, cells(parent), message_.data(),
            [](double& target, double score) { target += score; });
  }
  return value;
}

void JunctionTables::marginals() {
  const std::int64_t labels = plan_->labels;
  for (std::int64_t t = plan_->nodes - 2; t >= 0; --t) {
    if (plan_->separator_size(t) == 0) continue;
    const std::int64_t parent = plan_->parent[static_cast<std::size_t>(t)];
    std::fill_n(message_.begin(), plan_->rows(t), 0.0);
    project(plan_->strides_in_parent(t), plan_->dimensions(parent), labels, cells(parent), message_.data(),
            [](double cell, double& sum) { sum += cell; });
    double* cell = cells(t);
    for (std::int64_t s = 0; s < plan_->rows(t); ++s, cell += labels)
      for (std::int64_t l = 0; l < labels; ++l) cell[l] *= message_[static_cast<std::size_t>(s)];
  }
}

void JunctionTables::sum_edges(const JunctionScores& scores, double* target) {
  const std::int64_t labels = plan_->labels;
  std::fill_n(target, scores.edges * labels * labels, 0.0);
  for (std::int64_t e = 0; e < scores.edges; ++e) {
    const std::int64_t t = edge_strides(scores.ends + 2 * e, strides_);
    project(strides_.data(), plan_->dimensions(t), labels, cells(t), target + e * labels * labels,
            [](double cell, double& sum) { sum += cell; });
  }
}

}  // namespace casimir
