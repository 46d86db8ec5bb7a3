// A queue with two ends: the best element comes out first, and the worst one makes room for a better one.
//
// An interval heap (van Leeuwen & Wood 1993): node i of a binary tree holds elements 2 i and 2 i + 1, no element below
// it comes before the first of them or after the second. The last node may hold one element only. Every change moves
// elements along one path: O(log n) comparisons.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace casimir {

/// before(a, b) is a strict order, the same in every call. Of elements that it does not tell apart any may come first,
/// but always the same one after the same calls.
template <class T>
class IntervalHeap {
 public:
  bool empty() const { return at_.empty(); }
  std::size_t size() const { return at_.size(); }
  void clear() { at_.clear(); }
  const T& best() const { return at_.front(); }
  const T& worst() const { return at_[at_.size() > 1]; }

  /// Keeps the best `room` elements of those here and the new one; at most `room` are here.
  template <class Before>
  void offer(const T& value, std::size_t room, Before&& before) {
    if (at_.size() < room) {
      push(value, before);
    } else if (room > 0 && before(value, worst())) {
      replace_worst(value, before);
    }
  }

  template <class Before>
  T pop_best(Before&& before) {
    const T first = at_.front(), last = at_.back();
    at_.pop_back();
    if (!at_.empty()) sink_best(last, before);
    return first;
  }

 private:
  static std::size_t above(std::size_t index) { return (index / 2 - 1) / 2 * 2; }  // first element of the parent node

  template <class Before>
  void push(const T& value, Before& before) {
    const std::size_t end = at_.size();
    at_.push_back(value);
    if (end % 2 == 1) {
      if (!before(value, at_[end - 1])) return raise_worst(value, end, before);
      at_[end] = at_[end - 1];
      return raise_best(value, end - 1, before);
    }
    if (end == 0) return;
    if (before(value, at_[above(end)])) return raise_best(value, end, before);
    raise_worst(value, end, before);
  }

  template <class Before>
  void raise_best(const T& value, std::size_t hole, Before& before) {
    for (; hole >= 2 && before(value, at_[above(hole)]); hole = above(hole)) at_[hole] = at_[above(hole)];
    at_[hole] = value;
  }

  template <class Before>
  void raise_worst(const T& value, std::size_t hole, Before& before) {
    for (; hole >= 2 && before(at_[above(hole) + 1], value); hole = above(hole) + 1) at_[hole] = at_[above(hole) + 1];
    at_[hole] = value;
  }

  /// Puts a value in the place of the first element, and lets it sink to where it belongs.
  template <class Before>
  void sink_best(T value, Before& before) {
    std::size_t hole = 0;
    while (true) {
      if (hole + 1 < at_.size() && before(at_[hole + 1], value)) std::swap(at_[hole + 1], value);
      std::size_t child = 2 * hole + 2;  // node 2 i + 1
      if (child >= at_.size()) break;
      if (child + 2 < at_.size() && before(at_[child + 2], at_[child])) child += 2;
      if (!before(at_[child], value)) break;
      at_[hole] = at_[child];
      hole = child;
    }
    at_[hole] = value;
  }

  /// The same for the second element of the first node, or the only one.
  template <class Before>
  void replace_worst(T value, Before& before) {
    std::size_t node = 0, hole = at_.size() > 1;
    while (hole > node) {
      if (before(value, at_[node])) std::swap(at_[node], value);
      const std::size_t left = 2 * node + 2, right = left + 2;
      if (left >= at_.size()) break;
      std::size_t child = left, worst = last_of(left);
      if (right < at_.size() && before(at_[worst], at_[last_of(right)])) child = right, worst = last_of(right);
      if (!before(value, at_[worst])) break;
      at_[hole] = at_[worst];
      node = child, hole = worst;
    }
    at_[hole] = value;
  }

  std::size_t last_of(std::size_t node) const { return node + 1 < at_.size() ? node + 1 : node; }

  std::vector<T> at_;
};

}  // namespace casimir
