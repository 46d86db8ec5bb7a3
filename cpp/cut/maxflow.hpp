// Maximum flow with real capacities that can be changed and taken back.
//
// Augmenting paths from two search trees, one rooted at the source and one at the sink (Boykov & Kolmogorov, "An
// experimental comparison of min-cut/max-flow algorithms for energy minimization in vision", 2004), kept between calls
// so that a change costs about as much as the part of the trees that it touches (Kohli & Torr, "Dynamic graph cuts for
// efficient inference in Markov random fields", 2007). A log of what was overwritten takes changes back bit by bit.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace casimir {

class MaxFlow {
 public:
  enum class Side : std::int8_t { sink = -1, none = 0, source = 1 };

  /// A new graph. excess[v] > 0 is the capacity source -> v, excess[v] < 0 that of v -> sink; edge e joins
  /// ends[2e] and ends[2e + 1], with capacity capacities[2e] that way and capacities[2e + 1] the other way.
  void load(std::int32_t n_nodes, const double* excess, std::int32_t n_edges, const std::int64_t* ends,
            const double* capacities);

  /// Pushes flow until it is maximal, and returns how much. Stops early once more than `limit` was pushed; then only
  /// `rollback` makes sense.
  double solve(double limit = std::numeric_limits<double>::infinity());

  /// An unbounded capacity between v and a terminal, so that v lies on that side of every finite cut. Returns the flow
  /// source -> v -> sink that this lets through; `solve` pushes the rest. A node is forced to one side only.
  double force(std::int32_t v, Side side);

  /// For every node alone, the flow that `force` to the other side and `solve` would add: cost[v]. After solve, and
  /// with no node forced so far; the state is the same afterwards.
  void force_each(double* cost);

  /// After solve: is v reachable from the source in the residual graph? These nodes are the smallest source side of all
  /// minimum cuts.
  bool on_source_side(std::int32_t v) const { return nodes_[static_cast<std::size_t>(v)].tree == Side::source; }

  /// Marks may be nested; rollback returns to the state of the last mark (after `solve`) and drops it.
  void mark();
  void rollback();

 private:
  static constexpr std::int32_t kRoot = -1, kOrphan = -2;

  struct Node {
    double excess;
    std::int64_t stamp;   // when `depth` was last known to be right
    std::int32_t first;   // arcs first .. (next node).first leave the node
    std::int32_t parent;  // arc to the parent, kRoot or kOrphan
    std::int32_t depth;   // distance to the terminal along the tree, 1 for a root
    Side tree;
    bool queued;
  };

  struct Arc {
    double residual;
    std::int32_t head, reverse;
  };

  struct SavedNode {
    std::int32_t v;
    Node node;
  };

  struct SavedArc {
    std::int32_t a;
    double residual, reverse_residual;
  };

  struct Mark {
    std::int64_t id;
    std::size_t n_nodes, n_arcs;
  };

  Node& node(std::int32_t v) { return nodes_[static_cast<std::size_t>(v)]; }
  Arc& arc(std::int32_t a) { return arcs_[static_cast<std::size_t>(a)]; }
  std::int32_t end_of(std::int32_t v) const { return nodes_[static_cast<std::size_t>(v) + 1].first; }

  /// Capacity left along arc a of a node towards (sink tree) or from (source tree) the arc's head.
  template <Side side>
  double link(const Arc& a) {
    return side == Side::source ? arc(a.reverse).residual : a.residual;
  }

  Node& changed(std::int32_t v);
  void push(std::int32_t a, double amount);
  void make_root(std::int32_t v, Side side);
  void activate(std::int32_t v);
  std::int32_t next_active();
  template <Side side>
  std::int32_t grow(std::int32_t v, std::int32_t from);
  double augment(std::int32_t bridge);
  template <Side side>
  double bottleneck(std::int32_t v, double most);
  template <Side side>
  void push_to_root(std::int32_t v, double amount);
  void orphan(std::int32_t v);
  void adopt_all();
  template <Side side>
  void adopt(std::int32_t v);
  template <Side side>
  void set_free(std::int32_t v);
  std::int32_t depth_of(std::int32_t v);
  void set_excess(std::int32_t v, double excess);
  template <Side side>
  void force_each_of(double* cost);
  template <Side side>
  double send(std::int32_t v);
  template <Side side>
  bool search(std::int32_t v, double& sent);
  template <Side side>
  double push_from(std::int32_t v, std::int32_t end, double most);

  std::vector<Node> nodes_;  // and one more, for its `first`
  std::vector<Arc> arcs_;
  std::vector<std::int32_t> queue_;  // ring of active nodes
  std::size_t queue_head_ = 0, queue_size_ = 0;
  std::vector<std::int32_t> orphans_;
  std::size_t orphans_done_ = 0;
  std::int64_t time_ = 0;  // one tick per augmentation

  std::vector<Mark> marks_;
  std::int64_t last_mark_ = 0;
  std::vector<std::int64_t> saved_at_;  // the mark under which a node was last saved
  std::vector<SavedNode> node_log_;
  std::vector<SavedArc> arc_log_;

  // Room for force_each.
  std::vector<std::uint8_t> at_source_;  // was the node on the source side before?
  std::vector<std::int32_t> order_;      // nodes to be forced
  std::int64_t search_ = 0;              // one number per search
  std::vector<std::int64_t> seen_;       // the search that came to a node last
  std::vector<std::int32_t> step_;       // the arc it came by
  std::vector<std::int32_t> frontier_;   // nodes in the order in which they were seen
};

}  // namespace casimir
