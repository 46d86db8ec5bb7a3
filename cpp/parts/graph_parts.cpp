#include "parts/graph_parts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "cut/binary_kbest.hpp"
#include "cut/graph_cut.hpp"
#include "junction/junction_batch.hpp"

namespace casimir {
namespace {

constexpr double kRounding =
    1e-9;                      // of the largest score of a pair: what a pair may lack and still count as submodular
constexpr int kOneThread = 1;  // problems run their examples in parallel already

[[noreturn]] void refuse_pair(const PartGraphs& graphs, std::int64_t i, std::int64_t e, double lack) {
  char by[32];
  std::snprintf(by, sizeof by, "%g", lack);
  const std::int64_t* ends = graphs.ends_of(i) + 2 * e;
  throw std::invalid_argument(
      "The scores of edge (" + std::to_string(ends[0]) + ", " + std::to_string(ends[1]) + ") of example " +
      std::to_string(i) + " are not submodular: score(0, 1) + score(1, 0) exceeds score(0, 0) + score(1, 1) by " + by +
      ". Minimum cuts need pairs that prefer equal labels, e.g. -w [y_u != y_v] with w >= 0; "
      "else use JunctionTree.");
}

class CutOracles final : public PartOracles {
 public:
  explicit CutOracles(const CutParts& parts) : parts_(parts), graphs_(parts.graphs()) {}

  void max(std::int64_t i, const double* cells, std::int32_t* y) override {
    load(i, cells);
    graph_.best(labels_);
    std::copy(labels_.begin(), labels_.end(), y);
  }

  double expect(std::int64_t, const double*, double, double*) override {
    throw std::invalid_argument("minimum cuts give no probabilities: use L2() or Hard(), or JunctionTree.");
  }

  void best(std::int64_t i, const double* cells, std::int64_t k, double mu, TopKBatch& out) override {
    load(i, cells);
    kbest_.run(graph_, k, mu);
    out.counts.push_back(static_cast<std::int64_t>(kbest_.values().size()));
    out.values.insert(out.values.end(), kbest_.values().begin(), kbest_.values().end());
    for (const auto& y : kbest_.outputs()) out.labels.insert(out.labels.end(), y.begin(), y.end());
  }

 private:
  void load(std::int64_t i, const double* cells) {
    const std::int64_t m = graphs_.edges(i);
    const double* pairs = cells + parts_.node_cells(i);
    for (std::int64_t e = 0; e < m; ++e) {
      const double* s = pairs + 4 * e;
      const double lack = (s[1] - s[0]) + (s[2] - s[3]);
      if (lack > 0.0 && lack > kRounding * std::max({std::abs(s[0]), std::abs(s[1]), std::abs(s[2]), std::abs(s[3])}))
        refuse_pair(graphs_, i, e, lack);
    }
    const std::int64_t offsets[] = {0, graphs_.nodes(i)}, edge_offsets[] = {0, m};
    graph_.load({cells, offsets, 1, pairs, graphs_.ends_of(i), edge_offsets}, 0);
  }

  const CutParts& parts_;
  const PartGraphs& graphs_;
  BinaryGraph graph_;
  BinaryKBest kbest_;
  BinaryGraph::Labels labels_;
};

class JunctionOracles final : public PartOracles {
 public:
  explicit JunctionOracles(const JunctionParts& parts) : parts_(parts) {}

  void max(std::int64_t i, const double* cells, std::int32_t* y) override {
    labels_.assign(static_cast<std::size_t>(parts_.length(i)), 0);
    double value = 0.0;
    with_batch(i, cells, [&](const JunctionBatch& one) { junction_max(one, kOneThread, &value, labels_.data()); });
    std::copy(labels_.begin(), labels_.end(), y);
  }

  double expect(std::int64_t i, const double* cells, double mu, double* marginals) override {
    double value = 0.0;
    with_batch(i, cells, [&](const JunctionBatch& one) {
      junction_expect(one, mu, kOneThread, &value, marginals, marginals + parts_.node_cells(i));
    });
    return value;
  }

  void best(std::int64_t i, const double* cells, std::int64_t k, double mu, TopKBatch& out) override {
    with_batch(i, cells, [&](const JunctionBatch& one) { out.append(junction_topk(one, k, mu, kOneThread)); });
  }

 private:
  /// use(batch of one)
  template <class Use>
  void with_batch(std::int64_t i, const double* cells, Use&& use) const {
    const std::int64_t offsets[] = {0, parts_.length(i)}, edge_offsets[] = {0, parts_.graphs().edges(i)};
    use(JunctionBatch{parts_.plans(i), cells, offsets, cells + parts_.node_cells(i), edge_offsets});
  }

  const JunctionParts& parts_;
  std::vector<std::int64_t> labels_;
};

}  // namespace

void GraphParts::cells_of(std::int64_t i, const std::int32_t* y, std::vector<std::int64_t>& cells) const {
  const std::int64_t L = graphs_.labels, first_edge = node_cells(i);
  const std::int64_t* ends = graphs_.ends_of(i);
  const std::int64_t nodes = graphs_.nodes(i), edges = graphs_.edges(i);
  cells.resize(static_cast<std::size_t>(nodes + edges));
  std::int64_t* out = cells.data();
  for (std::int64_t v = 0; v < nodes; ++v) *out++ = v * L + y[v];
  for (std::int64_t e = 0; e < edges; ++e) *out++ = first_edge + (e * L + y[ends[2 * e]]) * L + y[ends[2 * e + 1]];
}

std::unique_ptr<PartOracles> CutParts::oracles() const { return std::make_unique<CutOracles>(*this); }

JunctionParts::JunctionParts(const PartGraphs& graphs, double max_cells) : GraphParts(graphs) {
  for (std::int64_t i = 0; i < graphs.size; ++i) {
    const std::int64_t offsets[] = {0, graphs.edges(i)};
    plans_.emplace_back(graphs.ends_of(i), offsets, 1, static_cast<int>(graphs.labels), max_cells);
  }
}

std::unique_ptr<PartOracles> JunctionParts::oracles() const { return std::make_unique<JunctionOracles>(*this); }

}  // namespace casimir
