#include "matching/matching_marginals.hpp"

#include <algorithm>

#include "base/numbers.hpp"
#include "matching/gains.hpp"

namespace casimir {
namespace {

using gains::kNever;
using L = Lanes<8>;

}  // namespace

void MatchingMarginals::run(const WeightTable& table, const Assignment& a, double value, double* out) {
  nodes_ = at(table.rows) + (table.has_pool() ? 1 : 0);
  stride_ = (nodes_ + 7) / 8 * 8;
  first_steps(table, a);
  close();
  const std::size_t pool = at(table.rows);
  for (std::int32_t v = 0; v < table.rows; ++v)
    for (std::int32_t z = 0; z < table.stride(); ++z, ++out) {
      if (a.match[at(v)] == z) {
        *out = value;
        continue;
      }
      const bool null = z == table.columns;
      const std::size_t holder = null || a.owner[at(z)] == kFree ? pool : at(a.owner[at(z)]);
      const double gain = table.at(v, z) - a.worth[at(v)] - (null ? 0.0 : a.price[at(z)]);
      *out = value + (std::min(gain, 0.0) + delta_[holder * stride_ + at(v)]);
    }
}

/// delta(x, y) = the gain of node x on what node y holds.
void MatchingMarginals::first_steps(const WeightTable& table, const Assignment& a) {
  delta_.assign(nodes_ * stride_, kNever);
  const std::size_t pool = at(table.rows);
  for (std::int32_t v = 0; v < table.rows; ++v) {
    double* row = delta_.data() + at(v) * stride_;
    const double* w = table.row(v);
    const double worth = a.worth[at(v)];
    for (std::int32_t z = 0; z < table.columns; ++z) {
      const std::size_t holder = a.owner[at(z)] == kFree ? pool : at(a.owner[at(z)]);
      row[holder] = std::max(row[holder], std::min(w[z] - worth - a.price[at(z)], 0.0));
    }
    if (table.null) row[pool] = std::max(row[pool], std::min(w[table.columns] - worth, 0.0));
    row[v] = 0.0;
    if (!table.has_pool()) continue;
    const std::int32_t match = a.match[at(v)];
    delta_[pool * stride_ + at(v)] = match == table.columns ? 0.0 : std::min(-a.price[at(match)], 0.0);
  }
  if (table.has_pool()) delta_[pool * stride_ + pool] = 0.0;
}

void MatchingMarginals::close() {
  for (std::size_t k = 0; k < nodes_; ++k) {
    const double* through = delta_.data() + k * stride_;
    for (std::size_t i = 0; i < nodes_; ++i) {
      double* row = delta_.data() + i * stride_;
      if (i == k || row[k] == kNever) continue;
      const L::V step = L::all(row[k]);
      for (std::size_t j = 0; j < stride_; j += 8)
        L::store(row + j, L::max(L::load(row + j), step + L::load(through + j)));
    }
  }
}

}  // namespace casimir
