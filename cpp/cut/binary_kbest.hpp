// The best outputs of a binary graph by Best Max-Marginal First (algo:top_k_map:general; Yanover & Weiss 2004).
//
// The outputs are split into subsets, each given by labels that are forced at some nodes. A subset U knows its best
// output y and, once asked, the best one beside it: with loss_v = how much the maximum over U falls when node v must
// leave y_v, it loses min_v loss_v. Of several such outputs the lexicographically first is the first among the lowest
// maximisers of U with y_v flipped, over the nodes v of least loss. When it is pulled, it and y part at a node where
// they differ. Both halves keep their constraints, and what is known of the losses: they only grow in a smaller subset,
// so that most nodes need not be looked at again.
#pragma once

#include <cstdint>
#include <vector>

#include "cut/graph_cut.hpp"

namespace casimir {

/// Outputs of one graph sorted by (score descending, labels lexicographic).
class BinaryKBest {
 public:
  using Labels = BinaryGraph::Labels;

  /// Pulls at most k outputs of the loaded graph; with a finite mu fewer, once no other output gets weight in
  /// proj_simplex(score / mu) (prop:smoothing:proj-simplex-2): mu <= sum_{i<=K} (z_i - z_{K+1}).
  void run(BinaryGraph& graph, std::int64_t k, double mu);

  const std::vector<double>& values() const { return values_; }
  const std::vector<Labels>& outputs() const { return outputs_; }

 private:
  struct Forced {
    std::int32_t v;
    int label;
  };

  struct Subset {
    std::vector<Forced> forced;
    Labels best, next;
    double value, next_value;
    bool looked, has_next;     // was `next` looked for, and is there one above the floor?
    std::vector<double> loss;  // lower bounds on the loss of every node, infinite where it is forced
  };

  void find_next(Subset& subset);
  double find_least_loss(Subset& subset);
  void take_first_of_least(Subset& subset, double least);
  void try_flip(Subset& subset, std::int32_t v);
  Subset* best_subset();
  void split(std::size_t index);
  void make_table();
  bool before(double value, const Labels& y, double other_value, const Labels& other) const;

  BinaryGraph* graph_ = nullptr;
  double rounding_ = 0.0;     // scores that differ by less are ties
  double tolerance_ = 0.0;    // losses that differ by less are looked at again, output by output
  double floor_ = 0.0;        // outputs that score less are of no interest
  std::int64_t n_flips_ = 0;  // nodes looked at
  bool has_table_ = false;
  std::vector<Subset> subsets_;
  std::vector<std::int32_t> order_;
  std::vector<double> table_;
  Labels candidate_;
  std::vector<double> values_;
  std::vector<Labels> outputs_;
};

}  // namespace casimir
