// Assignments, the k best matchings and max-marginals against a list of all matchings, ties included.
#include <limits>
#include <numeric>
#include <tuple>

#include "matching/matching_batch.hpp"
#include "matching/matching_kbest.hpp"
#include "testing.hpp"

using namespace testing;
using casimir::WeightTable;

namespace {

using Output = std::vector<std::int32_t>;

/// All matchings in lexicographic order, row by row.
void list_outputs(const WeightTable& table, Output& prefix, std::vector<Output>& out) {
  if (static_cast<std::int32_t>(prefix.size()) == table.rows) {
    out.push_back(prefix);
    return;
  }
  for (std::int32_t z = 0; z < table.stride(); ++z) {
    if (z < table.columns && std::find(prefix.begin(), prefix.end(), z) != prefix.end()) continue;
    prefix.push_back(z);
    list_outputs(table, prefix, out);
    prefix.pop_back();
  }
}

void check_table(const WeightTable& table) {
  Output prefix;
  std::vector<Output> outputs;
  list_outputs(table, prefix, outputs);
  std::vector<double> value;
  for (const Output& y : outputs) value.push_back(casimir::weight_of(table, y.data()));
  std::vector<std::size_t> order(outputs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return value[a] > value[b]; });

  casimir::MatchingKBest kbest;
  kbest.run(table, 30, std::numeric_limits<double>::infinity());
  check_equal(kbest.count(), static_cast<std::int64_t>(std::min<std::size_t>(30, outputs.size())));
  for (std::int64_t j = 0; j < kbest.count(); ++j) {
    const std::size_t expected = order[static_cast<std::size_t>(j)];
    check_close(kbest.values()[j], value[expected], 0.0);
    check(std::equal(outputs[expected].begin(), outputs[expected].end(), kbest.output(j)));
  }

  const std::int64_t cells = table.rows * table.stride(), offsets[] = {0, cells},
                     shape[] = {table.rows, table.stride()};
  std::vector<double> tables(static_cast<std::size_t>(cells));
  casimir::matching_max_marginals({table.data, offsets, shape, 1, table.null}, 1, tables.data());
  for (std::int32_t v = 0; v < table.rows; ++v)
    for (std::int32_t z = 0; z < table.stride(); ++z) {
      double best = -std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < outputs.size(); ++k)
        if (outputs[k][static_cast<std::size_t>(v)] == z) best = std::max(best, value[k]);
      check_close(tables[static_cast<std::size_t>(v * table.stride() + z)], best, 0.0);
    }
}

/// Prices prove the matching heaviest: no pair gains, matched pairs are tight, free columns cost nothing.
void check_prices(const WeightTable& table) {
  casimir::AssignmentSolver solver;
  casimir::Assignment a;
  solver.solve(table, a);
  for (std::int32_t v = 0; v < table.rows; ++v) {
    const double worth = a.worth[static_cast<std::size_t>(v)];
    for (std::int32_t z = 0; z < table.stride(); ++z) {
      const double price = z < table.columns ? a.price[static_cast<std::size_t>(z)] : 0.0;
      const double gain = table.at(v, z) - worth - price;
      check(gain <= 1e-12);
      if (a.match[static_cast<std::size_t>(v)] == z) check_close(gain, 0.0, 1e-12);
    }
  }
  for (std::int32_t z = 0; z < table.columns && table.has_pool(); ++z) {
    const auto column = static_cast<std::size_t>(z);
    check(a.price[column] >= 0.0);
    check(a.owner[column] != casimir::kFree || a.price[column] == 0.0);
  }
}

}  // namespace

void test_matching() {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const bool null = round % 2 == 0;
    const auto rows = static_cast<std::int32_t>(1 + random.below(4));
    const auto columns = static_cast<std::int32_t>(null ? random.below(5) : rows + random.below(3));
    std::vector<double> weights(static_cast<std::size_t>(rows * (columns + null)));
    for (double& w : weights) w = static_cast<double>(random.below(4));
    check_table({weights.data(), rows, columns, null});
  }
  for (const auto& [rows, columns, null] :
       {std::tuple{40, 40, false}, {30, 50, false}, {50, 30, true}, {20, 0, true}}) {
    const std::vector<double> weights = random.uniforms(rows * (columns + null), -1.0, 1.0);
    check_prices({weights.data(), rows, columns, null});
  }
  const std::vector<double> huge(4, 1e308);
  check_refused([&] { casimir::rounding_of({huge.data(), 2, 2, false}); });
}
