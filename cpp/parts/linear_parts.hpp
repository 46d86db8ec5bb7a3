// Part scores that are linear in features, for any structure: one row of features and weights per node and edge.
//
//     score(y) = sum over the cells of y of their scores;  nodes and edges have rows of their own (see PartRows)
//
// Marginals of an example: those of its cells, nodes first. Rows of w have one double: coordinates can be split freely.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "parts/part_rows.hpp"
#include "parts/part_structure.hpp"
#include "solve/problem.hpp"

namespace casimir {

struct LinearPartsData {
  std::shared_ptr<const PartStructure> structure;
  PartRows nodes;
  std::optional<PartRows> edges;  // none: edges score 0
  std::int64_t n_params;
  const std::int32_t* y;      // the true outputs, one after another, or null
  const double* truth;        // without y: its marginals, where it is not one output; or null: no truth
  const double* fixed_nodes;  // scores of all node cells that do not depend on w, or null
  const double* fixed_edges;  // of all edge cells, or null
};

struct PartsWorkspace final : Workspace {
  std::unique_ptr<PartOracles> oracles;
  std::vector<double> cells;  // scores, in the layout of marginals
  std::vector<double> node_table, edge_table, products, weights, marginals;
  std::vector<std::int32_t> output;
  std::vector<std::int64_t> used;  // the cells of an output
  TopKBatch best;
};

class LinearParts final : public Problem {
 public:
  explicit LinearParts(LinearPartsData data);

  std::int64_t n_examples() const override { return structure().size(); }
  std::int64_t n_params() const override { return data_.n_params; }
  std::int64_t rows() const override { return data_.n_params; }
  std::int64_t marginal_offset(std::int64_t i) const override { return node_offsets_[at(i)] + edge_offsets_[at(i)]; }
  std::int64_t output_offset(std::int64_t i) const override { return output_offsets_[at(i)]; }
  bool has_expect() const override { return structure().has_expect(); }
  std::unique_ptr<Workspace> workspace() const override;
  void load_weights(const WeightView& w, Workspace& work) const override;
  Answer oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& work,
                double* marginals) const override;
  void prefetch(std::int64_t, const WeightView&) const override {}  // rows of an example stream well by themselves
  void scores(std::int64_t i, const WeightView& w, Workspace& work, double* out) const override;
  double expect(std::int64_t i, const double* scores, double mu, Workspace& work, double* marginals) const override;
  double expected_cost(std::int64_t i, const double* marginals) const override;
  void add_truth_scores(std::int64_t i, double margin, double* scores) const override;
  std::unique_ptr<BlockNorm> block_norm() const override;
  void subtract_truth(std::int64_t i, double* marginals) const override;
  void scatter(std::int64_t i, const double* marginals, const ScatterTarget& target) const override;
  void collect(std::int64_t i, const double* marginals, MarginalList& list) const override;
  void scatter_list(const MarginalList& list, const ScatterTarget& target) const override;
  void touched(std::int64_t i, std::vector<RowRange>& ranges) const override;
  void decode(const double* w, int threads, std::int64_t* labels, double* values) const override;
  std::unique_ptr<DualBlocks> dual_blocks(int threads) const override;

  const PartStructure& structure() const { return *data_.structure; }
  const std::int32_t* truth(std::int64_t i) const { return data_.y + output_offset(i); }
  std::int64_t length(std::int64_t i) const { return output_offset(i + 1) - output_offset(i); }
  /// The best output at scores in work.cells; false where they are not finite.
  bool best_output(std::int64_t i, PartsWorkspace& work) const;
  /// ell_i(y), the fixed score of y less that of the truth; used: its cells.
  double cost_of(std::int64_t i, const std::vector<std::int64_t>& used) const;
  /// Appends the ranges of weights that rows with marginals other than 0 read.
  void ranges_of(std::int64_t i, const double* marginals, std::vector<RowRange>& ranges) const;

 private:
  struct Oracles;

  /// visit(rows, row, its cells, is_edge) for every row of example i; cells: a block in the layout of marginals.
  template <class Cells, class Visit>
  void for_each_row(std::int64_t i, Cells* cells, Visit&& visit) const;
  double fixed_at(std::int64_t i, std::int64_t cell) const;
  double truth_score(std::int64_t i, const double* cells, std::vector<std::int64_t>& used) const;
  const double* truth_marginals(std::int64_t i) const { return data_.truth + marginal_offset(i); }
  bool has_costs() const { return data_.fixed_nodes || data_.fixed_edges; }
  std::int64_t node_cells(std::int64_t i) const { return node_offsets_[at(i + 1)] - node_offsets_[at(i)]; }

  LinearPartsData data_;
  std::vector<std::int64_t> node_offsets_, edge_offsets_, output_offsets_;  // of cells, and of entries of outputs
  std::vector<double> of_truth_;  // [n]: the fixed score of the truth; empty: all 0
};

/// A_i^T x of blocks of marginals x, where it is not 0.
class PartGradient {
 public:
  explicit PartGradient(const LinearParts& parts) : parts_(parts), values_(at(parts.n_params()), 0.0) {}

  /// Computes J_i^T x. `columns` are the weights that may have changed, ascending, and `values` theirs.
  void compute(std::int64_t i, const double* x);
  const std::vector<std::int64_t>& columns() const { return columns_; }
  const std::vector<double>& values() const { return found_; }

 private:
  const LinearParts& parts_;
  std::vector<double> values_, found_;
  std::vector<std::int64_t> columns_;
  std::vector<RowRange> ranges_;
};

}  // namespace casimir
