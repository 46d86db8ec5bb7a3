#include "tree/linear_tree.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/parallel.hpp"
#include "base/simplex.hpp"

namespace casimir {

LinearTree::LinearTree(const LinearTokensData& data, const TreeOrderView& order)
    : LinearTokens(data), order_(order), parent_(static_cast<std::size_t>(data.offsets[data.size])) {
  for (std::int64_t i = 0; i < data.size; ++i) {
    const std::int64_t first = data.offsets[i];
    const std::int64_t* node = order.node + first;
    for (std::int64_t t = 0; t < length(i); ++t) {
      const std::int64_t above = order.parent[first + t];
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
  return {shape_.labels,          length(i),         order_.node + first, order_.parent + first,
          order_.subtree + first, work.unary.data(), work.edges.data(),   0};
}

void LinearTree::finish_scores(std::int64_t i, std::int64_t v, const double* row, bool with_cost,
                               TreeWorkspace& work) const {
  const int labels = shape_.labels;
  double* unary = work.unary.data() + v * labels;
  std::copy_n(row, labels, unary);
  if (!with_cost || cost_.empty()) return;
  const double* cost = cost_.data() + cell(truth(i)[v], 0);
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
    answer.cost = cost_of_output(i, work.output.data());
    return answer;
  }
  if (!parts) {
    work.parts.assign(static_cast<std::size_t>(cells), 0.0);
    parts = work.parts.data();
  }
  answer.value = work.sum.run(view(i, work), smoothing.mu, stride, parts, parts + p * stride) - truth_score;
  answer.max_value = std::numeric_limits<double>::quiet_NaN();
  answer.cost = expected_cost(i, parts);
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
  const auto use = [&](std::int64_t j, double weight) {
    const std::int64_t* labels = work.kbest.labels() + j * p;
    if (parts) add_output(i, labels, weight, parts);
    answer.cost += weight * cost_of_output(i, labels);
  };
  answer.value = l2_smoothed(work.kbest.values(), count, smoothing.mu, work.weights, use) - truth_score;
  answer.max_value = work.kbest.values()[0] - truth_score;
  return answer;
}

void LinearTree::scatter(std::int64_t i, const double* parts, const ScatterTarget& target) const {
  scatter_pairwise(i, parts, target);
}

void LinearTree::collect(std::int64_t i, const double* parts, PartList& list) const {
  collect_pairwise(i, parts, list);
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
