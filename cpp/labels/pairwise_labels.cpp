#include "labels/pairwise_labels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "cut/graph_cut.hpp"
#include "junction/junction_batch.hpp"

namespace casimir {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr int kThreads = 1;  // problems run their examples in parallel already

std::vector<std::int64_t> checked_ends(int labels, std::span<const std::int64_t> ends) {
  for (const std::int64_t end : ends)
    if (end < 0 || end >= labels) throw std::invalid_argument("an edge names a label that is not there.");
  return {ends.begin(), ends.end()};
}

/// The scores as those of a graph with two labels per node, in a batch of one example.
class BatchOfOne {
 public:
  explicit BatchOfOne(const LabelGraph& graph)
      : offsets{0, graph.labels()},
        edge_offsets{0, graph.edges()},
        nodes(static_cast<std::size_t>(2 * graph.labels()), 0.0),
        edges(static_cast<std::size_t>(4 * graph.edges()), 0.0),
        labels(static_cast<std::size_t>(graph.labels())) {}

  /// Whether the scores are finite, and so are their sums. If not, no algorithm takes them.
  bool load(const LabelScores& s) {
    double total = 0.0;
    for (std::size_t l = 0; l < labels.size(); ++l) total += std::abs(nodes[2 * l + 1] = s.on[l]);
    for (std::size_t e = 0; 4 * e < edges.size(); ++e)
      total += 2.0 * std::abs(edges[4 * e] = edges[4 * e + 3] = s.pair[e]);
    return std::isfinite(total);
  }
  /// The answer to such scores: y = 0, of no value.
  double refuse(std::int32_t* y) const {
    std::fill_n(y, labels.size(), 0);
    return kNone;
  }
  void refuse(TopKBatch& out) const {
    const std::vector<std::int64_t> zeros(labels.size(), 0);
    out.add(1, &kNone, zeros.data(), static_cast<std::int64_t>(zeros.size()));
  }

  std::int64_t offsets[2], edge_offsets[2];
  std::vector<double> nodes, edges;
  std::vector<std::int64_t> labels;
};

class JunctionOracles final : public LabelOracles {
 public:
  explicit JunctionOracles(const LabelJunction& graph)
      : one_(graph),
        batch_{graph.graphs(), one_.nodes.data(), one_.offsets, one_.edges.data(), one_.edge_offsets},
        node_marginals_(one_.nodes.size()),
        edge_marginals_(one_.edges.size()) {}

  double max(const LabelScores& s, std::int32_t* y) override {
    if (!one_.load(s)) return one_.refuse(y);
    double value = 0.0;
    junction_max(batch_, kThreads, &value, one_.labels.data());
    std::copy(one_.labels.begin(), one_.labels.end(), y);
    return value;
  }

  double expect(const LabelScores& s, double mu, double* on, double* equal) override {
    if (!one_.load(s)) return kNone;
    double value = 0.0;
    junction_expect(batch_, mu, kThreads, &value, node_marginals_.data(), edge_marginals_.data());
    for (std::size_t l = 0; on && l < one_.labels.size(); ++l) on[l] = node_marginals_[2 * l + 1];
    for (std::size_t e = 0; on && 4 * e < one_.edges.size(); ++e)
      equal[e] = edge_marginals_[4 * e] + edge_marginals_[4 * e + 3];
    return value;
  }

  void best(const LabelScores& s, std::int64_t k, double mu, TopKBatch& out) override {
    if (!one_.load(s)) return one_.refuse(out);
    out.append(junction_topk(batch_, k, mu, kThreads));
  }

 private:
  BatchOfOne one_;
  JunctionBatch batch_;
  std::vector<double> node_marginals_, edge_marginals_;
};

class CutOracles final : public LabelOracles {
 public:
  explicit CutOracles(const LabelCut& graph)
      : one_(graph), batch_{one_.nodes.data(), one_.offsets, 1, one_.edges.data(), graph.ends(), one_.edge_offsets} {}

  double max(const LabelScores& s, std::int32_t* y) override {
    if (!load(s)) return one_.refuse(y);
    double value = 0.0;
    graph_cut_max(batch_, kThreads, &value, one_.labels.data());
    std::copy(one_.labels.begin(), one_.labels.end(), y);
    return value;
  }

  double expect(const LabelScores&, double, double*, double*) override {
    throw std::invalid_argument("minimum cuts give no probabilities: use a hinge loss, or another structure.");
  }

  void best(const LabelScores& s, std::int64_t k, double mu, TopKBatch& out) override {
    if (!load(s)) return one_.refuse(out);
    out.append(graph_cut_topk(batch_, k, mu, kThreads));
  }

 private:
  bool load(const LabelScores& s) {
    for (std::size_t e = 0; 4 * e < one_.edges.size(); ++e)
      if (s.pair[e] < 0.0)
        throw std::invalid_argument(
            "pairs of labels must have weights of 0 or more for minimum cuts, such as "
            "Ridge(lam, nonnegative=...) keeps.");
    return one_.load(s);
  }

  BatchOfOne one_;
  GraphBatch batch_;
};

}  // namespace

LabelJunction::LabelJunction(int labels, std::span<const std::int64_t> ends, double max_cells)
    : LabelGraph(labels, checked_ends(labels, ends)), graphs_([&] {
        const std::int64_t offsets[] = {0, edges()};
        return JunctionGraphs(this->ends(), offsets, 1, 2, max_cells);
      }()) {}

std::unique_ptr<LabelOracles> LabelJunction::oracles() const { return std::make_unique<JunctionOracles>(*this); }

LabelCut::LabelCut(int labels, std::span<const std::int64_t> ends) : LabelGraph(labels, checked_ends(labels, ends)) {}

std::unique_ptr<LabelOracles> LabelCut::oracles() const { return std::make_unique<CutOracles>(*this); }

}  // namespace casimir
