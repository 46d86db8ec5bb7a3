// How to eliminate the nodes of a graph one by one, and the tree of cliques that this gives.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace casimir {

/// One clique per node, numbered by the position t at which its node is eliminated (min-fill). Clique t holds node t
/// and its separator: the neighbours that it has then, all eliminated later. Tables of clique t are [L]..[L], with the
/// separator's positions descending and position t last; hence every table lists its nodes in one common order.
struct JunctionPlan {
  std::int64_t nodes = 0;
  std::int64_t labels = 0;
  std::vector<std::int64_t> order;              // [nodes]: the node at each position
  std::vector<std::int64_t> position;           // [nodes]: the position of each node
  std::vector<std::int64_t> separator_offsets;  // [nodes + 1]
  std::vector<std::int64_t> separators;         // positions, descending
  /// The clique that holds the separator of t: that of its lowest position. Cliques with an empty separator hang on the
  /// last one, so that disconnected graphs give one tree; -1 for the last clique itself.
  std::vector<std::int64_t> parent;
  std::vector<std::int64_t> child_offsets, children;  // [nodes + 1]; the cliques that hang on each
  std::vector<std::int64_t> table_offsets;            // [nodes + 1]: the first cell of each table
  std::vector<std::int64_t> stride_offsets, strides;  // [nodes + 1]; for each dimension of the parent's table of t the
                                                      // step in a table of the separator of t, 0 where it is not in it
  std::int64_t width = 0;                             // the largest separator
  double cells = 0.0;                                 // of all tables together
  bool fits = true;      // false: the tables are larger than allowed; only order, width and cells are filled in
  bool finished = true;  // false: given up on the way, because they are hopelessly large

  std::int64_t separator_size(std::int64_t t) const {
    return separator_offsets[static_cast<std::size_t>(t) + 1] - separator_offsets[static_cast<std::size_t>(t)];
  }
  const std::int64_t* separator(std::int64_t t) const {
    return separators.data() + separator_offsets[static_cast<std::size_t>(t)];
  }
  std::int64_t dimensions(std::int64_t t) const { return separator_size(t) + 1; }
  std::int64_t table(std::int64_t t) const { return table_offsets[static_cast<std::size_t>(t)]; }
  /// Assignments of the separator of t: the rows of its table, of `labels` cells each.
  std::int64_t rows(std::int64_t t) const { return (table(t + 1) - table(t)) / labels; }
  const std::int64_t* strides_in_parent(std::int64_t t) const {
    return strides.data() + stride_offsets[static_cast<std::size_t>(t)];
  }
};

/// Min-fill: the next node is one whose neighbours lack the fewest edges among them; ties go to the fewest neighbours,
/// then to the lowest number. `max_cells` is what the tables of `labels` labels may have together.
/// ends: [edges][2], each below `nodes`.
JunctionPlan make_junction_plan(std::int64_t nodes, const std::int64_t* ends, std::int64_t edges, int labels,
                                double max_cells);

/// The graphs of a batch of examples. Plans are made when the number of nodes is known and kept from then on; batches
/// that were selected from one another share them.
class JunctionGraphs {
 public:
  JunctionGraphs(const std::int64_t* ends, const std::int64_t* offsets, std::int64_t size, int labels,
                 double max_cells);

  std::int64_t size() const { return static_cast<std::int64_t>(graphs_.size()); }
  int labels() const { return labels_; }
  std::int64_t edges(std::int64_t i) const;
  const std::int64_t* ends(std::int64_t i) const { return graph(i).ends.data(); }
  JunctionGraphs select(const std::int64_t* examples, std::int64_t count) const;
  std::shared_ptr<const JunctionPlan> plan(std::int64_t i, std::int64_t nodes) const;

 private:
  struct Graph {
    std::vector<std::int64_t> ends;
    std::mutex mutex;
    std::shared_ptr<const JunctionPlan> plan;
  };

  JunctionGraphs(int labels, double max_cells) : labels_(labels), max_cells_(max_cells) {}
  Graph& graph(std::int64_t i) const { return *graphs_[static_cast<std::size_t>(i)]; }

  std::vector<std::shared_ptr<Graph>> graphs_;
  int labels_;
  double max_cells_;
};

}  // namespace casimir
