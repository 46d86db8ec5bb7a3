// Oracles of labelled graphs against a list of all labellings, ties included; widths of elimination orders.
#include <numeric>

#include "base/numbers.hpp"
#include "junction/junction_batch.hpp"
#include "testing.hpp"

using namespace testing;
using casimir::kInf;

namespace {

/// One graph with whole scores, so that sums are exact and ties frequent.
struct Instance {
  int labels;
  std::int64_t nodes;
  std::vector<std::int64_t> ends;
  std::vector<double> unary, pairwise;

  std::int64_t edges() const { return static_cast<std::int64_t>(ends.size()) / 2; }
  double score(const std::vector<std::int64_t>& y) const {
    double total = 0.0;
    for (std::int64_t v = 0; v < nodes; ++v)
      total += unary[static_cast<std::size_t>(v * labels + y[static_cast<std::size_t>(v)])];
    for (std::int64_t e = 0; e < edges(); ++e) {
      const auto u = static_cast<std::size_t>(ends[static_cast<std::size_t>(2 * e)]);
      const auto v = static_cast<std::size_t>(ends[static_cast<std::size_t>(2 * e + 1)]);
      total += pairwise[static_cast<std::size_t>((e * labels + y[u]) * labels + y[v])];
    }
    return total;
  }
};

Instance make_instance(Random& random) {
  Instance graph{static_cast<int>(1 + random.below(3)), 1 + random.below(5), {}, {}, {}};
  const std::int64_t density = random.below(4);
  for (std::int64_t u = 0; u < graph.nodes; ++u)
    for (std::int64_t v = 0; v < u; ++v)
      if (random.below(3) < density) {
        const bool turned = random.below(2) == 1;
        graph.ends.push_back(turned ? v : u);
        graph.ends.push_back(turned ? u : v);
      }
  const auto whole = [&](std::int64_t count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& value : values) value = static_cast<double>(random.below(3));
    return values;
  };
  graph.unary = whole(graph.nodes * graph.labels);
  graph.pairwise = whole(graph.edges() * graph.labels * graph.labels);
  return graph;
}

/// All labellings in lexicographic order.
std::vector<std::vector<std::int64_t>> list_outputs(const Instance& graph) {
  std::vector<std::vector<std::int64_t>> outputs{std::vector<std::int64_t>(static_cast<std::size_t>(graph.nodes), 0)};
  for (;;) {
    std::vector<std::int64_t> next = outputs.back();
    std::int64_t v = graph.nodes - 1;
    while (v >= 0 && next[static_cast<std::size_t>(v)] == graph.labels - 1) next[static_cast<std::size_t>(v--)] = 0;
    if (v < 0) return outputs;
    ++next[static_cast<std::size_t>(v)];
    outputs.push_back(next);
  }
}

void check_instance(const Instance& graph, std::int64_t most_outputs) {
  const auto outputs = list_outputs(graph);
  std::vector<double> value;
  for (const auto& y : outputs) value.push_back(graph.score(y));
  std::vector<std::size_t> order(outputs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return value[a] > value[b]; });

  const std::int64_t edge_offsets[] = {0, graph.edges()}, offsets[] = {0, graph.nodes};
  const casimir::JunctionGraphs graphs(graph.ends.data(), edge_offsets, 1, graph.labels, 1e6);
  const casimir::JunctionBatch batch{graphs, graph.unary.data(), offsets, graph.pairwise.data(), edge_offsets};

  double best = 0.0;
  std::vector<std::int64_t> labels(static_cast<std::size_t>(graph.nodes));
  casimir::junction_max(batch, 1, &best, labels.data());
  check_close(best, value[order[0]], 0.0);
  check(labels == outputs[order[0]]);

  const casimir::TopKBatch top = casimir::junction_topk(batch, most_outputs, kInf, 1);
  check_equal(top.counts[0], std::min(most_outputs, static_cast<std::int64_t>(outputs.size())));
  for (std::int64_t k = 0; k < top.counts[0]; ++k) {
    const std::size_t expected = order[static_cast<std::size_t>(k)];
    check_close(top.values[static_cast<std::size_t>(k)], value[expected], 0.0);
    check(std::equal(outputs[expected].begin(), outputs[expected].end(), top.labels.begin() + k * graph.nodes));
  }

  const auto cells = static_cast<std::size_t>(graph.nodes * graph.labels);
  std::vector<double> tables(cells), nodes(cells), edges(graph.pairwise.size());
  double soft = 0.0, sum = 0.0;
  casimir::junction_max_marginals(batch, 1, tables.data());
  casimir::junction_expect(batch, 0.7, 1, &soft, nodes.data(), edges.data());
  for (const double z : value) sum += std::exp((z - best) / 0.7);
  check_close(soft, best + 0.7 * std::log(sum), 1e-12);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const std::size_t v = cell / static_cast<std::size_t>(graph.labels);
    const auto label = static_cast<std::int64_t>(cell % static_cast<std::size_t>(graph.labels));
    double most = -kInf, share = 0.0;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (outputs[k][v] != label) continue;
      most = std::max(most, value[k]);
      share += std::exp((value[k] - best) / 0.7) / sum;
    }
    check_close(tables[cell], most, 0.0);
    check_close(nodes[cell], share, 1e-12);
  }
}

std::int64_t width_of_grid(std::int64_t height, std::int64_t width) {
  std::vector<std::int64_t> ends;
  for (std::int64_t v = 0; v < height * width; ++v) {
    if ((v + 1) % width) ends.insert(ends.end(), {v, v + 1});
    if (v + width < height * width) ends.insert(ends.end(), {v, v + width});
  }
  const auto edges = static_cast<std::int64_t>(ends.size()) / 2;
  return casimir::make_junction_plan(height * width, ends.data(), edges, 2, 1e9).width;
}

}  // namespace

void test_junction() {
  Random random(11);
  for (int round = 0; round < 300; ++round) check_instance(make_instance(random), round % 2 ? 20 : 150);
  check_equal(width_of_grid(1, 50), 1);
  check_equal(width_of_grid(3, 40), 3);
  check_equal(width_of_grid(40, 3), 3);
  const std::int64_t ends[] = {0, 5};
  check_refused([&] { casimir::make_junction_plan(5, ends, 1, 2, 1e9); });
}
