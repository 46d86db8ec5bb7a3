#include "tree/tree_order.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace casimir {
namespace {

void check_parents(const std::int64_t* parents, std::int64_t p, std::int64_t example) {
  for (std::int64_t v = 0; v < p; ++v) {
    const std::string where = "parents[" + std::to_string(example) + "]";
    if (parents[v] < -1 || parents[v] >= p)
      throw std::invalid_argument(where + " gives node " + std::to_string(v) + " the parent " +
                                  std::to_string(parents[v]) + "; it must be -1 (a root) or a node, 0 to " +
                                  std::to_string(p - 1) + ".");
    if (parents[v] == v)
      throw std::invalid_argument(where + " makes node " + std::to_string(v) +
                                  " its own parent; give a root the parent -1.");
  }
}

[[noreturn]] void refuse_cycle(const std::int64_t* parents, std::int64_t p, std::int64_t start, std::int64_t example) {
  std::int64_t v = start;
  for (std::int64_t step = 0; step < p; ++step) v = parents[v];  // now v is on the cycle
  std::int64_t smallest = v;
  for (std::int64_t u = parents[v]; u != v; u = parents[u]) smallest = std::min(smallest, u);
  throw std::invalid_argument("parents[" + std::to_string(example) + "] has a cycle through node " +
                              std::to_string(smallest) + "; following parents must end at a root, whose parent is -1.");
}

/// Positions of one forest, without recursion. Children are visited in the order of their numbers.
void preorder(const std::int64_t* parents, std::int64_t p, std::int64_t example, std::int64_t* node,
              std::int64_t* parent, std::int64_t* subtree) {
  std::vector<std::int64_t> first(static_cast<std::size_t>(p + 1), -1), next(static_cast<std::size_t>(p), -1);
  std::vector<std::int64_t> position(static_cast<std::size_t>(p), -1);
  for (std::int64_t v = p - 1; v >= 0; --v) {  // slot p holds the roots
    auto& head = first[static_cast<std::size_t>(parents[v] < 0 ? p : parents[v])];
    next[static_cast<std::size_t>(v)] = head;
    head = v;
  }
  std::int64_t t = 0;
  for (std::int64_t v = first[static_cast<std::size_t>(p)]; v >= 0;) {
    node[t] = v;
    parent[t] = parents[v] < 0 ? -1 : position[static_cast<std::size_t>(parents[v])];
    position[static_cast<std::size_t>(v)] = t++;
    if (first[static_cast<std::size_t>(v)] >= 0) {
      v = first[static_cast<std::size_t>(v)];
      continue;
    }
    while (v >= 0 && next[static_cast<std::size_t>(v)] < 0) v = parents[v];
    if (v >= 0) v = next[static_cast<std::size_t>(v)];
  }
  if (t < p) refuse_cycle(parents, p, std::find(position.begin(), position.end(), -1) - position.begin(), example);
  std::fill(subtree, subtree + p, 1);
  for (t = p - 1; t >= 0; --t)
    if (parent[t] >= 0) subtree[parent[t]] += subtree[t];
}

}  // namespace

TreeOrder tree_order(const std::int64_t* parents, const std::int64_t* offsets, std::int64_t size) {
  const auto total = static_cast<std::size_t>(offsets[size]);
  TreeOrder order{std::vector<std::int64_t>(total), std::vector<std::int64_t>(total), std::vector<std::int64_t>(total)};
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t first = offsets[i], p = offsets[i + 1] - first;
    check_parents(parents + first, p, i);
    preorder(parents + first, p, i, order.node.data() + first, order.parent.data() + first,
             order.subtree.data() + first);
  }
  return order;
}

}  // namespace casimir
