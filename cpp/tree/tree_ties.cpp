#include "tree/tree_ties.hpp"

#include <algorithm>
#include <bit>

namespace casimir {

void TiedOutputs::start(const TreeMax& best) {
  best_ = &best;
  const TreeView& tree = best.tree();
  const std::int64_t p = tree.p, labels = tree.labels;
  words_ = (labels + 63) / 64;
  tight_.resize(static_cast<std::size_t>(p * labels * words_));
  made_.assign(static_cast<std::size_t>(p * labels), 0);
  deviates_.assign(static_cast<std::size_t>(p), 0);
  domain_.assign(static_cast<std::size_t>(p * words_), 0);
  position_.assign(static_cast<std::size_t>(p), 0);
  set_.resize(static_cast<std::size_t>(words_));
  row_.resize(static_cast<std::size_t>(labels));
  changes_.clear(), old_.clear(), queue_.clear();
  for (std::int64_t t = 0; t < p; ++t) {
    position_[static_cast<std::size_t>(tree.node[t])] = t;
    join_tight(t, domain(t));
  }
  base_ = domain_;
}

void TiedOutputs::deviate(const std::vector<Deviation>& deviations) {
  const TreeView& tree = best_->tree();
  std::fill(deviates_.begin(), deviates_.end(), 0);
  domain_ = base_;
  for (const Deviation& d : deviations) {
    deviates_[static_cast<std::size_t>(d.position)] = 1;
    std::fill_n(domain(d.position), words_, 0);
    domain(d.position)[d.label / 64] = Word{1} << (d.label % 64);
    const std::int64_t end = d.position + tree.subtree[d.position];
    for (std::int64_t t = d.position + 1; t < end; ++t) join_tight(t, domain(t));
    if (!tree.is_root(d.position)) fix(tree.parent[d.position], d.parent_label);
  }
  changes_.clear(), old_.clear();
}

/// The labels of t that lose nothing under a label of the parent.
const TiedOutputs::Word* TiedOutputs::tight(std::int64_t t, std::int32_t parent_label) {
  const std::int64_t row = t * best_->tree().labels + parent_label;
  Word* words = tight_.data() + row * words_;
  if (!made_[static_cast<std::size_t>(row)]) {
    made_[static_cast<std::size_t>(row)] = 1;
    best_->losses(t, parent_label, row_.data());
    std::fill_n(words, words_, 0);
    for (std::size_t l = 0; l < row_.size(); ++l)
      if (row_[l] == 0.0) words[l / 64] |= Word{1} << (l % 64);
  }
  return words;
}

/// out = the labels of t that lose nothing under some label in the domain of the parent.
void TiedOutputs::join_tight(std::int64_t t, Word* out) {
  const TreeView& tree = best_->tree();
  if (tree.is_root(t)) {
    std::copy_n(tight(t, 0), words_, out);
    return;
  }
  std::fill_n(out, words_, 0);
  for (std::int32_t y = next_label(tree.parent[t], 0); y >= 0; y = next_label(tree.parent[t], y + 1)) {
    const Word* row = tight(t, y);
    for (std::int64_t j = 0; j < words_; ++j) out[j] |= row[j];
  }
}

/// The lowest label in the domain of t that is not below `from`; -1 when there is none.
std::int32_t TiedOutputs::next_label(std::int64_t t, std::int32_t from) const {
  const Word* words = domain(t);
  for (std::int64_t j = from / 64; j < words_; ++j) {
    const Word left = j == from / 64 ? words[j] & (~Word{0} << (from % 64)) : words[j];
    if (left) return static_cast<std::int32_t>(j * 64 + std::countr_zero(left));
  }
  return -1;
}

bool TiedOutputs::assign(std::int64_t t, const Word* value) {
  Word* words = domain(t);
  if (std::equal(words, words + words_, value)) return false;
  changes_.push_back({t, static_cast<std::int64_t>(old_.size())});
  old_.insert(old_.end(), words, words + words_);
  std::copy_n(value, words_, words);
  queue_.push_back(t);
  return true;
}

void TiedOutputs::undo(std::size_t changes) {
  while (changes_.size() > changes) {
    const Change& last = changes_.back();
    std::copy_n(old_.data() + last.words, words_, domain(last.position));
    old_.resize(static_cast<std::size_t>(last.words));
    changes_.pop_back();
  }
}

void TiedOutputs::fix(std::int64_t t, std::int32_t label) {
  std::fill(set_.begin(), set_.end(), 0);
  set_[static_cast<std::size_t>(label / 64)] = Word{1} << (label % 64);
  assign(t, set_.data());
  propagate();
}

void TiedOutputs::propagate() {
  const TreeView& tree = best_->tree();
  while (!queue_.empty()) {
    const std::int64_t t = queue_.back();
    queue_.pop_back();
    revise_parent(t);
    for (std::int64_t c = t + 1; c < t + tree.subtree[t]; c += tree.subtree[c]) revise_child(c);
  }
}

/// Removes labels of the parent of t under which no label of t is left.
void TiedOutputs::revise_parent(std::int64_t t) {
  const std::int64_t above = best_->tree().parent[t];
  // A deviating pair is fixed at both ends.
  if (above < 0 || deviates_[static_cast<std::size_t>(t)]) return;
  std::copy_n(domain(above), words_, set_.data());
  const Word* mine = domain(t);
  for (std::int32_t y = next_label(above, 0); y >= 0; y = next_label(above, y + 1)) {
    const Word* row = tight(t, y);
    bool left = false;
    for (std::int64_t j = 0; j < words_; ++j) left = left || (row[j] & mine[j]);
    if (!left) set_[static_cast<std::size_t>(y / 64)] &= ~(Word{1} << (y % 64));
  }
  assign(above, set_.data());
}

/// Removes labels of t that are tight under no label of its parent.
void TiedOutputs::revise_child(std::int64_t t) {
  if (deviates_[static_cast<std::size_t>(t)]) return;
  join_tight(t, set_.data());
  for (std::int64_t j = 0; j < words_; ++j) set_[static_cast<std::size_t>(j)] &= domain(t)[j];
  assign(t, set_.data());
}

}  // namespace casimir
