// All outputs of a small instance, best first, and what oracles must say of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/testing.hpp"

namespace fuzz {

using Labels = std::vector<std::int64_t>;

struct Output {
  double score;
  Labels labels;
};

/// Sorted by (score descending, labels lexicographic). `unit`: what rounding errors are relative to, 0 where sums are
/// exact: then ties are judged too.
struct Listing {
  std::vector<Output> outputs;
  double unit;

  double tolerance() const { return 1e-12 * unit; }

  void check_value(double value, double expected, const testing::Place& place = testing::Place::current()) const {
    if (!(std::abs(value - expected) <= tolerance()))
      testing::fail(std::to_string(value) + " instead of " + std::to_string(expected) + ", which may be off by " +
                        std::to_string(tolerance()),
                    place);
  }

  /// Output k of an oracle: its score is that of rank k, and exact ones have its labels.
  template <class Label>
  void check_output(std::size_t k, double value, const Label* labels) const {
    check_value(value, outputs[k].score);
    const auto is_it = [&](const Output& output) {
      return std::equal(output.labels.begin(), output.labels.end(), labels);
    };
    if (unit == 0.0) return testing::check(is_it(outputs[k]));
    const auto found = std::find_if(outputs.begin(), outputs.end(), is_it);
    testing::check(found != outputs.end());
    check_value(found->score, outputs[k].score);
  }

  /// The k best as an oracle lists them: `count` of them, all distinct.
  template <class Label>
  void check_top(std::int64_t k, std::int64_t count, const double* values, const Label* labels) const {
    testing::check_equal(count, std::min(k, static_cast<std::int64_t>(outputs.size())));
    const std::size_t p = outputs[0].labels.size();
    std::vector<std::vector<Label>> seen;
    for (std::size_t j = 0; j < static_cast<std::size_t>(count); ++j) {
      check_output(j, values[j], labels + j * p);
      seen.emplace_back(labels + j * p, labels + (j + 1) * p);
    }
    std::sort(seen.begin(), seen.end());
    testing::check(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
  }

  /// table[v][y]: the best score with part v labelled y, -inf where there is none.
  void check_max_marginals(const double* table, std::int64_t labels) const {
    std::vector<double> best(outputs[0].labels.size() * static_cast<std::size_t>(labels),
                             -std::numeric_limits<double>::infinity());
    for (const Output& output : outputs)
      for (std::size_t v = 0; v < output.labels.size(); ++v) {
        double& cell = best[v * static_cast<std::size_t>(labels) + static_cast<std::size_t>(output.labels[v])];
        cell = std::max(cell, output.score);
      }
    for (std::size_t cell = 0; cell < best.size(); ++cell)
      std::isinf(best[cell]) ? testing::check(table[cell] == best[cell]) : check_value(table[cell], best[cell]);
  }

  /// The soft maximum, and the probabilities table[v][y] of the labels of parts.
  void check_expect(double mu, double value, const double* table, std::int64_t labels) const {
    std::vector<double> expected(outputs[0].labels.size() * static_cast<std::size_t>(labels), 0.0);
    const double best = outputs[0].score;
    double sum = 0.0;
    for (const Output& output : outputs) sum += std::exp((output.score - best) / mu);
    for (const Output& output : outputs)
      for (std::size_t v = 0; v < output.labels.size(); ++v)
        expected[v * static_cast<std::size_t>(labels) + static_cast<std::size_t>(output.labels[v])] +=
            std::exp((output.score - best) / mu) / sum;
    testing::check(std::abs(value - (best + mu * std::log(sum))) <= 1e-12 * (1.0 + 10.0 * mu + std::abs(best) + unit));
    // Rounding of scores by 1e-16 of their unit becomes that of probabilities, over the temperature.
    const double tolerance = 1e-10 + 1e-13 * unit / mu;
    if (tolerance > 1e-3) return;
    for (std::size_t cell = 0; cell < expected.size(); ++cell)
      testing::check(std::abs(table[cell] - expected[cell]) <= tolerance);
  }
};

/// Every list of p labels below `labels`, with the score that score(labels) gives; those of -inf are left out.
template <class Score>
Listing listing_of(std::int64_t p, std::int64_t labels, double unit, Score&& score) {
  Listing found{{}, unit};
  Labels y(static_cast<std::size_t>(p), 0);
  while (true) {
    const double value = score(y);
    if (value > -std::numeric_limits<double>::infinity()) found.outputs.push_back({value, y});
    auto last = y.rbegin();
    while (last != y.rend() && *last == labels - 1) *last++ = 0;
    if (last == y.rend()) break;
    ++*last;
  }
  std::stable_sort(found.outputs.begin(), found.outputs.end(),
                   [](const Output& a, const Output& b) { return a.score > b.score; });
  return found;
}

/// The largest finite score in size, times their number; 0 where scores are whole.
inline double unit_of(bool whole, const std::vector<double>& nodes, const std::vector<double>& edges) {
  if (whole) return 0.0;
  double largest = 0.0;
  for (const auto* scores : {&nodes, &edges})
    for (const double value : *scores)
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  return largest * static_cast<double>(nodes.size() + edges.size());
}

}  // namespace fuzz
