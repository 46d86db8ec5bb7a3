// Labelled nodes and edges of a graph per example: minimum cuts where there are two labels whose pairs attract, clique
// trees where graphs are narrow.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "junction/junction_plan.hpp"
#include "parts/part_structure.hpp"

namespace casimir {

/// Example i has nodes offsets[i]:offsets[i + 1] and edges edge_offsets[i]:edge_offsets[i + 1]; ends [M][2] counts
/// nodes within the example.
struct PartGraphs {
  const std::int64_t* offsets;
  const std::int64_t* edge_offsets;
  const std::int64_t* ends;
  std::int64_t size;
  std::int64_t labels;

  std::int64_t nodes(std::int64_t i) const { return offsets[i + 1] - offsets[i]; }
  std::int64_t edges(std::int64_t i) const { return edge_offsets[i + 1] - edge_offsets[i]; }
  const std::int64_t* ends_of(std::int64_t i) const { return ends + 2 * edge_offsets[i]; }
};

class GraphParts : public PartStructure {
 public:
  std::int64_t size() const override { return graphs_.size; }
  std::int64_t node_cells(std::int64_t i) const override { return graphs_.nodes(i) * graphs_.labels; }
  std::int64_t edge_cells(std::int64_t i) const override { return graphs_.edges(i) * graphs_.labels * graphs_.labels; }
  std::int64_t length(std::int64_t i) const override { return graphs_.nodes(i); }
  std::int64_t labels(std::int64_t) const override { return graphs_.labels; }
  void cells_of(std::int64_t i, const std::int32_t* y, std::vector<std::int64_t>& cells) const override;

  const PartGraphs& graphs() const { return graphs_; }

 protected:
  explicit GraphParts(const PartGraphs& graphs) : graphs_(graphs) {}

 private:
  PartGraphs graphs_;
};

/// Pairs that do not attract are refused when an oracle meets them. There is no expect.
class CutParts final : public GraphParts {
 public:
  explicit CutParts(const PartGraphs& graphs) : GraphParts(graphs) {}
  bool has_expect() const override { return false; }
  std::unique_ptr<PartOracles> oracles() const override;
};

class JunctionParts final : public GraphParts {
 public:
  /// max_cells: what the tables of an example may have together.
  JunctionParts(const PartGraphs& graphs, double max_cells);
  bool has_expect() const override { return true; }
  std::unique_ptr<PartOracles> oracles() const override;

  const JunctionGraphs& plans(std::int64_t i) const { return plans_[static_cast<std::size_t>(i)]; }

 private:
  std::vector<JunctionGraphs> plans_;  // of one example each
};

}  // namespace casimir
