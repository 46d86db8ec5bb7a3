#include <limits>

#include "cut/maxflow.hpp"
#include "testing.hpp"

using namespace testing;
using casimir::MaxFlow;

namespace {

struct Network {
  std::int32_t n;
  std::vector<double> excess;
  std::vector<std::int64_t> ends;
  std::vector<double> capacities;

  std::int32_t edges() const { return static_cast<std::int32_t>(ends.size() / 2); }
};

Network random_network(Random& random, bool whole) {
  Network net;
  net.n = static_cast<std::int32_t>(1 + random.below(25));
  const std::int64_t most = 1 + random.below(12);
  const auto capacity = [&] {
    return whole ? static_cast<double>(random.below(most)) : random.uniform(0.0, static_cast<double>(most));
  };
  for (std::int32_t v = 0; v < net.n; ++v) net.excess.push_back(random.below(2) ? capacity() : -capacity());
  const std::int64_t density = 1 + random.below(8);
  for (std::int64_t u = 0; u < net.n; ++u)
    for (std::int64_t v = u + 1; v < net.n; ++v)
      if (random.below(density) == 0) {
        net.ends.insert(net.ends.end(), {u, v});
        net.capacities.insert(net.capacities.end(), {capacity(), capacity()});
      }
  return net;
}

/// Ford and Fulkerson on a dense matrix: paths by depth-first search, source n, sink n + 1.
class Reference {
 public:
  explicit Reference(const Network& net) : n_(net.n + 2), residual_(static_cast<std::size_t>(n_ * n_), 0.0) {
    for (std::int32_t v = 0; v < net.n; ++v) {
      const double excess = net.excess[static_cast<std::size_t>(v)];
      at(net.n, v) = std::max(excess, 0.0);
      at(v, net.n + 1) = std::max(-excess, 0.0);
    }
    for (std::size_t e = 0; e < net.capacities.size() / 2; ++e) {
      const auto u = static_cast<std::int32_t>(net.ends[2 * e]), v = static_cast<std::int32_t>(net.ends[2 * e + 1]);
      at(u, v) = net.capacities[2 * e];
      at(v, u) = net.capacities[2 * e + 1];
    }
  }

  double solve() {
    double flow = 0.0;
    for (;;) {
      reached_.assign(static_cast<std::size_t>(n_), false);
      const double pushed = push(n_ - 2, std::numeric_limits<double>::infinity());
      if (!(pushed > 0.0)) return flow;
      flow += pushed;
    }
  }

  bool on_source_side(std::int32_t v) const { return reached_[static_cast<std::size_t>(v)]; }

 private:
  double& at(std::int32_t u, std::int32_t v) { return residual_[static_cast<std::size_t>(u * n_ + v)]; }

  double push(std::int32_t v, double most) {
    if (v == n_ - 1) return most;
    reached_[static_cast<std::size_t>(v)] = true;
    for (std::int32_t u = 0; u < n_; ++u) {
      if (reached_[static_cast<std::size_t>(u)] || !(at(v, u) > 0.0)) continue;
      const double pushed = push(u, std::min(most, at(v, u)));
      if (!(pushed > 0.0)) continue;
      at(v, u) -= pushed;
      at(u, v) += pushed;
      return pushed;
    }
    return 0.0;
  }

  std::int32_t n_;
  std::vector<double> residual_;
  std::vector<bool> reached_;
};

std::vector<bool> sides(const MaxFlow& flow, std::int32_t n) {
  std::vector<bool> result;
  for (std::int32_t v = 0; v < n; ++v) result.push_back(flow.on_source_side(v));
  return result;
}

/// The cost of forcing v to a side, from scratch: with a large capacity in place of its own. What it had to (from) the
/// other terminal is cut for certain.
double cost_of_forcing(Network net, std::int32_t v, MaxFlow::Side side, double base) {
  constexpr double kLarge = 1e6;
  double& excess = net.excess[static_cast<std::size_t>(v)];
  const double through = std::max(0.0, side == MaxFlow::Side::source ? -excess : excess);
  excess = side == MaxFlow::Side::source ? kLarge : -kLarge;
  return Reference(net).solve() + through - base;
}

void compare(Random& random, bool whole) {
  const Network net = random_network(random, whole);
  const double tolerance = whole ? 0.0 : 1e-12;
  MaxFlow flow;
  flow.load(net.n, net.excess.data(), net.edges(), net.ends.data(), net.capacities.data());
  Reference reference(net);
  const double base = reference.solve();
  check_close(flow.solve(), base, tolerance);
  check(flow.solve() == 0.0);
  if (whole)
    for (std::int32_t v = 0; v < net.n; ++v) check(flow.on_source_side(v) == reference.on_source_side(v));
  const std::vector<bool> before = sides(flow, net.n);

  std::vector<double> cost(static_cast<std::size_t>(net.n));
  flow.force_each(cost.data());
  check(sides(flow, net.n) == before);
  for (std::int32_t v = 0; v < net.n; ++v) {
    const auto side = before[static_cast<std::size_t>(v)] ? MaxFlow::Side::sink : MaxFlow::Side::source;
    flow.mark();
    const double through = flow.force(v, side);
    const double forced = through + flow.solve();
    check_close(forced, cost[static_cast<std::size_t>(v)], tolerance);
    check_close(forced, cost_of_forcing(net, v, side, base), whole ? 0.0 : 1e-9);
    check(flow.on_source_side(v) == (side == MaxFlow::Side::source));

    // A second node on top of the first, given up at once, then to the end: the same both times.
    const auto other = static_cast<std::int32_t>(random.below(net.n));
    if (other != v) {
      flow.mark();
      flow.force(other, side);
      flow.solve(0.0);
      flow.rollback();
      flow.mark();
      const double first = flow.force(other, side) + flow.solve();
      flow.rollback();
      flow.mark();
      check(first == flow.force(other, side) + flow.solve());
      flow.rollback();
    }
    flow.rollback();
    check(sides(flow, net.n) == before);
    check(flow.solve() == 0.0);
  }
}

}  // namespace

void test_maxflow() {
  Random random(7);
  for (int trial = 0; trial < 300; ++trial) compare(random, trial % 3 != 0);

  MaxFlow flow;
  flow.load(0, nullptr, 0, nullptr, nullptr);
  check(flow.solve() == 0.0);
  const double excess[] = {2.0, 0.0};
  flow.load(2, excess, 0, nullptr, nullptr);
  check(flow.solve() == 0.0);
  check(flow.on_source_side(0));
  check(!flow.on_source_side(1));
}
