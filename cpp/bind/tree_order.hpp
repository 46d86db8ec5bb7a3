// The check of tree orders that come back from Python.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "tree/tree_order.hpp"

/// Positions must be a preorder within each example, or the kernels would read out of bounds.
inline void check_tree_order(const casimir::TreeOrderView& order, const std::int64_t* offsets, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t first = offsets[i], p = offsets[i + 1] - first;
    for (std::int64_t t = 0; t < p; ++t) {
      const std::int64_t v = order.node[first + t], above = order.parent[first + t], n = order.subtree[first + t];
      if (v < 0 || v >= p || above < -1 || above >= t || n < 1 || n > p - t)
        throw std::invalid_argument("node, parent and subtree are not those of tree_order.");
    }
  }
}
