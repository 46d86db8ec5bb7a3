// Oracles of labelled forests against a list of all labellings, ties included.

#include "base/numbers.hpp"
#include "testing.hpp"
#include "tree/shared_tree_sum.hpp"
#include "tree/tree_batch.hpp"
#include "tree/tree_sum.hpp"

using namespace testing;
using casimir::kInf;

namespace {

using Labels = std::vector<std::int64_t>;

/// Two forests with whole scores, so that sums are exact and ties frequent.
struct Instance {
  int labels;
  bool shared;
  std::vector<std::int64_t> offsets, parents;
  std::vector<double> unary, edges;
  casimir::TreeOrder order;

  casimir::TreeBatch batch() const {
    return {unary.data(),
            offsets.data(),
            2,
            edges.data(),
            shared,
            labels,
            {order.node.data(), order.parent.data(), order.subtree.data()}};
  }
  std::size_t edge(std::size_t node, std::int64_t label, std::int64_t above) const {
    return ((shared ? 0 : node) * static_cast<std::size_t>(labels) + static_cast<std::size_t>(label)) *
               static_cast<std::size_t>(labels) +
           static_cast<std::size_t>(above);
  }
  double score(std::size_t i, const Labels& y) const {
    double total = 0.0;
    for (std::size_t v = 0; v < y.size(); ++v) {
      const std::size_t node = static_cast<std::size_t>(offsets[i]) + v;
      total += unary[node * static_cast<std::size_t>(labels) + static_cast<std::size_t>(y[v])];
      if (parents[node] >= 0) total += edges[edge(node, y[v], y[static_cast<std::size_t>(parents[node])])];
    }
    return total;
  }
};

Instance make_instance(Random& random) {
  Instance forest{static_cast<int>(1 + random.below(3)), random.below(2) == 1, {0}, {}, {}, {}, {}};
  for (int i = 0; i < 2; ++i) {
    const std::int64_t p = 1 + random.below(5);
    const auto number = random.permutation(p);  // parents may come after their children
    const auto first = forest.parents.size();
    forest.parents.resize(first + static_cast<std::size_t>(p));
    for (std::int64_t v = 0; v < p; ++v) {
      const std::int64_t above = random.below(v + 1) - 1;
      forest.parents[first + static_cast<std::size_t>(number[static_cast<std::size_t>(v)])] =
          above < 0 ? -1 : number[static_cast<std::size_t>(above)];
    }
    forest.offsets.push_back(forest.offsets.back() + p);
  }
  forest.order = casimir::tree_order(forest.parents.data(), forest.offsets.data(), 2);
  const std::int64_t total = forest.offsets.back(), block = forest.labels * forest.labels;
  const auto whole = [&](std::int64_t count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& value : values) value = static_cast<double>(random.below(3));
    return values;
  };
  forest.unary = whole(total * forest.labels);
  forest.edges = whole(forest.shared ? block : total * block);
  return forest;
}

/// A share of all scores is -inf.
void forbid(Instance& forest, double share, Random& random) {
  for (double& value : forest.unary)
    if (random.uniform(0.0, 1.0) < share) value = -kInf;
  for (double& value : forest.edges)
    if (random.uniform(0.0, 1.0) < share) value = -kInf;
}

/// All allowed labellings of an example, sorted by (-score, lexicographic).
std::vector<Labels> sorted_outputs(const Instance& forest, std::size_t i) {
  std::vector<Labels> outputs{Labels(static_cast<std::size_t>(forest.offsets[i + 1] - forest.offsets[i]), 0)};
  for (;;) {
    Labels next = outputs.back();
    auto last = next.rbegin();
    while (last != next.rend() && *last == forest.labels - 1) *last++ = 0;
    if (last == next.rend()) break;
    ++*last;
    outputs.push_back(next);
  }
  std::erase_if(outputs, [&](const Labels& y) { return forest.score(i, y) == -kInf; });
  std::stable_sort(outputs.begin(), outputs.end(),
                   [&](const Labels& a, const Labels& b) { return forest.score(i, a) > forest.score(i, b); });
  return outputs;
}

