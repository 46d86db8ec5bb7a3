// Outputs of one example in order, from the loss tables that JunctionTables::max_losses leaves. Positions are those of
// the plan; losses are exact (JunctionTables::load_exact), so that equal ones compare equal.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/interval_heap.hpp"
#include "junction/junction_tables.hpp"

namespace casimir {

/// Chooses the first label without a loss at position `from` and all lower ones. Tells whether any had a second one.
bool complete_output(const JunctionTables& losses, std::int64_t from, std::int32_t* labels);

/// The best outputs, lazily: positions are labelled from the last one down, and a label l at position t loses
/// loss_t(l) >= 0 given the labels above. Every output is one chain of such deviations at decreasing positions, so a
/// best-first search over "last deviation" yields each output once, in order of its score. Ties come in any order.
class JunctionKBest {
 public:
  /// At most k outputs will be pulled.
  void start(const JunctionTables& losses, std::int64_t k);
  /// Finds the next output; false when there is none.
  bool pull();

  std::int64_t count() const { return static_cast<std::int64_t>(loss_.size()); }
  double loss(std::int64_t k) const { return loss_[static_cast<std::size_t>(k)]; }
  const std::int32_t* labels(std::int64_t k) const { return labels_.data() + k * losses_->plan().nodes; }

 private:
  struct Candidate {
    double loss;
    std::int64_t number;  // in the order of discovery
    std::int64_t parent, position;
    std::int32_t label;
    bool operator<(const Candidate& other) const {
      return loss != other.loss ? loss < other.loss : number < other.number;
    }
  };

  void expand(std::int64_t parent, std::int64_t from);

  const JunctionTables* losses_ = nullptr;
  std::int64_t k_ = 0, number_ = 0;
  std::vector<double> loss_;
  std::vector<std::int32_t> labels_;    // [count][nodes], by position
  IntervalHeap<Candidate> candidates_;  // no more than can still be pulled
};

/// The lexicographically first outputs (by node number) of a given loss. Nodes 0, 1, .. are fixed one by one to labels
/// that still allow a loss of at most `level`; the least losses of all cliques are kept up to date, and a change
/// travels through the tree only as far as it changes separators.
class JunctionFirst {
 public:
  /// Up to `count` outputs of loss `level`, by node, one after another; `better` outputs have a smaller loss.
  std::vector<std::int32_t> run(const JunctionTables& losses, double level, std::int64_t count, std::int64_t better);

 private:
  struct Branch {
    std::int64_t parent, node;  // as output `parent` before this node
    std::int32_t label;
  };

  void reset(const JunctionTables& losses);
  double descend(std::int64_t node, double level, std::int64_t parent, std::int32_t* labels, std::size_t room);
  void fix(std::int64_t node, std::int32_t label);
  void spread(std::int64_t from);
  bool update_separator(std::int64_t t);
  double* separator(std::int64_t t) { return separators_.data() + plan_->table(t) / plan_->labels; }

  const JunctionPlan* plan_ = nullptr;
  JunctionTables least_;
  std::vector<double> separators_;  // least losses of the separator's assignments; that of t at table(t) / labels
  std::vector<double> change_, by_label_;
  std::deque<Branch> branches_;
};

}  // namespace casimir
