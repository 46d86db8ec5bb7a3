// Outputs of a tree that tie, in lexicographic order of their nodes' numbers.
//
// Which labels lose nothing given the parent's label is a relation per edge, so the best outputs are the solutions of a
// constraint network that is a tree. With domains that are arc consistent (every label has a partner in the domain of
// every neighbour) a solution is found without backtracking: fix nodes 0, 1, 2, ... to the lowest label left, and
// remove after each choice what lost its partners. Domains only shrink, so one solution costs O(p L) removals at most.
//
// A deviation (t, l, y) is a pair of labels of t and its parent that loses something. Each output has one list of
// deviations, sorted by position, and those with the same list are again the solutions of such a network: the pair is
// fixed where it deviates.
#pragma once

#include <cstdint>
#include <vector>

#include "tree/tree_max.hpp"

namespace casimir {

struct Deviation {
  std::int64_t position;
  std::int32_t label, parent_label;  // parent_label is 0 at roots
};

/// The outputs with a given list of deviations and no other loss.
class TiedOutputs {
 public:
  /// All best outputs; reads the tables of `best` as long as this object is used.
  void start(const TreeMax& best);
  void deviate(const std::vector<Deviation>& deviations);

  /// The outputs in lexicographic order, int64[p] by node; keep(output) returns whether to go on.
  template <class Keep>
  void list(Keep&& keep);

  /// Calls visit(t, parent label) for every position from `first` on and every label that its parent can have.
  template <class Visit>
  void parents_from(std::int64_t first, Visit&& visit) const;

 private:
  using Word = std::uint64_t;
  struct Change {
    std::int64_t position;
    std::int64_t words;  // where the old words are kept
  };

  Word* domain(std::int64_t t) { return domain_.data() + t * words_; }
  const Word* domain(std::int64_t t) const { return domain_.data() + t * words_; }
  const Word* tight(std::int64_t t, std::int32_t parent_label);
  void join_tight(std::int64_t t, Word* out);
  bool assign(std::int64_t t, const Word* value);
  void fix(std::int64_t t, std::int32_t label);
  void propagate();
  void revise_parent(std::int64_t t);
  void revise_child(std::int64_t t);
  void undo(std::size_t changes);
  std::int32_t next_label(std::int64_t t, std::int32_t from) const;

  const TreeMax* best_ = nullptr;
  std::int64_t words_ = 1;                      // of a set of labels
  std::vector<Word> base_, domain_;             // [p][words]: without deviations, and now
  std::vector<Word> tight_, set_, old_;         // rows of tight labels by [t][parent label], made when asked for
  std::vector<char> made_, deviates_;           // [p][labels], [p]
  std::vector<std::int64_t> position_, queue_;  // of a node; positions whose domain changed
  std::vector<Change> changes_;                 // to be undone when the search goes back
  std::vector<double> row_;
};

template <class Visit>
void TiedOutputs::parents_from(std::int64_t first, Visit&& visit) const {
  const TreeView& tree = best_->tree();
  for (std::int64_t t = first; t < tree.p; ++t) {
    if (tree.is_root(t)) {
      visit(t, std::int32_t{0});
      continue;
    }
    for (std::int32_t y = next_label(tree.parent[t], 0); y >= 0; y = next_label(tree.parent[t], y + 1)) visit(t, y);
  }
}

template <class Keep>
void TiedOutputs::list(Keep&& keep) {
  struct Choice {
    std::int64_t node;
    std::int32_t label;
    std::size_t changes;
  };
  const std::int64_t p = best_->tree().p;
  std::vector<Choice> choices;  // only nodes that had more than one label left
  std::vector<std::int64_t> output(static_cast<std::size_t>(p));
  std::int64_t v = 0;
  while (true) {
    for (; v < p; ++v) {
      const std::int64_t t = position_[static_cast<std::size_t>(v)];
      const std::int32_t label = next_label(t, 0);
      output[static_cast<std::size_t>(v)] = label;
      if (next_label(t, label + 1) < 0) continue;
      choices.push_back({v, label, changes_.size()});
      fix(t, label);
    }
    if (!keep(output) || choices.empty()) break;
    for (v = -1; v < 0 && !choices.empty();) {
      Choice& last = choices.back();
      undo(last.changes);
      const std::int64_t t = position_[static_cast<std::size_t>(last.node)];
      const std::int32_t label = next_label(t, last.label + 1);
      if (label < 0) {
        choices.pop_back();
        continue;
      }
      last.label = label;
      output[static_cast<std::size_t>(last.node)] = label;
      fix(t, label);
      v = last.node + 1;
    }
    if (v < 0) break;
  }
  undo(0);
}

}  // namespace casimir
