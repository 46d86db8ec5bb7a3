// One tree (or forest) with its scores. Positions are those of the preorder: parents stand before children.
#pragma once

#include <cstdint>

namespace casimir {

struct TreeView {
  int labels;
  std::int64_t p;
  const std::int64_t* node;     // [p]: the node at a position
  const std::int64_t* parent;   // [p]: the position of the parent, -1 at a root
  const std::int64_t* subtree;  // [p]: the number of nodes of the subtree
  const double* nodes;          // [p][labels], by node
  const double* edges;          // by node, edge_step apart: [labels][labels] = score(label, label of the parent)
  std::int64_t edge_step;

  bool is_root(std::int64_t t) const { return parent[t] < 0; }
  const double* unary(std::int64_t t) const { return nodes + node[t] * labels; }
  const double* pair(std::int64_t t) const { return edges + node[t] * edge_step; }
};

}  // namespace casimir
