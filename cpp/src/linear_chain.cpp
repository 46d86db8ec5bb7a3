#include "casimir/linear_chain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "casimir/parallel.hpp"
#include "casimir/simplex.hpp"

namespace casimir {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

void add_weight_row(const WeightView& w, std::int64_t row, RowShape shape, double* out) {
  const double* v = w.v + row * shape.stride;
  const double* c = w.c ? w.c + row * shape.stride : nullptr;
  for (int l = 0; l < shape.labels; ++l) out[l] += w.s * v[l] + (c ? w.a * c[l] : 0.0);
}

}  // namespace

LinearChain::LinearChain(const LinearChainData& data)
    : data_(data), shape_{data.labels, stride_of(data.labels)}, ops_(chain_ops(shape_.stride)) {
  if (!data.cost) return;
  cost_.assign(static_cast<std::size_t>(shape_.labels * shape_.stride), 0.0);
  for (int y = 0; y < shape_.labels; ++y)
    for (int z = 0; z < shape_.labels; ++z) cost_[cell(y, z)] = data.cost[y * shape_.labels + z];
}

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
  if (first == 0) add_weight_row(w, data_.n_features + shape_.labels, shape_, u);
  if (first + count == p) add_weight_row(w, data_.n_features + shape_.labels + 1, shape_, u + (p - 1) * stride);
  if (!with_cost || cost_.empty()) return;
  for (std::int64_t t = first; t < first + count; ++t) {
    const double* cost = cost_.data() + cell(data_.y[start + t], 0);
    for (int l = 0; l < stride; ++l) u[t * stride + l] += cost[l];
  }
}

void LinearChain::prefetch_tokens(std::int64_t i, std::int64_t first, std::int64_t count, const WeightView& w) const {
  const std::int64_t* indptr = data_.features.indptr + data_.offsets[i] + first;
  const std::int64_t stride = shape_.stride;
  for (std::int64_t f = indptr[0]; f < indptr[count]; ++f) {
    const std::int64_t row = static_cast<std::int64_t>(data_.features.indices[f]) * stride;
    for (std::int64_t l = 0; l < stride; l += 8) {
      __builtin_prefetch(w.v + row + l);
      if (w.c) __builtin_prefetch(w.c + row + l);
    }
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
    for (std::int64_t t = 0; t < p; ++t) answer.cost += cost_of(truth(i)[t], work.path[static_cast<std::size_t>(t)]);
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
    if (!cost_.empty())
      for (std::int64_t t = 0; t < p; ++t)
        for (int l = 0; l < shape_.labels; ++l) answer.cost += nodes[cell(t, l)] * cost_of(truth(i)[t], l);
    return answer;
  }

  // l2 smoothing: project the best scores over mu onto the simplex. One output more than k tells whether k is enough.
  if (work.beta.size() < rows) work.beta.resize(rows), work.best.resize(rows);
  ops_.backward_max(shape_, p, work.u.data(), transitions(work), work.beta.data(), work.best.data());
  work.kbest.run(ops_, shape_, p, transitions(work), work.beta.data(), work.best.data(), smoothing.k + 1, smoothing.mu);
  answer.exact = work.kbest.exact_for(smoothing.mu);
  const std::int64_t count = std::min(work.kbest.count(), smoothing.k);
  std::vector<double>& weights = work.work;
  weights.resize(static_cast<std::size_t>(count));
  for (std::int64_t j = 0; j < count; ++j) weights[static_cast<std::size_t>(j)] = work.kbest.values()[j] / smoothing.mu;
  const auto support = static_cast<std::int64_t>(project_sorted_simplex(weights.data(), weights.size()));
  double norm = 0.0, value = 0.0;
  for (std::int64_t j = 0; j < support; ++j) {
    const double weight = weights[static_cast<std::size_t>(j)];
    const std::int32_t* labels = work.kbest.labels(j);
    norm += weight * weight;
    value += weight * work.kbest.values()[j];
    if (parts) add_output(p, labels, weight, parts);
    for (std::int64_t t = 0; t < p; ++t) answer.cost += weight * cost_of(truth(i)[t], labels[t]);
  }
  answer.value = value - 0.5 * smoothing.mu * (norm - 1.0) - truth_score;
  answer.max_value = work.kbest.values()[0] - truth_score;
  return answer;
}

void LinearChain::add_row(std::int64_t row, const double* x, const ScatterTarget& target) const {
  if (row < target.row_begin || row >= target.row_end) return;
  const std::int64_t first = row * shape_.stride;
  for (int l = 0; l < shape_.labels; ++l) target.v[first + l] += target.a * x[l];
  if (target.q)
    for (int l = 0; l < shape_.labels; ++l) target.q[first + l] += target.b * x[l];
}

void LinearChain::scatter(std::int64_t i, const double* parts, const ScatterTarget& target) const {
  const std::int64_t p = length(i), stride = shape_.stride, base = data_.n_features;
  ops_.scatter(shape_, data_.features, data_.offsets[i], p, parts, target);
  for (int y = 0; y < shape_.labels; ++y) add_row(base + y, parts + (p + y) * stride, target);
  add_row(base + shape_.labels, parts, target);
  add_row(base + shape_.labels + 1, parts + (p - 1) * stride, target);
}

/// Units are tokens, or -1 - row for transitions, start and stop.
void LinearChain::collect(std::int64_t i, const double* parts, PartList& list) const {
  const std::int64_t p = length(i), stride = shape_.stride, base = data_.n_features;
  const auto add = [&](std::int64_t unit, const double* x) {
    if (std::all_of(x, x + shape_.labels, [](double value) { return value == 0.0; })) return;
    list.unit.push_back(unit);
    list.values.insert(list.values.end(), x, x + stride);
  };
  for (std::int64_t t = 0; t < p; ++t) add(data_.offsets[i] + t, parts + t * stride);
  for (int y = 0; y < shape_.labels; ++y) add(-1 - (base + y), parts + (p + y) * stride);
  add(-1 - (base + shape_.labels), parts);
  add(-1 - (base + shape_.labels + 1), parts + (p - 1) * stride);
}

void LinearChain::scatter_list(const PartList& list, const ScatterTarget& target) const {
  const double* x = list.values.data();
  for (const std::int64_t unit : list.unit) {
    if (unit >= 0)
      ops_.scatter(shape_, data_.features, unit, 1, x, target);
    else
      add_row(-1 - unit, x, target);
    x += shape_.stride;
  }
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
