#include "chain/linear_chain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/parallel.hpp"
#include "base/simplex.hpp"

namespace casimir {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

void add_weight_row(const WeightView& w, std::int64_t row, RowShape shape, double* out) {
  const double* v = w.v + row * shape.stride;
  const double* c = w.c ? w.c + row * shape.stride : nullptr;
  for (int l = 0; l < shape.labels; ++l) out[l] += w.s * v[l] + (c ? w.a * c[l] : 0.0);
}

}  // namespace

void LinearChain::load_weights(const WeightView& w, Workspace& work) const {
  auto& chain = static_cast<ChainWorkspace&>(work);
  const int labels = shape_.labels, stride = shape_.stride;
  chain.to.resize(static_cast<std::size_t>(labels * stride));
  chain.from.resize(chain.to.size());
  for (int y = 0; y < labels; ++y) {
    double* row = chain.to.data() + y * stride;
    std::fill(row, row + labels, 0.0);
    add_weight_row(w, data_.n_features + y, shape_, row);
    for (int z = 0; z < labels; ++z) chain.from[cell(z, y)] = row[z];
    for (int z = labels; z < stride; ++z) row[z] = chain.from[cell(y, z)] = -kInf;
  }
}

void LinearChain::score_tokens(std::int64_t i, std::int64_t first, std::int64_t count, const WeightView& w,
                               bool with_cost, double* u) const {
  const std::int64_t start = data_.offsets[i], p = length(i), stride = shape_.stride;
  ops_.score(shape_, data_.features, start + first, count, w, u + first * stride);
  if (first == 0) add_weight_row(w, start_row(), shape_, u);
  if (first + count == p) add_weight_row(w, stop_row(), shape_, u + (p - 1) * stride);
  if (!with_cost || cost_.empty()) return;
  for (std::int64_t t = first; t < first + count; ++t) {
    const double* cost = cost_.data() + cell(data_.y[start + t], 0);
    for (int l = 0; l < stride; ++l) u[t * stride + l] += cost[l];
  }
}

double LinearChain::best_path(std::int64_t p, ChainWorkspace& work) const {
  const auto rows = static_cast<std::size_t>(p * shape_.stride);
  if (work.beta.size() < rows) work.beta.resize(rows), work.best.resize(rows);
  if (work.path.size() < static_cast<std::size_t>(p)) work.path.resize(static_cast<std::size_t>(p));
  ops_.backward_max(shape_, p, work.u.data(), transitions(work), work.beta.data(), work.best.data());
  const double* first = std::max_element(work.beta.data(), work.beta.data() + shape_.labels);
  work.path[0] = static_cast<std::int32_t>(first - work.beta.data());
  ops_.complete(shape_, p, 0, transitions(work), work.beta.data(), work.best.data(), work.path.data(), nullptr);
  return *first;
}

double LinearChain::path_score(std::int64_t p, const std::int32_t* labels, const ChainWorkspace& work) const {
  double score = work.u[cell(0, labels[0])];
  for (std::int64_t t = 1; t < p; ++t) score += work.u[cell(t, labels[t])] + work.to[cell(labels[t - 1], labels[t])];
  return score;
}

void LinearChain::add_output(std::int64_t p, const std::int32_t* labels, double weight, double* parts) const {
  double* edges = parts + p * shape_.stride;
  for (std::int64_t t = 0; t < p; ++t) parts[cell(t, labels[t])] += weight;
  for (std::int64_t t = 1; t < p; ++t) edges[cell(labels[t - 1], labels[t])] += weight;
}

void LinearChain::subtract_truth(std::int64_t i, double* parts) const { add_output(length(i), truth(i), -1.0, parts); }

Answer LinearChain::oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& workspace,
                           double* parts) const {
  if (!data_.y) throw std::invalid_argument("the loss of chains needs labels: give y.");
  auto& work = static_cast<ChainWorkspace&>(workspace);
  const std::int64_t p = length(i), stride = shape_.stride;
  const auto rows = static_cast<std::size_t>(p * stride);
  if (work.u.size() < rows) work.u.resize(rows);
  score_tokens(i, 0, p, w, true, work.u.data());
  const double truth_score = path_score(p, truth(i), work);
  if (parts) std::fill(parts, parts + (p + shape_.labels) * stride, 0.0);

  Answer answer;
  if (smoothing.kind == SmoothingKind::kHard) {
    answer.value = answer.max_value = best_path(p, work) - truth_score;
    if (parts) add_output(p, work.path.data(), 1.0, parts);
    answer.cost = cost_of_output(i, work.path.data());
    return answer;
  }
  if (smoothing.kind == SmoothingKind::kEntropy) {
    work.work.resize(static_cast<std::size_t>((3 * p + 2 * shape_.labels) * stride));
    double* nodes = parts;
    double* edges = parts ? parts + p * stride : nullptr;
    if (!parts) {
      work.nodes.assign(static_cast<std::size_t>((p + shape_.labels) * stride), 0.0);
      nodes = work.nodes.data();
      edges = nodes + p * stride;
    }
    answer.value =
        ops_.expect(shape_, p, work.u.data(), transitions(work), smoothing.mu, nodes, edges, 0, work.work.data()) -
        truth_score;
    answer.max_value = std::numeric_limits<double>::quiet_NaN();
    answer.cost = expected_cost(i, nodes);
    return answer;
  }

  // l2 smoothing: project the best scores over mu onto the simplex. One output more than k tells whether k is enough.
  if (work.beta.size() < rows) work.beta.resize(rows), work.best.resize(rows);
  ops_.backward_max(shape_, p, work.u.data(), transitions(work), work.beta.data(), work.best.data());
  work.kbest.run(ops_, shape_, p, transitions(work), work.beta.data(), work.best.data(), smoothing.k + 1, smoothing.mu);
  answer.exact = work.kbest.exact_for(smoothing.mu);
  const std::int64_t count = std::min(work.kbest.count(), smoothing.k);
  const auto use = [&](std::int64_t j, double weight) {
    if (parts) add_output(p, work.kbest.labels(j), weight, parts);
    answer.cost += weight * cost_of_output(i, work.kbest.labels(j));
  };
  answer.value = l2_smoothed(work.kbest.values(), count, smoothing.mu, work.work, use) - truth_score;
  answer.max_value = work.kbest.values()[0] - truth_score;
  return answer;
}

void LinearChain::scatter(std::int64_t i, const double* parts, const ScatterTarget& target) const {
  scatter_pairwise(i, parts, target);
  add_row(start_row(), parts, target);
  add_row(stop_row(), parts + cell(length(i) - 1, 0), target);
}

void LinearChain::collect(std::int64_t i, const double* parts, PartList& list) const {
  collect_pairwise(i, parts, list);
  collect_unit(-1 - start_row(), parts, list);
  collect_unit(-1 - stop_row(), parts + cell(length(i) - 1, 0), list);
}

void LinearChain::decode(const double* w, int threads, std::int64_t* labels, double* values) const {
  parallel_chunks(size(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    ChainWorkspace work;
    const WeightView view{w};
    load_weights(view, work);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t p = length(i);
      const auto rows = static_cast<std::size_t>(p * shape_.stride);
      if (work.u.size() < rows) work.u.resize(rows);
      score_tokens(i, 0, p, view, false, work.u.data());
      values[i] = best_path(p, work);
      std::copy_n(work.path.begin(), p, labels + data_.offsets[i]);
    }
  });
}

}  // namespace casimir
