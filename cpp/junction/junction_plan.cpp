#include "junction/junction_plan.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <stdexcept>
#include <tuple>

namespace casimir {
namespace {

using Nodes = std::vector<std::int64_t>;  // sorted

// With tables too large already, an order is followed up to this width, to say how large they are.
constexpr std::size_t kHopeless = 64;

bool contains(const Nodes& nodes, std::int64_t v) { return std::binary_search(nodes.begin(), nodes.end(), v); }

std::int64_t common(const Nodes& a, const Nodes& b) {
  const Nodes &few = a.size() < b.size() ? a : b, &many = a.size() < b.size() ? b : a;
  return std::count_if(few.begin(), few.end(), [&](std::int64_t v) { return contains(many, v); });
}

/// A graph under elimination. fill(v) counts the pairs of neighbours of v that are not joined; it is kept up to date.
class FillGraph {
 public:
  FillGraph(std::int64_t nodes, const std::int64_t* ends, std::int64_t edges)
      : neighbours_(static_cast<std::size_t>(nodes)), fill_(static_cast<std::size_t>(nodes), 0) {
    for (std::int64_t e = 0; e < edges; ++e) {
      of(ends[2 * e]).push_back(ends[2 * e + 1]);
      of(ends[2 * e + 1]).push_back(ends[2 * e]);
    }
    for (Nodes& list : neighbours_) {
      std::sort(list.begin(), list.end());
      if (std::adjacent_find(list.begin(), list.end()) != list.end())  // a loop is seen from both of its ends as well
        throw std::invalid_argument("an edge joins a node to itself, or comes twice.");
    }
    for (std::int64_t v = 0; v < nodes; ++v) {
      std::int64_t joined = 0;  // every joined pair is seen from both of its ends
      for (const std::int64_t u : of(v)) joined += common(of(u), of(v));
      const std::int64_t degree = size(v);
      fill(v) = (degree * (degree - 1) - joined) / 2;
      queue_.insert(key(v));
    }
  }

  std::int64_t next() const { return std::get<2>(*queue_.begin()); }
  const Nodes& neighbours(std::int64_t v) const { return neighbours_[static_cast<std::size_t>(v)]; }

  /// Joins all neighbours of v and takes v out.
  void eliminate(std::int64_t v) {
    const Nodes around = neighbours(v);
    if (fill(v) > 0)
      for (std::size_t a = 0; a < around.size(); ++a)
        for (std::size_t b = a + 1; b < around.size(); ++b)
          if (!contains(of(around[a]), around[b])) join(around[a], around[b]);
    queue_.erase(key(v));
    for (const std::int64_t u : around) {
      // v is now joined to all of `around`; the pairs of v with the other neighbours of u go with it.
      change(u, [&] {
        fill(u) -= size(u) - 1 - common(of(u), around);
        of(u).erase(std::lower_bound(of(u).begin(), of(u).end(), v));
      });
    }
  }

 private:
  Nodes& of(std::int64_t v) { return neighbours_[static_cast<std::size_t>(v)]; }
  std::int64_t& fill(std::int64_t v) { return fill_[static_cast<std::size_t>(v)]; }
  std::int64_t size(std::int64_t v) const { return static_cast<std::int64_t>(neighbours(v).size()); }
  std::tuple<std::int64_t, std::int64_t, std::int64_t> key(std::int64_t v) { return {fill(v), size(v), v}; }

  void change(std::int64_t v, const std::function<void()>& edit) {
    queue_.erase(key(v));
    edit();
    queue_.insert(key(v));
  }

  void join(std::int64_t a, std::int64_t b) {
    Nodes both;
    std::set_intersection(of(a).begin(), of(a).end(), of(b).begin(), of(b).end(), std::back_inserter(both));
    for (const std::int64_t w : both) change(w, [&] { --fill(w); });
    const auto shared = static_cast<std::int64_t>(both.size());
    for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}})
      change(from, [&, from = from, to = to] {
        fill(from) += size(from) - shared;
        of(from).insert(std::lower_bound(of(from).begin(), of(from).end(), to), to);
      });
  }

  std::vector<Nodes> neighbours_;
  std::vector<std::int64_t> fill_;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> queue_;
};

