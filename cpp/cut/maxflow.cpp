#include "cut/maxflow.hpp"

#include <algorithm>

namespace casimir {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

}  // namespace

void MaxFlow::load(std::int32_t n_nodes, const double* excess, std::int32_t n_edges, const std::int64_t* ends,
                   const double* capacities) {
  const auto n = static_cast<std::size_t>(n_nodes);
  nodes_.assign(n + 1, Node{0.0, 0, 0, kRoot, 0, Side::none, false});
  arcs_.resize(2 * static_cast<std::size_t>(n_edges));
  queue_.resize(n);
  queue_head_ = queue_size_ = 0;
  orphans_.clear();
  orphans_done_ = 0;
  time_ = 0;
  marks_.clear();
  node_log_.clear();
  arc_log_.clear();
  last_mark_ = 0;
  saved_at_.assign(n, 0);

  // Arcs by the node that they leave: count, then place. `parent` is the next free place meanwhile.
  for (std::int32_t i = 0; i < 2 * n_edges; ++i) ++node(static_cast<std::int32_t>(ends[i])).depth;
  std::int32_t first = 0;
  for (Node& v : nodes_) {
    v.first = v.parent = first;
    first += v.depth;
    v.depth = 0;
  }
  for (std::int32_t e = 0; e < n_edges; ++e) {
    const auto u = static_cast<std::int32_t>(ends[2 * e]), v = static_cast<std::int32_t>(ends[2 * e + 1]);
    const std::int32_t there = node(u).parent++, back = node(v).parent++;
    arc(there) = {capacities[2 * e], v, back};
    arc(back) = {capacities[2 * e + 1], u, there};
  }
  for (std::int32_t v = 0; v < n_nodes; ++v) {
    node(v).excess = excess[v];
    node(v).parent = kRoot;
    if (excess[v] != 0.0) make_root(v, excess[v] > 0.0 ? Side::source : Side::sink);
  }
}

double MaxFlow::solve(double limit) {
  double pushed = 0.0;
  for (std::int32_t v = next_active(); v >= 0; v = next_active()) {
    const Side side = node(v).tree;
    std::int32_t a = node(v).first;
    // An arc that joins the trees is looked at again after the augmentation: it may have room left. Neighbours set free
    // meanwhile put v back into the queue, so that arcs before it need no second look here.
    while (node(v).tree == side) {
      a = side == Side::source ? grow<Side::source>(v, a) : grow<Side::sink>(v, a);
      if (a == end_of(v)) break;
      pushed += augment(side == Side::source ? a : arc(a).reverse);
      if (pushed > limit) return pushed;
      adopt_all();
    }
  }
  return pushed;
}

double MaxFlow::force(std::int32_t v, Side side) {
  const double through = std::max(0.0, side == Side::source ? -node(v).excess : node(v).excess);
  set_excess(v, side == Side::source ? kUnbounded : -kUnbounded);
  return through;
}

/// Changes a capacity between v and a terminal, and moves v to the tree that it belongs to now.
void MaxFlow::set_excess(std::int32_t v, double excess) {
  Node& x = changed(v);
  x.excess = excess;
  const Side before = x.tree, after = excess > 0.0 ? Side::source : excess < 0.0 ? Side::sink : Side::none;
  if (after == Side::none) {
    if (before != Side::none) orphan(v);
    ++time_;
  } else if (before == after) {
    ++time_;
    x.parent = kRoot;
    x.depth = 1;
    x.stamp = time_;
  } else {
    for (std::int32_t a = x.first; before != Side::none && a < end_of(v); ++a) {
      const std::int32_t q = arc(a).head;
      if (node(q).tree == before && node(q).parent == arc(a).reverse) orphan(q);
    }
    ++time_;
    make_root(v, after);
  }
  adopt_all();
}

void MaxFlow::mark() { marks_.push_back({++last_mark_, node_log_.size(), arc_log_.size()}); }

