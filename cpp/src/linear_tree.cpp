#include "casimir/linear_tree.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "casimir/parallel.hpp"
#include "casimir/simplex.hpp"

namespace casimir {

LinearTree::LinearTree(const LinearTreeData& data)
    : data_(data),
      shape_{data.labels, stride_of(data.labels)},
      ops_(chain_ops(shape_.stride)),
      parent_(static_cast<std::size_t>(data.offsets[data.size])) {
  for (std::int64_t i = 0; i < data.size; ++i) {
    const std::int64_t first = data.offsets[i];
    const std::int64_t* node = data.order.node + first;
    for (std::int64_t t = 0; t < length(i); ++t) {
      const std::int64_t above = data.order.parent[first + t];
      parent_[static_cast<std::size_t>(first + node[t])] = above < 0 ? -1 : node[above];
    }
  }
}

void LinearTree::load_weights(const WeightView& w, Workspace& workspace) const {
  auto& work = static_cast<TreeWorkspace&>(workspace);
  const std::int64_t labels = shape_.labels, stride = shape_.stride, base = data_.n_features * stride;
  work.edges.resize(static_cast<std::size_t>(labels * labels));
  for (std::int64_t l = 0; l < labels; ++l)
    for (std::int64_t y = 0; y < labels; ++y) {
      const std::int64_t at = base + l * stride + y;
      work.edges[static_cast<std::size_t>(l * labels + y)] = w.s * w.v[at] + (w.c ? w.a * w.c[at] : 0.0);
    }
}

TreeView LinearTree::view(std::int64_t i, const TreeWorkspace& work) const {
  const std::int64_t first = data_.offsets[i];
  return {shape_.labels,
          length(i),
          data_.order.node + first,
          data_.order.parent + first,
          data_.order.subtree + first,
          work.unary.data(),
          work.edges.data(),
          0};
}

void LinearTree::finish_scores(std::int64_t i, std::int64_t v, const double* row, bool with_cost,
                               TreeWorkspace& work) const {
  const int labels = shape_.labels;
  double* unary = work.unary.data() + v * labels;
  std::copy_n(row, labels, unary);
  if (!with_cost || !data_.cost) return;
  const double* cost = data_.cost + truth(i)[v] * labels;
  for (int l = 0; l < labels; ++l) unary[l] += cost[l];
}

void LinearTree::score_nodes(std::int64_t i, const WeightView& w, bool with_cost, TreeWorkspace& work) const {
  const std::int64_t p = length(i), stride = shape_.stride;
  if (work.padded.size() < static_cast<std::size_t>(p * stride))
    work.padded.resize(static_cast<std::size_t>(p * stride));
  if (work.unary.size() < static_cast<std::size_t>(p * shape_.labels))
    work.unary.resize(static_cast<std::size_t>(p * shape_.labels));
  ops_.score(shape_, data_.features, data_.offsets[i], p, w, work.padded.data());
  for (std::int64_t v = 0; v < p; ++v) finish_scores(i, v, work.padded.data() + v * stride, with_cost, work);
}

void LinearTree::score_node(std::int64_t i, std::int64_t v, const WeightView& w, bool with_cost,
                            TreeWorkspace& work) const {
  double* row = work.padded.data() + v * shape_.stride;
  ops_.score(shape_, data_.features, data_.offsets[i] + v, 1, w, row);
  finish_scores(i, v, row, with_cost, work);
}

double LinearTree::best_output(std::int64_t i, TreeWorkspace& work) const {
  const TreeView tree = view(i, work);
  work.max.run(tree);
  work.found.resize(static_cast<std::size_t>(tree.p));
  work.output.resize(static_cast<std::size_t>(tree.p));
  if (work.max.decode(work.found.data())) {
    for (std::int64_t t = 0; t < tree.p; ++t)
      work.output[static_cast<std::size_t>(tree.node[t])] = work.found[static_cast<std::size_t>(t)];
  } else {
    work.ties.start(work.max);
    work.ties.list([&](const std::vector<std::int64_t>& first) {
      std::copy(first.begin(), first.end(), work.output.begin());
      return false;
    });
  }
  return work.max.top();
}

double LinearTree::output_score(std::int64_t i, const std::int32_t* labels, const TreeWorkspace& work) const {
  double score = 0.0;
  const std::int64_t* above = parents(i);
  for (std::int64_t v = 0; v < length(i); ++v) {
    score += work.unary[static_cast<std::size_t>(v * shape_.labels + labels[v])];
    if (above[v] >= 0) score += work.edges[static_cast<std::size_t>(labels[v] * shape_.labels + labels[above[v]])];
  }
  return score;
}

template <class Label>
void LinearTree::add_output(std::int64_t i, const Label* labels, double weight, double* parts) const {
  const std::int64_t p = length(i), stride = shape_.stride;
  const std::int64_t* above = parents(i);
  for (std::int64_t v = 0; v < p; ++v) {
    parts[v * stride + labels[v]] += weight;
    if (above[v] >= 0) parts[(p + labels[v]) * stride + labels[above[v]]] += weight;
  }
}

void LinearTree::subtract_truth(std::int64_t i, double* parts) const { add_output(i, truth(i), -1.0, parts); }

Answer LinearTree::oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& workspace,
                          double* parts) const {
  if (!data_.y) throw std::invalid_argument("the loss of trees needs labels: give y.");
  auto& work = static_cast<TreeWorkspace&>(workspace);
  const std::int64_t p = length(i), stride = shape_.stride, cells = (p + shape_.labels) * stride;
  score_nodes(i, w, true, work);
  const double truth_score = output_score(i, truth(i), work);
  if (parts) std::fill(parts, parts + cells, 0.0);
  if (smoothing.kind == SmoothingKind::kL2) return smoothed_max(i, smoothing, truth_score, work, parts);

  Answer answer;
  if (smoothing.kind == SmoothingKind::kHard) {
    answer.value = answer.max_value = best_output(i, work) - truth_score;
    if (parts) add_output(i, work.output.data(), 1.0, parts);
    for (std::int64_t v = 0; v < p; ++v) answer.cost += cost_of(truth(i)[v], work.output[static_cast<std::size_t>(v)]);
    return answer;
  }
  if (!parts) {
    work.parts.assign(static_cast<std::size_t>(cells), 0.0);
    parts = work.parts.data();
  }
  answer.value = work.sum.run(view(i, work), smoothing.mu, stride, parts, parts + p * stride) - truth_score;
  answer.max_value = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t v = 0; data_.cost && v < p; ++v)
    for (int l = 0; l < shape_.labels; ++l) answer.cost += parts[v * stride + l] * cost_of(truth(i)[v], l);
  return answer;
}

