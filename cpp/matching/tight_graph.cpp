#include "matching/tight_graph.hpp"

#include <algorithm>
#include <cmath>

#include "base/numbers.hpp"
#include "matching/gains.hpp"

namespace casimir {

void TightGraph::first_matching(const WeightTable& table, Assignment& a, std::int32_t begin,
                                const std::vector<std::int32_t>& forbidden, double rounding) {
  if (!collect(table, a, begin, rounding)) return;
  for (std::int32_t v = begin; v < table.rows; ++v) {
    choices_.clear();
    for (std::int32_t k = row_starts_[at(v - begin)]; k < row_starts_[at(v - begin + 1)]; ++k) {
      const std::int32_t z = tight_[at(k)], owner = a.owner[at(z)];
      if (z >= a.match[at(v)]) break;
      if (owner != kFree && owner < v) continue;
      if (v == begin && std::find(forbidden.begin(), forbidden.end(), z) != forbidden.end()) continue;
      choices_.push_back(z);
    }
    if (!choices_.empty()) improve(table, a, v, rounding);
  }
}

/// All pairs of gain 0 among the rows from `begin` on; false when every row has only one.
bool TightGraph::collect(const WeightTable& table, const Assignment& a, std::int32_t begin, double rounding) {
  tight_.clear();
  row_starts_.assign(1, 0);
  tight_null_.clear();
  bool choice = false;
  for (std::int32_t v = begin; v < table.rows; ++v) {
    const double worth = a.worth[at(v)];
    const std::int32_t match = a.match[at(v)];
    gains::for_each_at_least(table.row(v), a.price.data(), worth - rounding, table.columns, [&](std::int64_t z) {
      tight_.push_back(static_cast<std::int32_t>(z));
      choice = choice || z < match;
      return true;
    });
    row_starts_.push_back(static_cast<std::int32_t>(tight_.size()));
    if (table.null && table.at(v, table.columns) - worth >= -rounding) tight_null_.push_back(v);
  }
  if (!choice) return false;
  col_starts_.assign(at(table.columns) + 2, 0);
  for (const std::int32_t z : tight_) ++col_starts_[at(z) + 2];
  for (std::size_t z = 2; z < col_starts_.size(); ++z) col_starts_[z] += col_starts_[z - 1];
  tight_rows_.resize(tight_.size());
  for (std::int32_t v = begin; v < table.rows; ++v)
    for (std::int32_t k = row_starts_[at(v - begin)]; k < row_starts_[at(v - begin + 1)]; ++k)
      tight_rows_[at(col_starts_[at(tight_[at(k)]) + 1]++)] = v;
  col_starts_.pop_back();
  return true;
}

/// Gives row v the first of its choices that later rows and the pool can make room for. `next_` leads from each of them
/// that can to v, found by a search backwards from v.
void TightGraph::improve(const WeightTable& table, Assignment& a, std::int32_t v, double rounding) {
  const auto nodes = at(table.rows) + 1;  // the pool is node `rows`
  seen_.assign(nodes, 0);
  next_.resize(nodes);
  take_.resize(nodes);
  queue_.assign(1, v);
  seen_[at(v)] = 1;
  const auto holder = [&](std::int32_t z) { return a.owner[at(z)] == kFree ? table.rows : a.owner[at(z)]; };
  for (std::size_t head = 0; head < queue_.size() && !seen_[at(holder(choices_[0]))]; ++head)
    visit(table, a, v, queue_[head], rounding);
  for (const std::int32_t z : choices_)
    if (seen_[at(holder(z))] && exchange(table, a, v, z)) return;
}

/// Who can take what `node` has.
void TightGraph::visit(const WeightTable& table, const Assignment& a, std::int32_t v, std::int32_t node,
                       double rounding) {
  const auto takers_of = [&](std::int32_t z) {
    for (std::int32_t k = col_starts_[at(z)]; k < col_starts_[at(z) + 1]; ++k)
      if (tight_rows_[at(k)] > v) reach(tight_rows_[at(k)], node, z);
  };
  if (node < table.rows) {
    const std::int32_t z = a.match[at(node)];
    if (z < table.columns) takers_of(z);
    if (table.has_pool() && (z == table.columns || a.price[at(z)] <= rounding)) reach(table.rows, node, z);
    return;
  }
  for (std::int32_t z = 0; z < table.columns; ++z)
    if (a.owner[at(z)] == kFree) takers_of(z);
  for (const std::int32_t row : tight_null_)
    if (row > v && a.match[at(row)] != table.columns) reach(row, node, table.columns);
}

void TightGraph::reach(std::int32_t node, std::int32_t next, std::int32_t column) {
  if (seen_[at(node)]) return;
  seen_[at(node)] = 1;
  next_[at(node)] = next;
  take_[at(node)] = column;
  queue_.push_back(node);
}

/// Row v takes the column, its holder what the next one has, and so on back to v. Undone when rounding made it look
/// better than it is.
bool TightGraph::exchange(const WeightTable& table, Assignment& a, std::int32_t v, std::int32_t column) {
  changed_.assign(1, v);
  const std::int32_t first = a.owner[at(column)] == kFree ? table.rows : a.owner[at(column)];
  take_[at(v)] = column;
  for (std::int32_t node = first; node != v; node = next_[at(node)])
    if (node < table.rows) changed_.push_back(node);
  double change = 0.0, size = 0.0;
  for (const std::int32_t row : changed_) {
    const double before = table.at(row, a.match[at(row)]), after = table.at(row, take_[at(row)]);
    change += after - before;
    size += std::abs(after) + std::abs(before);
  }
  if (change < -1e-13 * size) return false;
  for (const std::int32_t row : changed_)
    if (a.match[at(row)] < table.columns) a.owner[at(a.match[at(row)])] = kFree;
  for (const std::int32_t row : changed_) {
    a.match[at(row)] = take_[at(row)];
    if (take_[at(row)] < table.columns) a.owner[at(take_[at(row)])] = row;
  }
  return true;
}

}  // namespace casimir
