// Oracles of forests against all outputs.
#include "fuzz/listing.hpp"
#include "fuzz/targets.hpp"
#include "tree/tree_batch.hpp"

namespace fuzz {

void tree(Bytes input) {
  const int labels = static_cast<int>(input.between(1, 9));
  const std::int64_t p = input.between(1, labels < 3 ? 7 : labels < 5 ? 4 : 3);
  const bool shared = input.flag(), forbids = input.flag();
  const double mu = std::pow(10.0, static_cast<double>(input.between(-4, 3)));
  const std::int64_t k = input.between(1, 40);
  std::vector<std::int64_t> parents;
  for (std::int64_t v = 0; v < p; ++v) parents.push_back(input.between(-1, p - 1));
  const std::int64_t offsets[] = {0, p};
  casimir::TreeOrder order;
  try {
    order = casimir::tree_order(parents.data(), offsets, 1);
  } catch (const std::invalid_argument&) {
    return;  // a circle
  }
  const Scores kind = input.kind_of_scores();
  const std::int64_t square = labels * labels;
  std::vector<double> nodes = input.scores(p * labels, kind), edges = input.scores((shared ? 1 : p) * square, kind);
  if (forbids)
    for (auto* scores : {&nodes, &edges})
      for (double& value : *scores)
        if (input.between(0, 3) == 3) value = -std::numeric_limits<double>::infinity();
  const Listing listing = listing_of(p, labels, unit_of(kind == Scores::whole, nodes, edges), [&](const Labels& y) {
    double total = 0.0;
    for (std::int64_t v = 0; v < p; ++v) {
      const auto own = y[static_cast<std::size_t>(v)], above = parents[static_cast<std::size_t>(v)];
      total += nodes[static_cast<std::size_t>(v * labels + own)];
      if (above >= 0)
        total += edges[static_cast<std::size_t>((shared ? 0 : v) * square + own * labels +
                                                y[static_cast<std::size_t>(above)])];
    }
    return total;
  });
  if (listing.outputs.empty()) return;

  const casimir::TreeBatch batch{nodes.data(),
                                 offsets,
                                 1,
                                 edges.data(),
                                 shared,
                                 labels,
                                 {order.node.data(), order.parent.data(), order.subtree.data()}};
  double value = 0.0;
  Labels found(static_cast<std::size_t>(p));
  casimir::tree_max(batch, 1, &value, found.data());
  listing.check_output(0, value, found.data());
  const auto top = casimir::tree_topk(batch, k, std::numeric_limits<double>::infinity(), 1);
  listing.check_top(k, top.counts[0], top.values.data(), top.labels.data());
  std::vector<double> table(nodes.size()), pairs(static_cast<std::size_t>(p * square));
  casimir::tree_max_marginals(batch, 1, table.data());
  listing.check_max_marginals(table.data(), labels);
  casimir::tree_expect(batch, mu, 1, &value, table.data(), pairs.data());
  listing.check_expect(mu, value, table.data(), labels);
}

}  // namespace fuzz
