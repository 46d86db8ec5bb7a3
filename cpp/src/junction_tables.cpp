#include "casimir/junction_tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace casimir {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Sum over the rows of the largest absolute entry.
double largest_sum(const double* values, std::int64_t rows, std::int64_t width) {
  double total = 0.0;
  for (std::int64_t i = 0; i < rows; ++i) {
    double largest = 0.0;
    for (std::int64_t j = 0; j < width; ++j) largest = std::max(largest, std::abs(values[i * width + j]));
    total += largest;
  }
  return total;
}

/// d with |score(y)| < 2^51 d for all outputs.
double exact_unit(const JunctionPlan& plan, const JunctionScores& scores) {
  double bound = largest_sum(scores.unary, plan.nodes, plan.labels);
  if (scores.pairwise) bound += largest_sum(scores.pairwise, scores.edges, plan.labels * plan.labels);
  if (!std::isfinite(4.0 * bound)) throw std::invalid_argument("the scores are so large that their sum is infinite.");
  int exponent = 0;
  std::frexp(bound, &exponent);
  return std::max(std::ldexp(1.0, exponent - 51), std::numeric_limits<double>::denorm_min());
}

}  // namespace

void JunctionTables::load_exact(const JunctionPlan& plan, const JunctionScores& scores) {
  const double unit = exact_unit(plan, scores);
  const auto rounded = [unit](double score) { return std::nearbyint(score / unit) * unit; };
  unary_.resize(static_cast<std::size_t>(plan.nodes * plan.labels));
  std::transform(scores.unary, scores.unary + unary_.size(), unary_.begin(), rounded);
  pairwise_.resize(static_cast<std::size_t>(scores.pairwise ? scores.edges * plan.labels * plan.labels : 0));
  std::transform(scores.pairwise, scores.pairwise + pairwise_.size(), pairwise_.begin(), rounded);
  load(plan, scores);
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
