#include "matching/reroute.hpp"

#include <algorithm>

#include "base/numbers.hpp"
#include "matching/gains.hpp"

namespace casimir {
namespace {

using gains::kNever;
constexpr std::int32_t kPool = -1;  // as the taker of a column: the column becomes free

}  // namespace

bool Rerouter::reroute(const WeightTable& table, Assignment& a, std::int32_t row,
                       const std::vector<std::int32_t>& forbidden) {
  leave(table, a, row, forbidden);
  if (!search(table, a, row)) return false;
  update_prices(table, a, row);
  rotate(table, a, row);
  return true;
}

/// The first step of the cycle: what `row` may take instead of its match.
void Rerouter::leave(const WeightTable& table, const Assignment& a, std::int32_t row,
                     const std::vector<std::int32_t>& forbidden) {
  const auto columns = at(table.columns);
  gain_.assign(columns, kNever);
  from_.assign(columns, kPool);
  shadow_.assign(a.price.begin(), a.price.end());
  for (std::int32_t v = 0; v < row; ++v)
    if (a.match[at(v)] < table.columns) shadow_[at(a.match[at(v)])] = kInf;
  settled_.clear();
  pool_settled_ = false;
  null_gain_ = kNever;
  const std::int32_t match = a.match[at(row)];
  bool null_allowed = table.null && match != table.columns;
  std::vector<std::int32_t> closed;  // columns that only this row may not take
  const auto close = [&](std::int32_t z) {
    if (z == table.columns)
      null_allowed = false;
    else if (shadow_[at(z)] != kInf)
      closed.push_back(z), shadow_[at(z)] = kInf;
  };
  close(match);
  for (const std::int32_t z : forbidden) close(z);
  const double base = -a.worth[at(row)];
  top_ = gains::relax(table.row(row), shadow_.data(), base, row, table.columns, gain_.data(), from_.data());
  if (null_allowed) null_gain_ = base + table.at(row, table.columns), null_row_ = row;
  for (const std::int32_t z : closed) shadow_[at(z)] = a.price[at(z)];
}

/// Dijkstra's algorithm from the row's new choice back to what it had; false when that is out of reach.
bool Rerouter::search(const WeightTable& table, const Assignment& a, std::int32_t row) {
  const std::int32_t target = a.match[at(row)];
  while (true) {
    if (!pool_settled_ && null_gain_ > kNever && null_gain_ >= top_) {
      pool_entry_ = table.columns;
      settle_pool(table, a, row, null_gain_);
      if (target == table.columns) return true;
      continue;
    }
    if (top_ == kNever) return false;
    std::int64_t found = -1;
    gains::for_each_equal(gain_.data(), top_, table.columns, [&](std::int64_t z) {
      if (found < 0 || z == target) found = z;
      return found != target;
    });
    const auto z = static_cast<std::int32_t>(found);
    if (z == target) {
      target_gain_ = top_;
      return true;
    }
    if (a.owner[at(z)] == kFree) {
      pool_entry_ = z;
      settle_pool(table, a, row, top_);
      if (target == table.columns) return true;
    } else {
      gain_[at(z)] = kNever;
      shadow_[at(z)] = kInf;
      settle_row(table, a, a.owner[at(z)], top_);
    }
  }
}

/// What the row may take when it has to give up its match.
void Rerouter::settle_row(const WeightTable& table, const Assignment& a, std::int32_t row, double gain) {
  settled_.push_back({row, gain});
  const double base = gain - a.worth[at(row)];
  top_ = gains::relax(table.row(row), shadow_.data(), base, row, table.columns, gain_.data(), from_.data());
  if (table.null && !pool_settled_ && base + table.at(row, table.columns) > null_gain_)
    null_gain_ = base + table.at(row, table.columns), null_row_ = row;
}

/// The pool gave away a free column or a null slot; now it may take any column at its price, and any null slot.
void Rerouter::settle_pool(const WeightTable& table, const Assignment& a, std::int32_t row, double gain) {
  pool_settled_ = true;
  pool_gain_ = target_gain_ = gain;
  for (std::int32_t z = 0; z < table.columns; ++z) {
    const std::int32_t owner = a.owner[at(z)];
    if (owner == kFree) {
      gain_[at(z)] = kNever;
      shadow_[at(z)] = kInf;
    } else if (gain - shadow_[at(z)] > gain_[at(z)]) {
      gain_[at(z)] = gain - shadow_[at(z)];
      from_[at(z)] = kPool;
    }
  }
  top_ = table.columns > 0 ? *std::max_element(gain_.begin(), gain_.end()) : kNever;
  if (a.match[at(row)] == table.columns) return;  // the pool takes the null slot of `row`: the cycle is closed
  for (std::int32_t v = row + 1; v < table.rows; ++v)
    if (a.match[at(v)] == table.columns) settle_row(table, a, v, gain);
}

/// Worth and price move so that the cycle has gain 0 and no gain gets positive; the pool's worth stays 0.
void Rerouter::update_prices(const WeightTable& table, Assignment& a, std::int32_t row) const {
  const double shift = pool_settled_ ? target_gain_ - pool_gain_ : 0.0;
  a.worth[at(row)] += target_gain_;
  for (const Settled& s : settled_) {
    a.worth[at(s.row)] += target_gain_ - s.gain;
    const std::int32_t z = a.match[at(s.row)];
    if (z < table.columns) a.price[at(z)] += s.gain - target_gain_;
  }
  if (shift == 0.0) return;
  for (std::int32_t v = row; v < table.rows; ++v) a.worth[at(v)] -= shift;
  for (std::int32_t z = 0; z < table.columns; ++z)
    if (a.owner[at(z)] != kFree) a.price[at(z)] += shift;
}

/// Everyone on the cycle takes what is offered to it, from the last one back to `row`.
void Rerouter::rotate(const WeightTable& table, Assignment& a, std::int32_t row) const {
  std::int32_t slot = a.match[at(row)];
  while (true) {
    auto taker = static_cast<std::int32_t>(slot < table.columns ? from_[at(slot)] : kPool);
    if (taker == kPool) {
      if (slot < table.columns) a.owner[at(slot)] = kFree, a.price[at(slot)] = 0.0;
      slot = pool_entry_;
      taker = static_cast<std::int32_t>(slot < table.columns ? from_[at(slot)] : null_row_);
    }
    const std::int32_t left = a.match[at(taker)];
    a.match[at(taker)] = slot;
    if (slot < table.columns) a.owner[at(slot)] = taker;
    if (taker == row) return;
    slot = left;
  }
}

}  // namespace casimir