void MaxFlow::rollback() {
  const Mark& mark = marks_.back();
  while (queue_size_ > 0) next_active();
  orphans_.clear();
  orphans_done_ = 0;
  for (; node_log_.size() > mark.n_nodes; node_log_.pop_back()) node(node_log_.back().v) = node_log_.back().node;
  for (; arc_log_.size() > mark.n_arcs; arc_log_.pop_back()) {
    const SavedArc& saved = arc_log_.back();
    arc(saved.a).residual = saved.residual;
    arc(arc(saved.a).reverse).residual = saved.reverse_residual;
  }
  marks_.pop_back();
  // What was saved under the dropped mark is unknown to the one below it.
  if (!marks_.empty()) marks_.back().id = ++last_mark_;
}

/// The node, saved first if it has to be brought back later.
MaxFlow::Node& MaxFlow::changed(std::int32_t v) {
  Node& x = node(v);
  if (!marks_.empty() && saved_at_[static_cast<std::size_t>(v)] != marks_.back().id) {
    saved_at_[static_cast<std::size_t>(v)] = marks_.back().id;
    node_log_.push_back({v, x});
  }
  return x;
}

void MaxFlow::push(std::int32_t a, double amount) {
  Arc &there = arc(a), &back = arc(there.reverse);
  if (!marks_.empty()) arc_log_.push_back({a, there.residual, back.residual});
  there.residual -= amount;
  back.residual += amount;
}

void MaxFlow::make_root(std::int32_t v, Side side) {
  Node& x = changed(v);
  x.tree = side;
  x.parent = kRoot;
  x.depth = 1;
  x.stamp = time_;
  activate(v);
}

void MaxFlow::activate(std::int32_t v) {
  if (node(v).queued) return;
  changed(v).queued = true;
  std::size_t end = queue_head_ + queue_size_++;
  if (end >= queue_.size()) end -= queue_.size();
  queue_[end] = v;
}

/// Takes the oldest active node from the queue; -1 when there is none.
std::int32_t MaxFlow::next_active() {
  while (queue_size_ > 0) {
    const std::int32_t v = queue_[queue_head_];
    if (++queue_head_ == queue_.size()) queue_head_ = 0;
    --queue_size_;
    node(v).queued = false;
    if (node(v).tree != Side::none) return v;
  }
  return -1;
}

/// Adds the free neighbours of v to its tree, from arc `a` on. Returns the first arc to the other tree, or the last
/// + 1.
///
/// A neighbour in the same tree moves under v when that brings it nearer to the terminal. That closes no cycle: towards
/// the root (stamp, -depth) rises strictly, so v is no descendant of a node with a smaller or equal stamp and a larger
/// depth.
template <MaxFlow::Side side>
std::int32_t MaxFlow::grow(std::int32_t v, std::int32_t a) {
  const std::int32_t end = end_of(v), depth = node(v).depth;
  const std::int64_t stamp = node(v).stamp;
  for (; a < end; ++a) {
    const Arc& out = arc(a);
    // From v outwards, which is against the direction of the links that lead to the terminal.
    if (!(side == Side::source ? out.residual > 0.0 : arc(out.reverse).residual > 0.0)) continue;
    const Node& q = node(out.head);
    if (q.tree == side) {
      if (q.stamp > stamp || q.depth <= depth + 1) continue;
    } else if (q.tree != Side::none) {
      return a;
    }
    Node& x = changed(out.head);
    const bool fresh = x.tree == Side::none;
    x.tree = side;
    x.parent = out.reverse;
    x.depth = depth + 1;
    x.stamp = stamp;
    if (fresh) activate(out.head);
  }
  return end;
}