void check_instance(const Instance& forest, std::int64_t most_outputs) {
  if (sorted_outputs(forest, 0).empty() || sorted_outputs(forest, 1).empty()) return;
  const casimir::TreeBatch batch = forest.batch();
  const auto total = static_cast<std::size_t>(batch.total()), labels = static_cast<std::size_t>(forest.labels);
  std::vector<double> best(2), soft(2), tables(total * labels), nodes(total * labels), edges(total * labels * labels);
  Labels found(total);
  casimir::tree_max(batch, 2, best.data(), found.data());
  casimir::tree_max_marginals(batch, 2, tables.data());
  casimir::tree_expect(batch, 0.7, 2, soft.data(), nodes.data(), edges.data());
  const casimir::TopKBatch top = casimir::tree_topk(batch, most_outputs, kInf, 2);

  std::vector<double> most(tables.size(), -kInf), share(nodes.size(), 0.0);
  auto value = top.values.begin();
  auto label = top.labels.begin();
  for (std::size_t i = 0; i < 2; ++i) {
    const std::vector<Labels> outputs = sorted_outputs(forest, i);
    check_close(best[i], forest.score(i, outputs[0]), 0.0);
    check(std::equal(outputs[0].begin(), outputs[0].end(), found.begin() + forest.offsets[i]));
    check_equal(top.counts[i], std::min(most_outputs, static_cast<std::int64_t>(outputs.size())));
    for (std::size_t k = 0; k < static_cast<std::size_t>(top.counts[i]); ++k) {
      check_close(*value++, forest.score(i, outputs[k]), 0.0);
      for (const std::int64_t y : outputs[k]) check_equal(*label++, y);
    }
    double sum = 0.0;
    for (const Labels& y : outputs) sum += std::exp((forest.score(i, y) - best[i]) / 0.7);
    check_close(soft[i], best[i] + 0.7 * std::log(sum), 1e-12);
    for (const Labels& y : outputs)
      for (std::size_t v = 0; v < y.size(); ++v) {
        const std::size_t cell =
            (static_cast<std::size_t>(forest.offsets[i]) + v) * labels + static_cast<std::size_t>(y[v]);
        most[cell] = std::max(most[cell], forest.score(i, y));
        share[cell] += std::exp((forest.score(i, y) - best[i]) / 0.7) / sum;
      }
  }
  check(value == top.values.end() && label == top.labels.end());
  for (std::size_t cell = 0; cell < most.size(); ++cell) {
    check(tables[cell] == most[cell]);
    check_close(nodes[cell], share[cell], 1e-12);
    check(share[cell] > 0.0 || nodes[cell] == 0.0);
  }
}

/// The sum over trees with one matrix for all edges is that of trees with a matrix each.
void check_shared(const Instance& forest, double mu) {
  if (!forest.shared || sorted_outputs(forest, 0).empty() || sorted_outputs(forest, 1).empty()) return;
  const casimir::TreeBatch batch = forest.batch();
  const auto labels = static_cast<std::size_t>(forest.labels);
  casimir::SharedTreeSum shared;
  casimir::TreeSum sum;
  for (std::int64_t i = 0; i < 2; ++i) {
    const casimir::TreeView tree = batch.tree(i);
    const auto p = static_cast<std::size_t>(tree.p);
    std::vector<double> nodes(p * labels), total(labels * labels, 0.0), all_nodes(p * labels);
    std::vector<double> all_edges(p * labels * labels);
    const double value = shared.run(tree, mu, forest.labels, nodes.data(), total.data());
    check_close(value, sum.run(tree, mu, all_nodes.data(), all_edges.data()), 1e-12);
    for (std::size_t cell = 0; cell < nodes.size(); ++cell) check_close(nodes[cell], all_nodes[cell], 1e-12);
    for (std::size_t cell = 0; cell < all_edges.size(); ++cell) total[cell % total.size()] -= all_edges[cell];
    for (const double difference : total) check_close(difference, 0.0, 1e-12);
  }
}

}  // namespace

void test_tree() {
  Random random(12);
  for (int round = 0; round < 600; ++round) {
    Instance forest = make_instance(random);
    forbid(forest, round % 2 ? random.uniform(0.0, 0.6) : 0.0, random);
    check_instance(forest, round % 2 ? 20 : 150);
    for (const double mu : {1.0, 0.002, 1e-4}) check_shared(forest, mu);  // in the range of doubles, at its end, beyond
  }
  const std::int64_t circle[] = {1, 0}, offsets[] = {0, 2};
  check_refused([&] { casimir::tree_order(circle, offsets, 1); });
}
