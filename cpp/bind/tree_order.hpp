// The check of tree orders that come back from Python.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "tree/tree_order.hpp"

/// Whether position t continues a preorder of p nodes, given that those before it do: its parent is the last position
/// whose subtree is not complete, and its own subtree ends within that one.
inline bool continues_preorder(const std::int64_t* parent, const std::int64_t* subtree, std::int64_t t,
                               std::int64_t p) {
  std::int64_t above = t - 1;
  while (above >= 0 && above + subtree[above] <= t) above = parent[above];
  const std::int64_t end = above < 0 ? p : above + subtree[above];
  return parent[t] == above && subtree[t] >= 1 && subtree[t] <= end - t;
}

/// Positions must be a preorder within each example, or the kernels would read out of bounds.
inline void check_tree_order(const casimir::TreeOrderView& order, const std::int64_t* offsets, std::int64_t size) {
  std::vector<char> seen;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t first = offsets[i], p = offsets[i + 1] - first;
    seen.assign(static_cast<std::size_t>(p), 0);
    for (std::int64_t t = 0; t < p; ++t) {
      const std::int64_t v = order.node[first + t];
      if (v < 0 || v >= p || seen[static_cast<std::size_t>(v)]++ ||
          !continues_preorder(order.parent + first, order.subtree + first, t, p))
        throw std::invalid_argument("node, parent and subtree are not those of tree_order.");
    }
  }
}
