// Oracles of matchings against all of them.
#include "fuzz/listing.hpp"
#include "fuzz/targets.hpp"
#include "matching/matching_batch.hpp"

namespace fuzz {

void matching(Bytes input) {
  const bool null = input.flag();
  const std::int64_t rows = input.between(1, 4), columns = null ? input.between(0, 4) : rows + input.between(0, 2);
  const std::int64_t stride = columns + null, k = input.between(1, 40);
  const Scores kind = input.kind_of_scores();
  const std::vector<double> weights = input.scores(rows * stride, kind);
  const Listing listing = listing_of(rows, stride, unit_of(kind == Scores::whole, weights, {}), [&](const Labels& y) {
    double total = 0.0;
    for (std::size_t v = 0; v < y.size(); ++v) {
      if (y[v] < columns && std::count(y.begin(), y.end(), y[v]) > 1) return -std::numeric_limits<double>::infinity();
      total += weights[v * static_cast<std::size_t>(stride) + static_cast<std::size_t>(y[v])];
    }
    return total;
  });

  const std::int64_t offsets[] = {0, rows * stride}, shape[] = {rows, stride};
  const casimir::MatchingBatch batch{weights.data(), offsets, shape, 1, null};
  double value = 0.0;
  Labels found(static_cast<std::size_t>(rows));
  casimir::matching_max(batch, 1, &value, found.data());
  listing.check_output(0, value, found.data());
  const auto top = casimir::matching_topk(batch, k, std::numeric_limits<double>::infinity(), 1);
  listing.check_top(k, top.counts[0], top.values.data(), top.labels.data());
  std::vector<double> table(weights.size());
  casimir::matching_max_marginals(batch, 1, table.data());
  listing.check_max_marginals(table.data(), stride);
}

}  // namespace fuzz
