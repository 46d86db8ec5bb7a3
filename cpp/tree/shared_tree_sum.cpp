#include "tree/shared_tree_sum.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/lanes.hpp"
#include "base/numbers.hpp"

namespace casimir {
namespace {

using L = Lanes<8>;
using V = L::V;
constexpr std::int64_t kW = 8;
constexpr double kWidest = 600.0;         // exp(-600) is a normal number
constexpr double kLeastMessage = 1e-280;  // below exp(-600), and far above what underflow takes away

struct Range {
  double low, high;
};

/// Of the scores that are not forbidden (-inf).
Range allowed_range(const double* scores, std::int64_t count) {
  Range range{kInf, -kInf};
  for (std::int64_t j = 0; j < count; ++j) {
    if (scores[j] > -kInf) range.low = std::min(range.low, scores[j]);
    range.high = std::max(range.high, scores[j]);
  }
  return range;
}

}  // namespace

double SharedTreeSum::run(const TreeView& tree, double mu, std::int64_t stride, double* nodes, double* edges) {
  const std::int64_t labels = tree.labels;
  double value = 0.0;
  if (!up(tree, mu, value)) return run_in_logs(tree, mu, stride, nodes, edges);
  factor_.assign(static_cast<std::size_t>(width_), 0.0);
  sums_.assign(static_cast<std::size_t>(labels * width_), 0.0);
  down(tree, stride, nodes);
  for (std::int64_t l = 0; l < labels; ++l)
    for (std::int64_t y = 0; y < labels; ++y)
      edges[l * stride + y] +=
          sums_[static_cast<std::size_t>(l * width_ + y)] * matrix_[static_cast<std::size_t>(l * width_ + y)];
  return value;
}

double SharedTreeSum::value(const TreeView& tree, double mu) {
  double value = 0.0;
  return up(tree, mu, value) ? value : value_in_logs(tree, mu);
}

/// M[l][y]; returns the largest score of a pair, or nothing where the scores are too far apart.
std::optional<double> SharedTreeSum::load_pairs(const TreeView& tree, double mu) {
  const std::int64_t labels = tree.labels;
  const auto [low, top_edge] = allowed_range(tree.edges, labels * labels);
  if (!(top_edge > -kInf && (top_edge - low) / mu < kWidest)) return std::nullopt;
  width_ = (labels + kW - 1) / kW * kW;
  const auto cells = static_cast<std::size_t>(tree.p * width_), block = static_cast<std::size_t>(labels * width_);
  if (beta_.size() < cells) beta_.resize(cells), weight_.resize(cells), message_.resize(cells);
  matrix_.assign(block, -kInf);
  for (std::int64_t l = 0; l < labels; ++l)
    for (std::int64_t y = 0; y < labels; ++y)
      matrix_[static_cast<std::size_t>(l * width_ + y)] = (tree.edges[l * labels + y] - top_edge) / mu;
  for (std::size_t j = 0; j < block; j += kW) L::store(matrix_.data() + j, L::exp(L::load(matrix_.data() + j)));
  return top_edge;
}

/// Weights b_t and messages of all positions; at roots the marginals in the place of weights. Returns whether nothing
/// was lost to underflow: with forbidden pairs a label of the parent may be left with labels of tiny weight only.
bool SharedTreeSum::up(const TreeView& tree, double mu, double& value) {
  const std::optional<double> top_edge = load_pairs(tree, mu);
  if (!top_edge) return false;
  const std::int64_t labels = tree.labels;
  const double inverse_mu = 1.0 / mu;
  for (std::int64_t t = 0; t < tree.p; ++t) {
    double* row = beta_.data() + t * width_;
    std::copy_n(tree.unary(t), labels, row);
    std::fill(row + labels, row + width_, -kInf);
  }
  for (std::int64_t t = tree.p - 1; t >= 0; --t) {
    const double* beta = beta_.data() + t * width_;
    double* b = weight_.data() + t * width_;
    double* message = message_.data() + t * width_;
    V top = L::load(beta);
    for (std::int64_t j = kW; j < width_; j += kW) top = L::max(top, L::load(beta + j));
    const double best = L::highest(top);
    V total{};
    for (std::int64_t j = 0; j < width_; j += kW) {
      const V weight = L::exp((L::load(beta + j) - best) * inverse_mu);
      L::store(b + j, weight);
      total += weight;
    }
    if (tree.is_root(t)) {
      const double sum = L::sum(total);
      value += best + mu * std::log(sum);
      for (std::int64_t l = 0; l < labels; ++l) b[l] /= sum;
      continue;
    }
    for (std::int64_t j = 0; j < width_; j += kW) {
      V even{}, odd{};
      std::int64_t l = 0;
      for (; l + 1 < labels; l += 2) {
        even += L::load(matrix_.data() + l * width_ + j) * b[l];
        odd += L::load(matrix_.data() + (l + 1) * width_ + j) * b[l + 1];
      }
      if (l < labels) even += L::load(matrix_.data() + l * width_ + j) * b[l];
      L::store(message + j, even + odd);
    }
    double* above = beta_.data() + tree.parent[t] * width_;
    for (std::int64_t y = 0; y < labels; ++y) {
      if (message[y] < kLeastMessage && can_have(tree, beta, y)) return false;
      above[y] += mu * std::log(message[y]);
    }
    value += best + *top_edge;  // the factors that messages leave out
  }
  return true;
}

/// Whether the labels of a node leave its parent label y; beta: of the node.
bool SharedTreeSum::can_have(const TreeView& tree, const double* beta, std::int64_t y) {
  for (std::int64_t l = 0; l < tree.labels; ++l)
    if (beta[l] > -kInf && tree.edges[l * tree.labels + y] > -kInf) return true;
  return false;
}

void SharedTreeSum::down(const TreeView& tree, std::int64_t stride, double* nodes) {
  const std::int64_t labels = tree.labels;
  double* f = factor_.data();
  for (std::int64_t t = 0; t < tree.p; ++t) {
    if (tree.is_root(t)) {
      std::copy_n(weight_.data() + t * width_, labels, nodes + tree.node[t] * stride);
      continue;
    }
    const double* above = nodes + tree.node[tree.parent[t]] * stride;
    const double* message = message_.data() + t * width_;
    const double* b = weight_.data() + t * width_;
    double* here = nodes + tree.node[t] * stride;
    for (std::int64_t y = 0; y < labels; ++y) f[y] = message[y] > 0.0 ? above[y] / message[y] : 0.0;
    for (std::int64_t l = 0; l < labels; ++l) {
      const double* row = matrix_.data() + l * width_;
      double* sums = sums_.data() + l * width_;
      V total{};
      for (std::int64_t j = 0; j < width_; j += kW) {
        const V factor = L::load(f + j);
        total += L::load(row + j) * factor;
        L::store(sums + j, L::load(sums + j) + factor * b[l]);
      }
      here[l] = b[l] * L::sum(total);
    }
  }
}

double SharedTreeSum::value_in_logs(const TreeView& tree, double mu) {
  all_nodes_.resize(static_cast<std::size_t>(tree.p * tree.labels));
  all_edges_.resize(static_cast<std::size_t>(tree.p * tree.labels * tree.labels));
  return in_logs_.run(tree, mu, all_nodes_.data(), all_edges_.data());
}

/// Any scores: every edge in the log domain, then the sum over edges.
double SharedTreeSum::run_in_logs(const TreeView& tree, double mu, std::int64_t stride, double* nodes, double* edges) {
  const std::int64_t labels = tree.labels, block = labels * labels;
  const double value = value_in_logs(tree, mu);
  for (std::int64_t v = 0; v < tree.p; ++v) {
    std::copy_n(all_nodes_.data() + v * labels, labels, nodes + v * stride);
    for (std::int64_t l = 0; l < labels; ++l)
      for (std::int64_t y = 0; y < labels; ++y)
        edges[l * stride + y] += all_edges_[static_cast<std::size_t>(v * block + l * labels + y)];
  }
  return value;
}

}  // namespace casimir