/// Pushes as much as fits along the path source - tree - bridge - tree - sink.
double MaxFlow::augment(std::int32_t bridge) {
  const std::int32_t u = arc(arc(bridge).reverse).head, v = arc(bridge).head;
  double amount = arc(bridge).residual;
  amount = bottleneck<Side::source>(u, amount);
  amount = bottleneck<Side::sink>(v, amount);
  ++time_;
  push(bridge, amount);
  push_to_root<Side::source>(u, amount);
  push_to_root<Side::sink>(v, amount);
  return amount;
}

template <MaxFlow::Side side>
double MaxFlow::bottleneck(std::int32_t v, double most) {
  while (node(v).parent != kRoot) {
    const Arc& up = arc(node(v).parent);
    most = std::min(most, link<side>(up));
    v = up.head;
  }
  return std::min(most, side == Side::source ? node(v).excess : -node(v).excess);
}

template <MaxFlow::Side side>
void MaxFlow::push_to_root(std::int32_t v, double amount) {
  while (node(v).parent != kRoot) {
    const std::int32_t up = node(v).parent, next = arc(up).head;
    push(side == Side::source ? arc(up).reverse : up, amount);
    if (!(link<side>(arc(up)) > 0.0)) orphan(v);
    v = next;
  }
  Node& root = changed(v);
  root.excess += side == Side::source ? -amount : amount;
  if (root.excess == 0.0) orphan(v);
}

void MaxFlow::orphan(std::int32_t v) {
  changed(v).parent = kOrphan;
  orphans_.push_back(v);
}

void MaxFlow::adopt_all() {
  while (orphans_done_ < orphans_.size()) {
    const std::int32_t v = orphans_[orphans_done_++];
    if (node(v).tree == Side::source)
      adopt<Side::source>(v);
    else
      adopt<Side::sink>(v);
  }
  orphans_.clear();
  orphans_done_ = 0;
}

/// A new parent for an orphan: the neighbour nearest to the terminal among those still connected to it.
template <MaxFlow::Side side>
void MaxFlow::adopt(std::int32_t v) {
  constexpr std::int32_t kFar = std::numeric_limits<std::int32_t>::max();
  std::int32_t parent = kOrphan, least = kFar;
  for (std::int32_t a = node(v).first; a < end_of(v); ++a) {
    const Arc& out = arc(a);
    if (node(out.head).tree != side || !(link<side>(out) > 0.0)) continue;
    const std::int32_t depth = depth_of(out.head);
    if (depth > 0 && depth < least) least = depth, parent = a;
  }
  if (parent == kOrphan) return set_free<side>(v);
  Node& x = changed(v);
  x.parent = parent;
  x.depth = least + 1;
  x.stamp = time_;
}

/// The distance of v to its terminal, 0 if an orphan lies between. The path is stamped so that it is not walked twice.
std::int32_t MaxFlow::depth_of(std::int32_t v) {
  std::int32_t depth = 0;
  for (std::int32_t q = v;; q = arc(node(q).parent).head) {
    if (node(q).stamp == time_) {
      depth += node(q).depth;
      break;
    }
    if (node(q).parent == kOrphan) return 0;
    ++depth;
    if (node(q).parent == kRoot) break;
  }
  std::int32_t here = depth;
  for (std::int32_t q = v; node(q).stamp != time_; q = arc(node(q).parent).head) {
    Node& x = changed(q);
    x.stamp = time_;
    x.depth = here--;
    if (x.parent == kRoot) break;
  }
  return depth;
}

/// An orphan without a new parent leaves its tree. Its children become orphans, and neighbours that could take it back
/// later become active.
template <MaxFlow::Side side>
void MaxFlow::set_free(std::int32_t v) {
  changed(v).tree = Side::none;
  for (std::int32_t a = node(v).first; a < end_of(v); ++a) {
    const Arc& out = arc(a);
    if (node(out.head).tree != side) continue;
    if (link<side>(out) > 0.0) activate(out.head);
    if (node(out.head).parent == out.reverse) orphan(out.head);
  }
}

}  // namespace casimir
