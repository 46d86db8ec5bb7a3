// Labels whose pairs form any graph: by tables of cliques where it is narrow, by minimum cuts where pairs attract.
#pragma once

#include <memory>
#include <span>

#include "junction/junction_plan.hpp"
#include "labels/label_graph.hpp"

namespace casimir {

/// A graph of small treewidth.
class LabelJunction final : public LabelGraph {
 public:
  /// ends: [edges][2], each below `labels`. max_cells: what the tables may have together.
  LabelJunction(int labels, std::span<const std::int64_t> ends, double max_cells);

  std::unique_ptr<LabelOracles> oracles() const override;

  const JunctionGraphs& graphs() const { return graphs_; }

 private:
  JunctionGraphs graphs_;
};

/// Pairs of score 0 or more; others are refused when an oracle meets them. There is no expect.
class LabelCut final : public LabelGraph {
 public:
  LabelCut(int labels, std::span<const std::int64_t> ends);

  std::unique_ptr<LabelOracles> oracles() const override;
};

}  // namespace casimir
