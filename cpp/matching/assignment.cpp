#include "matching/assignment.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "base/numbers.hpp"
#include "matching/gains.hpp"

namespace casimir {
namespace {

using gains::kNever;
// Price wars go on for long; paths finish what bidding leaves.
constexpr std::int64_t kBidsPerRow = 6;
constexpr int kSweeps = 3;

}  // namespace

double rounding_of(const WeightTable& table) {
  using L = Lanes<8>;
  const std::int64_t cells = table.rows * table.stride();
  const L::V shift = L::all(0x1.8p52);  // adding it rounds to the nearest whole number
  L::V largest = L::V{},
       nothing = L::V{};  // 0 x is NaN where an x is NaN or infinite; prices that meet NaN never settle
  bool whole = true;
  for (std::int64_t i = 0; i < cells; i += 8) {
    L::V x{};
    std::memcpy(&x, table.data + i, sizeof(double) * static_cast<std::size_t>(std::min<std::int64_t>(8, cells - i)));
    largest = L::max(largest, L::max(x, -x));
    nothing += x * 0.0;
    whole = whole && L::equal_bits((x + shift) - shift, x) == 0xff;
  }
  if (L::sum(nothing) != 0.0) throw std::invalid_argument("weights of a matching must be finite.");
  const double scale = L::highest(largest), sums = 8.0 * scale * static_cast<double>(table.rows + table.columns + 2);
  if (!std::isfinite(sums))
    throw std::invalid_argument("weights of a matching are so large that their sums overflow; scale them down.");
  return whole && sums < 0x1p51 ? 0.0 : 1e-12 * scale;
}

double weight_of(const WeightTable& table, const std::int32_t* match) {
  double sum = 0.0;
  for (std::int32_t v = 0; v < table.rows; ++v) sum += table.at(v, match[v]);
  return sum;
}

void AssignmentSolver::solve(const WeightTable& table, Assignment& out) {
  const auto rows = static_cast<std::size_t>(table.rows), columns = static_cast<std::size_t>(table.columns);
  out.match.assign(rows, kFree);
  out.owner.assign(columns, kFree);
  out.worth.assign(rows, 0.0);
  out.price.assign(columns, 0.0);
  if (!table.has_pool()) {
    // Every column will be taken, so its price may start at its largest weight.
    std::copy_n(table.data, table.columns, out.price.begin());
    for (std::int32_t v = 1; v < table.rows; ++v)
      for (std::int32_t z = 0; z < table.columns; ++z)
        out.price[static_cast<std::size_t>(z)] = std::max(out.price[static_cast<std::size_t>(z)], table.at(v, z));
  }
  bid(table, out);
  gain_.resize(columns);
  shadow_.resize(columns);
  from_.resize(columns);
  for (const std::int32_t v : waiting_) augment(table, out, v);
}

/// Each row in turn takes its best column and raises the price until its second best is as good; whoever had the column
/// bids again. Rows that are left without a column stay in waiting_.
void AssignmentSolver::bid(const WeightTable& table, Assignment& a) {
  waiting_.resize(static_cast<std::size_t>(table.rows));
  std::iota(waiting_.begin(), waiting_.end(), 0);
  std::int64_t left = kBidsPerRow * table.rows;
  for (int sweep = 0; sweep < kSweeps && !waiting_.empty(); ++sweep) {
    next_.clear();
    for (const std::int32_t first : waiting_) {
      for (std::int32_t v = first; v != kFree;) {
        const std::int32_t evicted = left-- > 0 ? place_bid(table, a, v) : v;
        if (evicted == v) {
          next_.push_back(v);
          break;
        }
        v = evicted;
      }
    }
    std::swap(waiting_, next_);
  }
  for (std::int32_t v = 0; v < table.rows; ++v) {
    const std::int32_t z = a.match[static_cast<std::size_t>(v)];
    const double price = z == kFree || z == table.columns ? 0.0 : a.price[static_cast<std::size_t>(z)];
    const double weight = z == kFree ? best_offer(table, a, v) : table.at(v, z);
    a.worth[static_cast<std::size_t>(v)] = weight - price;
  }
}

/// The row that loses its column to v, kFree if none does, or v itself when it has to wait: all its best columns are
/// taken and taking one would only pass the problem on.
std::int32_t AssignmentSolver::place_bid(const WeightTable& table, Assignment& a, std::int32_t v) {
  const gains::TopTwo top = gains::top_two(table.row(v), a.price.data(), table.columns);
  const double null = table.null ? table.at(v, table.columns) : kNever;
  if (null >= top.best) {
    a.match[static_cast<std::size_t>(v)] = table.columns;
    return kFree;
  }
  std::int64_t column = -1;  // the first free one of the best, else the first
  gains::for_each_at_least(table.row(v), a.price.data(), top.best, table.columns, [&](std::int64_t z) {
    const bool free = a.owner[static_cast<std::size_t>(z)] == kFree;
    if (column < 0 || free) column = z;
    return !free;
  });
  const auto z = static_cast<std::size_t>(column);
  const std::int32_t evicted = a.owner[z];
  const double second = std::max(top.second, null);
  if (evicted != kFree && second == top.best) return v;
  if (second > kNever) a.price[z] += top.best - second;
  a.owner[z] = v;
  a.match[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(z);
  if (evicted != kFree) a.match[static_cast<std::size_t>(evicted)] = kFree;
  return evicted;
}

double AssignmentSolver::best_offer(const WeightTable& table, const Assignment& a, std::int32_t v) {
  const double best = gains::top_two(table.row(v), a.price.data(), table.columns).best;
  return table.null ? std::max(best, table.at(v, table.columns)) : best;
}

/// The heaviest path of gains from a row without a match to a free column or a null slot, by Dijkstra's algorithm.
void AssignmentSolver::augment(const WeightTable& table, Assignment& a, std::int32_t row) {
  std::fill(gain_.begin(), gain_.end(), kNever);
  std::copy(a.price.begin(), a.price.end(), shadow_.begin());
  settled_.clear();
  std::int32_t v = row, end = kFree, null_row = kFree;
  double here = 0.0, null_gain = kNever, final_gain = 0.0;
  while (true) {
    const double base = here - a.worth[static_cast<std::size_t>(v)];
    const double top = gains::relax(table.row(v), shadow_.data(), base, v, table.columns, gain_.data(), from_.data());
    if (table.null && base + table.at(v, table.columns) > null_gain)
      null_gain = base + table.at(v, table.columns), null_row = v;
    if (table.null && null_gain >= top) {
      final_gain = null_gain;
      break;
    }
    std::int64_t z = -1;  // the first free column of the best ones, else the first
    gains::for_each_equal(gain_.data(), top, table.columns, [&](std::int64_t at) {
      const bool free = a.owner[static_cast<std::size_t>(at)] == kFree;
      if (z < 0 || free) z = at;
      return !free;
    });
    const auto column = static_cast<std::size_t>(z);
    if (a.owner[column] == kFree) {
      end = static_cast<std::int32_t>(z);
      final_gain = top;
      break;
    }
    settled_.push_back({static_cast<std::int32_t>(z), top});
    gain_[column] = kNever;
    shadow_[column] = kInf;
    v = a.owner[column];
    here = top;
  }
  a.worth[static_cast<std::size_t>(row)] += final_gain;
  for (const Settled& s : settled_) {
    a.worth[static_cast<std::size_t>(a.owner[static_cast<std::size_t>(s.column)])] += final_gain - s.gain;
    a.price[static_cast<std::size_t>(s.column)] += s.gain - final_gain;
  }
  // Each row on the path takes the column that its successor leaves or finds free.
  std::int32_t taker = end == kFree ? null_row : static_cast<std::int32_t>(from_[static_cast<std::size_t>(end)]);
  std::int32_t column = end == kFree ? table.columns : end;
  while (true) {
    const std::int32_t left = a.match[static_cast<std::size_t>(taker)];
    a.match[static_cast<std::size_t>(taker)] = column;
    if (column < table.columns) a.owner[static_cast<std::size_t>(column)] = taker;
    if (taker == row) return;
    column = left;
    taker = static_cast<std::int32_t>(from_[static_cast<std::size_t>(column)]);
  }
}

}  // namespace casimir
