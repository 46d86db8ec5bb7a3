// Oracles of chains against all outputs of a chain.
#include "chain/chain_batch.hpp"
#include "fuzz/listing.hpp"
#include "fuzz/targets.hpp"

namespace fuzz {

void chain(Bytes input) {
  constexpr std::int64_t lengths[] = {7, 5, 4, 4, 3, 3, 3, 3, 2, 2};  // 1,000 outputs at the most
  const int labels = static_cast<int>(input.between(1, 18));
  const std::int64_t p = input.between(1, labels == 1 ? 7 : lengths[std::min(labels / 2, 9)]);
  const bool shared = input.flag(), forbids = input.flag();
  const double mu = std::pow(10.0, static_cast<double>(input.between(-4, 3)));
  const std::int64_t k = input.between(1, 40);
  const Scores kind = input.kind_of_scores();
  std::vector<double> nodes = input.scores(p * labels, kind);
  std::vector<double> edges = input.scores((shared ? 1 : p - 1) * labels * labels, kind);
  if (forbids)
    for (auto* scores : {&nodes, &edges})
      for (double& value : *scores)
        if (input.between(0, 3) == 3) value = -std::numeric_limits<double>::infinity();
  const std::int64_t square = labels * labels;
  const Listing listing = listing_of(p, labels, unit_of(kind == Scores::whole, nodes, edges), [&](const Labels& y) {
    double total = 0.0;
    for (std::int64_t t = 0; t < p; ++t) {
      const auto own = y[static_cast<std::size_t>(t)];
      total += nodes[static_cast<std::size_t>(t * labels + own)];
      if (t > 0)
        total += edges[static_cast<std::size_t>((shared ? 0 : t - 1) * square +
                                                y[static_cast<std::size_t>(t - 1)] * labels + own)];
    }
    return total;
  });
  if (listing.outputs.empty()) return;  // nothing is allowed: for the caller to refuse

  const std::int64_t offsets[] = {0, p};
  const casimir::ChainBatch batch{nodes.data(), offsets, 1, edges.data(), shared, labels};
  double value = 0.0;
  Labels found(static_cast<std::size_t>(p));
  casimir::chain_max(batch, 1, &value, found.data());
  listing.check_output(0, value, found.data());
  const auto top = casimir::chain_topk(batch, k, std::numeric_limits<double>::infinity(), 1);
  listing.check_top(k, top.counts[0], top.values.data(), top.labels.data());
  std::vector<double> table(nodes.size()), pairs(static_cast<std::size_t>((p - 1) * square), 0.0);
  casimir::chain_max_marginals(batch, 1, table.data());
  listing.check_max_marginals(table.data(), labels);
  casimir::chain_expect(batch, mu, 1, &value, table.data(), pairs.data());
  listing.check_expect(mu, value, table.data(), labels);
}

}  // namespace fuzz
