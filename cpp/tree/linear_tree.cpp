#include "tree/linear_tree.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/parallel.hpp"
#include "tree/tree_dual.hpp"
#include "weights/token_norm.hpp"

namespace casimir {

LinearTree::LinearTree(const LinearTokensData& data, const TreeOrderView& order, const SharedWeights& shared)
    : LinearTokens(data, shared), order_(order), parent_(static_cast<std::size_t>(data.offsets[data.n])) {
  for (std::int64_t i = 0; i < data.n; ++i) {
    const std::int64_t first = data.offsets[i];
    const std::int64_t* node = order.node + first;
    for (std::int64_t t = 0; t < length(i); ++t) {
      const std::int64_t above = order.parent[first + t];
      parent_[static_cast<std::size_t>(first + node[t])] = above < 0 ? -1 : node[above];
    }
  }
  keep_fixed_of_truth([this](std::int64_t i) { return fixed_score(i, truth(i)); });
}

void LinearTree::load_weights(const WeightView& w, Workspace& workspace) const {
  auto& work = static_cast<TreeWorkspace&>(workspace);
  const std::int64_t labels = shape_.labels;
  work.edges.resize(static_cast<std::size_t>(labels * labels));
  for (std::int64_t l = 0; l < labels; ++l)
    for (std::int64_t y = 0; y < labels; ++y) {
      const std::int64_t at = place(data_.n_features + l, y);
      work.edges[static_cast<std::size_t>(l * labels + y)] =
          w.s * w.v[at] + (w.c ? w.a * w.c[at] : 0.0) + fixed_pair(l, y);
    }
}

TreeView LinearTree::view(std::int64_t i, const TreeWorkspace& work) const {
  const std::int64_t first = data_.offsets[i];
  return {shape_.labels,          length(i),         order_.node + first, order_.parent + first,
          order_.subtree + first, work.unary.data(), work.edges.data(),   0};
}

void LinearTree::finish_scores(std::int64_t i, std::int64_t v, const double* row, TreeWorkspace& work) const {
  const int labels = shape_.labels;
  double* unary = work.unary.data() + v * labels;
  std::copy_n(row, labels, unary);
  if (fixed_nodes_.empty()) return;
  const double* fixed = fixed_nodes_.row(data_.offsets[i] + v);
  for (int l = 0; l < labels; ++l) unary[l] += fixed[l];
}

void LinearTree::score_nodes(std::int64_t i, const WeightView& w, TreeWorkspace& work) const {
  const std::int64_t p = length(i), stride = shape_.stride;
  if (work.padded.size() < static_cast<std::size_t>(p * stride))
    work.padded.resize(static_cast<std::size_t>(p * stride));
  if (work.unary.size() < static_cast<std::size_t>(p * shape_.labels))
    work.unary.resize(static_cast<std::size_t>(p * shape_.labels));
  score_features(data_.offsets[i], p, w, work.padded.data());
  for (std::int64_t v = 0; v < p; ++v) finish_scores(i, v, work.padded.data() + v * stride, work);
}

void LinearTree::score_node(std::int64_t i, std::int64_t v, const WeightView& w, TreeWorkspace& work) const {
  double* row = work.padded.data() + v * shape_.stride;
  score_features(data_.offsets[i] + v, 1, w, row);
  finish_scores(i, v, row, work);
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
void LinearTree::add_output(std::int64_t i, const Label* labels, double weight, double* marginals) const {
  const std::int64_t p = length(i), stride = shape_.stride;
  const std::int64_t* above = parents(i);
  for (std::int64_t v = 0; v < p; ++v) {
    marginals[v * stride + labels[v]] += weight;
    if (above[v] >= 0) marginals[(p + labels[v]) * stride + labels[above[v]]] += weight;
  }
}

void LinearTree::subtract_truth(std::int64_t i, double* marginals) const {
  if (!data_.y) return subtract_marginals(i, marginals);
  add_output(i, truth(i), -1.0, marginals);
}

double LinearTree::truth_score(std::int64_t i, const TreeWorkspace& work) const {
  if (data_.y) return output_score(i, truth(i), work);
  if (!data_.truth) return 0.0;
  const std::int64_t p = length(i), stride = shape_.stride, labels = shape_.labels;
  const double* u = truth_marginals(i);
  double score = 0.0;
  for (std::int64_t v = 0; v < p; ++v) score += expected_score(u + v * stride, work.unary.data() + v * labels, labels);
  for (std::int64_t l = 0; l < labels; ++l)
    score += expected_score(u + (p + l) * stride, work.edges.data() + l * labels, labels);
  return score;
}

/// The oracles of one tree whose scores are in work.unary and work.edges.
struct LinearTree::Oracles {
  const LinearTree& trees;
  std::int64_t i, p;
  TreeWorkspace& work;
  const double* seen = nullptr;  // the marginals of the last expect

  double max() { return trees.best_output(i, work); }
  void add_best(double* marginals) const { trees.add_output(i, work.output.data(), 1.0, marginals); }
  double best_cost() const { return trees.cost_of(i, work.output.data()); }

  double expect(double mu, double* marginals) {
    const std::int64_t stride = trees.shape_.stride;
    if (!marginals && !trees.has_fixed()) return work.sum.value(trees.view(i, work), mu);  // and the costs are 0
    if (!marginals) {
      work.marginals.assign(static_cast<std::size_t>((p + trees.shape_.labels) * stride), 0.0);
      marginals = work.marginals.data();
    }
    seen = marginals;
    return work.sum.run(trees.view(i, work), mu, stride, marginals, marginals + p * stride);
  }
  double expected_cost() const { return trees.expected_cost(i, seen); }

  BestList best(std::int64_t k, double mu) {
    work.max.run(trees.view(i, work));
    work.kbest.run(work.max, k + 1, mu);
    // It stops before outputs that would get no weight.
    return {work.kbest.values(), work.kbest.count(), work.kbest.count() <= k};
  }
  const std::int64_t* labels(std::int64_t j) const { return work.kbest.labels() + j * p; }
  void add(std::int64_t j, double weight, double* marginals) const {
    trees.add_output(i, labels(j), weight, marginals);
  }
  double cost(std::int64_t j) const { return trees.cost_of(i, labels(j)); }
};

Answer LinearTree::oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& workspace,
                          double* marginals) const {
  auto& work = static_cast<TreeWorkspace&>(workspace);
  const std::int64_t p = length(i);
  score_nodes(i, w, work);
  if (marginals) std::fill(marginals, marginals + (p + shape_.labels) * shape_.stride, 0.0);
  return less(smoothed_max(Oracles{*this, i, p, work}, smoothing, work.weights, marginals), truth_score(i, work));
}

/// The padding of a row is 0.
void LinearTree::scores(std::int64_t i, const WeightView& w, Workspace& workspace, double* out) const {
  auto& work = static_cast<TreeWorkspace&>(workspace);
  const std::int64_t p = length(i), labels = shape_.labels, stride = shape_.stride;
  score_nodes(i, w, work);
  std::fill_n(out, (p + labels) * stride, 0.0);
  for (std::int64_t v = 0; v < p; ++v) std::copy_n(work.unary.data() + v * labels, labels, out + v * stride);
  for (std::int64_t l = 0; l < labels; ++l) std::copy_n(work.edges.data() + l * labels, labels, out + (p + l) * stride);
}

double LinearTree::expect(std::int64_t i, const double* scores, double mu, Workspace& workspace,
                          double* marginals) const {
  auto& work = static_cast<TreeWorkspace&>(workspace);
  const std::int64_t p = length(i), labels = shape_.labels, stride = shape_.stride;
  work.unary.resize(std::max(work.unary.size(), static_cast<std::size_t>(p * labels)));
  work.edges.resize(static_cast<std::size_t>(labels * labels));
  for (std::int64_t v = 0; v < p; ++v) std::copy_n(scores + v * stride, labels, work.unary.data() + v * labels);
  for (std::int64_t l = 0; l < labels; ++l)
    std::copy_n(scores + (p + l) * stride, labels, work.edges.data() + l * labels);
  std::fill_n(marginals, (p + labels) * stride, 0.0);
  return work.sum.run(view(i, work), mu, stride, marginals, marginals + p * stride);
}

std::unique_ptr<BlockNorm> LinearTree::block_norm() const { return std::make_unique<TokenNorm>(*this, false); }

void LinearTree::scatter(std::int64_t i, const double* marginals, const ScatterTarget& target) const {
  scatter_pairwise(i, marginals, target);
}

void LinearTree::collect(std::int64_t i, const double* marginals, MarginalList& list) const {
  collect_pairwise(i, marginals, list);
}

void LinearTree::decode(const double* w, int threads, std::int64_t* labels, double* values) const {
  parallel_chunks(n_examples(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    TreeWorkspace work;
    const WeightView weights{w};
    load_weights(weights, work);
    for (std::int64_t i = begin; i < end; ++i) {
      score_nodes(i, weights, work);
      values[i] = best_output(i, work);
      std::copy_n(work.output.begin(), length(i), labels + data_.offsets[i]);
    }
  });
}

std::unique_ptr<DualBlocks> LinearTree::dual_blocks(int /*threads*/) const {
  if (!data_.y) throw std::invalid_argument("dual blocks need true outputs: give y.");
  return std::make_unique<TreeDual>(*this);
}

}  // namespace casimir