/// l2 smoothing: the best scores over mu, projected onto the simplex. One output more than k tells whether k is enough.
Answer LinearTree::smoothed_max(std::int64_t i, const Smoothing& smoothing, double truth_score, TreeWorkspace& work,
                                double* parts) const {
  const std::int64_t p = length(i);
  work.max.run(view(i, work));
  work.kbest.run(work.max, smoothing.k + 1, smoothing.mu);
  Answer answer;
  answer.exact = work.kbest.count() <= smoothing.k;  // it stops before outputs that would get no weight
  const std::int64_t count = std::min(work.kbest.count(), smoothing.k);
  work.weights.resize(static_cast<std::size_t>(count));
  for (std::int64_t j = 0; j < count; ++j)
    work.weights[static_cast<std::size_t>(j)] = work.kbest.values()[j] / smoothing.mu;
  const auto support = static_cast<std::int64_t>(project_sorted_simplex(work.weights.data(), work.weights.size()));
  double norm = 0.0, value = 0.0;
  for (std::int64_t j = 0; j < support; ++j) {
    const double weight = work.weights[static_cast<std::size_t>(j)];
    const std::int64_t* labels = work.kbest.labels() + j * p;
    norm += weight * weight;
    value += weight * work.kbest.values()[j];
    if (parts) add_output(i, labels, weight, parts);
    for (std::int64_t v = 0; v < p; ++v)
      answer.cost += weight * cost_of(truth(i)[v], static_cast<std::int32_t>(labels[v]));
  }
  answer.value = value - 0.5 * smoothing.mu * (norm - 1.0) - truth_score;
  answer.max_value = work.kbest.values()[0] - truth_score;
  return answer;
}

void LinearTree::prefetch(std::int64_t i, const WeightView& w) const {
  const std::int64_t* indptr = data_.features.indptr + data_.offsets[i];
  const std::int64_t stride = shape_.stride, p = length(i);
  for (std::int64_t f = indptr[0]; f < indptr[p]; ++f) {
    const std::int64_t row = static_cast<std::int64_t>(data_.features.indices[f]) * stride;
    for (std::int64_t l = 0; l < stride; l += 8) {
      __builtin_prefetch(w.v + row + l);
      if (w.c) __builtin_prefetch(w.c + row + l);
    }
  }
}

void LinearTree::add_row(std::int64_t row, const double* x, const ScatterTarget& target) const {
  if (row < target.row_begin || row >= target.row_end) return;
  const std::int64_t first = row * shape_.stride;
  for (int l = 0; l < shape_.labels; ++l) target.v[first + l] += target.a * x[l];
  if (target.q)
    for (int l = 0; l < shape_.labels; ++l) target.q[first + l] += target.b * x[l];
}

void LinearTree::scatter(std::int64_t i, const double* parts, const ScatterTarget& target) const {
  const std::int64_t p = length(i);
  ops_.scatter(shape_, data_.features, data_.offsets[i], p, parts, target);
  for (int l = 0; l < shape_.labels; ++l) add_row(data_.n_features + l, parts + (p + l) * shape_.stride, target);
}

/// Units are nodes, or -1 - row for edge scores.
void LinearTree::collect(std::int64_t i, const double* parts, PartList& list) const {
  const std::int64_t p = length(i), stride = shape_.stride;
  const auto add = [&](std::int64_t unit, const double* x) {
    if (std::all_of(x, x + shape_.labels, [](double value) { return value == 0.0; })) return;
    list.unit.push_back(unit);
    list.values.insert(list.values.end(), x, x + stride);
  };
  for (std::int64_t v = 0; v < p; ++v) add(data_.offsets[i] + v, parts + v * stride);
  for (int l = 0; l < shape_.labels; ++l) add(-1 - (data_.n_features + l), parts + (p + l) * stride);
}

void LinearTree::scatter_list(const PartList& list, const ScatterTarget& target) const {
  const double* x = list.values.data();
  for (const std::int64_t unit : list.unit) {
    if (unit >= 0)
      ops_.scatter(shape_, data_.features, unit, 1, x, target);
    else
      add_row(-1 - unit, x, target);
    x += shape_.stride;
  }
}

void LinearTree::decode(const double* w, int threads, std::int64_t* labels, double* values) const {
  parallel_chunks(size(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    TreeWorkspace work;
    const WeightView weights{w};
    load_weights(weights, work);
    for (std::int64_t i = begin; i < end; ++i) {
      score_nodes(i, weights, false, work);
      values[i] = best_output(i, work);
      std::copy_n(work.output.begin(), length(i), labels + data_.offsets[i]);
    }
  });
}

}  // namespace casimir
