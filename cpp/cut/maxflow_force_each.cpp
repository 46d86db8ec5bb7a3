// The flow that each node would add if it alone had to change sides.
//
// While a node is forced to the source's side, it sends its cost to the sink. Released, it is left with as much
// capacity to the sink: the same function of the cuts, written differently (Kohli & Torr, Sec. 3). So the next node
// finds the sink nearby, where a start from scratch may need many long paths, and plain searches by breadth do better
// than trees. Rounding errors add up this way; after every run of nodes everything is taken back.
#include <algorithm>

#include "cut/maxflow.hpp"

namespace casimir {
namespace {

constexpr std::size_t kRun = 128;  // nodes forced one after another before everything is taken back

}  // namespace

void MaxFlow::force_each(double* cost) {
  const std::size_t n = saved_at_.size();
  at_source_.resize(n);
  for (std::size_t v = 0; v < n; ++v) at_source_[v] = nodes_[v].tree == Side::source;
  seen_.assign(n, 0);
  step_.resize(n);
  search_ = 0;
  force_each_of<Side::source>(cost);
  force_each_of<Side::sink>(cost);
}

/// The nodes that are not on the given side.
template <MaxFlow::Side side>
void MaxFlow::force_each_of(double* cost) {
  order_.clear();
  for (std::size_t v = 0; v < at_source_.size(); ++v)
    if (at_source_[v] != (side == Side::source)) order_.push_back(static_cast<std::int32_t>(v));
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::int32_t v = order_[i];
    if (i % kRun == 0) {
      mark();
      const double through = force(v, side);
      cost[v] = through + solve();
    } else {
      const std::int32_t last = order_[i - 1];
      changed(last).excess = side == Side::source ? -cost[last] : cost[last];
      cost[v] = send<side>(v);
    }
    if (i % kRun == kRun - 1 || i + 1 == order_.size()) rollback();
  }
}

/// All that v can send to the sink (or get from the source).
template <MaxFlow::Side side>
double MaxFlow::send(std::int32_t v) {
  double sent = std::max(0.0, side == Side::source ? -node(v).excess : node(v).excess);
  changed(v).excess = 0.0;
  while (search<side>(v, sent)) continue;
  return sent;
}

/// One search by breadth from v. Where it comes to a node with capacity to the sink (or from the source), it pushes
/// what fits, and goes on as long as its other paths stay open. Returns whether a new search may find more.
template <MaxFlow::Side side>
bool MaxFlow::search(std::int32_t v, double& sent) {
  seen_[static_cast<std::size_t>(v)] = ++search_;
  frontier_.assign(1, v);
  for (std::size_t next = 0; next < frontier_.size(); ++next) {
    const std::int32_t x = frontier_[next];
    for (std::int32_t a = node(x).first; a < end_of(x); ++a) {
      const std::int32_t used = side == Side::source ? a : arc(a).reverse, u = arc(a).head;
      const auto at = static_cast<std::size_t>(u);
      if (!(arc(used).residual > 0.0) || seen_[at] == search_ || at_source_[at] == (side == Side::source)) continue;
      seen_[at] = search_;
      step_[at] = used;
      frontier_.push_back(u);
      const double room = side == Side::source ? -node(u).excess : node(u).excess;
      if (!(room > 0.0)) continue;
      const double amount = push_from<side>(v, u, room);
      sent += amount;
      if (amount < room) return true;
    }
  }
  return false;
}

/// Pushes what fits, at most `most`, along the path that the search took from v to `end`.
template <MaxFlow::Side side>
double MaxFlow::push_from(std::int32_t v, std::int32_t end, double most) {
  const auto before = [&](std::int32_t u) {
    const Arc& used = arc(step_[static_cast<std::size_t>(u)]);
    return side == Side::source ? arc(used.reverse).head : used.head;
  };
  double amount = most;
  for (std::int32_t u = end; u != v; u = before(u))
    amount = std::min(amount, arc(step_[static_cast<std::size_t>(u)]).residual);
  for (std::int32_t u = end; u != v; u = before(u)) push(step_[static_cast<std::size_t>(u)], amount);
  changed(end).excess += side == Side::source ? amount : -amount;
  return amount;
}

}  // namespace casimir
