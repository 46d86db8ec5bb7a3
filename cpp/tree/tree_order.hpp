// Trees given by parents, in an order in which every parent stands before its children.
#pragma once

#include <cstdint>
#include <vector>

namespace casimir {

/// Nodes by position in preorder: the subtree of position t is the interval t : t + subtree[t].
struct TreeOrderView {
  const std::int64_t* node;     // the node at a position
  const std::int64_t* parent;   // the position of its parent, -1 at a root
  const std::int64_t* subtree;  // the number of nodes of its subtree
};

struct TreeOrder {
  std::vector<std::int64_t> node, parent, subtree;
};

/// The preorder of every forest of a batch; parents: [N], -1 at roots; example i owns offsets[i]:offsets[i + 1].
/// Throws std::invalid_argument when a parent is out of range or nodes form a cycle, naming the example and a node.
TreeOrder tree_order(const std::int64_t* parents, const std::int64_t* offsets, std::int64_t size);

}  // namespace casimir