/// Separators become positions; finds parents, children and the layout of the tables.
void link_cliques(JunctionPlan& plan) {
  const std::int64_t n = plan.nodes;
  for (std::int64_t& u : plan.separators) u = plan.position[static_cast<std::size_t>(u)];
  plan.child_offsets.assign(static_cast<std::size_t>(n) + 1, 0);
  plan.table_offsets.push_back(0);
  for (std::int64_t t = 0; t < n; ++t) {
    const auto begin = plan.separators.begin() + plan.separator_offsets[static_cast<std::size_t>(t)];
    const auto end = plan.separators.begin() + plan.separator_offsets[static_cast<std::size_t>(t) + 1];
    std::sort(begin, end, std::greater<>());
    plan.parent.push_back(begin != end ? *(end - 1) : t + 1 < n ? n - 1 : -1);
    if (plan.parent.back() >= 0) ++plan.child_offsets[static_cast<std::size_t>(plan.parent.back()) + 1];
    std::int64_t cells = plan.labels;
    for (auto u = begin; u != end; ++u) cells *= plan.labels;
    plan.table_offsets.push_back(plan.table_offsets.back() + cells);
  }
  for (std::size_t t = 0; t < static_cast<std::size_t>(n); ++t) plan.child_offsets[t + 1] += plan.child_offsets[t];
  plan.children.resize(static_cast<std::size_t>(plan.child_offsets.back()));
  std::vector<std::int64_t> place(plan.child_offsets.begin(), plan.child_offsets.end());
  plan.stride_offsets.push_back(0);
  for (std::int64_t t = 0; t < n; ++t) {
    const std::int64_t p = plan.parent[static_cast<std::size_t>(t)];
    if (p >= 0) {
      plan.children[static_cast<std::size_t>(place[static_cast<std::size_t>(p)]++)] = t;
      const std::int64_t first = static_cast<std::int64_t>(plan.strides.size()), dimensions = plan.dimensions(p);
      plan.strides.resize(static_cast<std::size_t>(first + dimensions), 0);
      const std::int64_t *mine = plan.separator(t), *theirs = plan.separator(p);
      std::int64_t stride = 1;
      for (std::int64_t j = plan.separator_size(t) - 1, d = dimensions - 1; j >= 0; --j, stride *= plan.labels) {
        while ((d == dimensions - 1 ? p : theirs[d]) != mine[j]) --d;
        plan.strides[static_cast<std::size_t>(first + d)] = stride;
      }
    }
    plan.stride_offsets.push_back(static_cast<std::int64_t>(plan.strides.size()));
  }
}

}  // namespace

JunctionPlan make_junction_plan(std::int64_t nodes, const std::int64_t* ends, std::int64_t edges, int labels,
                                double max_cells) {
  for (std::int64_t e = 0; e < 2 * edges; ++e)
    if (ends[e] < 0 || ends[e] >= nodes) throw std::invalid_argument("an edge names a node that is not there.");
  JunctionPlan plan;
  plan.nodes = nodes;
  plan.labels = labels;
  plan.position.assign(static_cast<std::size_t>(nodes), -1);
  plan.separator_offsets.push_back(0);
  FillGraph graph(nodes, ends, edges);
  for (std::int64_t t = 0; t < nodes; ++t) {
    const std::int64_t v = graph.next();
    const Nodes& around = graph.neighbours(v);
    plan.order.push_back(v);
    plan.position[static_cast<std::size_t>(v)] = t;
    plan.separators.insert(plan.separators.end(), around.begin(), around.end());
    plan.separator_offsets.push_back(static_cast<std::int64_t>(plan.separators.size()));
    plan.width = std::max(plan.width, static_cast<std::int64_t>(around.size()));
    plan.cells += std::pow(static_cast<double>(labels), static_cast<double>(around.size() + 1));
    plan.fits = plan.cells <= max_cells;
    plan.finished = plan.fits || around.size() <= kHopeless;
    if (!plan.finished) return plan;
    graph.eliminate(v);
  }
  if (plan.fits) link_cliques(plan);
  return plan;
}

JunctionGraphs::JunctionGraphs(const std::int64_t* ends, const std::int64_t* offsets, std::int64_t size, int labels,
                               double max_cells)
    : labels_(labels), max_cells_(max_cells) {
  for (std::int64_t i = 0; i < size; ++i) {
    graphs_.push_back(std::make_shared<Graph>());
    graphs_.back()->ends.assign(ends + 2 * offsets[i], ends + 2 * offsets[i + 1]);
  }
}

std::int64_t JunctionGraphs::edges(std::int64_t i) const { return static_cast<std::int64_t>(graph(i).ends.size()) / 2; }

JunctionGraphs JunctionGraphs::select(const std::int64_t* examples, std::int64_t count) const {
  JunctionGraphs chosen(labels_, max_cells_);
  for (std::int64_t i = 0; i < count; ++i) chosen.graphs_.push_back(graphs_.at(static_cast<std::size_t>(examples[i])));
  return chosen;
}

std::shared_ptr<const JunctionPlan> JunctionGraphs::plan(std::int64_t i, std::int64_t nodes) const {
  Graph& g = graph(i);
  const std::lock_guard lock(g.mutex);
  if (!g.plan || g.plan->nodes != nodes)
    g.plan = std::make_shared<JunctionPlan>(make_junction_plan(nodes, g.ends.data(), edges(i), labels_, max_cells_));
  return g.plan;
}

}  // namespace casimir
