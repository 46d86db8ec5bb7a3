#include "matching/matching_kbest.hpp"

#include <algorithm>

#include "base/numbers.hpp"
#include "matching/gains.hpp"

namespace casimir {
namespace {

using gains::kNever;

bool contains(const std::vector<std::int32_t>& list, std::int32_t z) {
  return std::find(list.begin(), list.end(), z) != list.end();
}

}  // namespace

void MatchingKBest::run(const WeightTable& table, std::int64_t k, double mu) {
  rounding_ = rounding_of(table);
  values_.clear();
  found_.clear();
  parts_ = {};
  candidates_.clear();
  found_.push_back({{}, 0, {}});
  solver_.solve(table, found_[0].a);
  tight_.first_matching(table, found_[0].a, 0, {}, rounding_);
  values_.push_back(weight_of(table, found_[0].a.match.data()));
  double sum = values_[0];
  while (count() < k) {
    const std::int64_t index = count(), room = k - index;
    split(table, index - 1);
    // A part whose bound is below the best candidate cannot hold the next output; what lies more than mu below the
    // first output has no weight, and is neither searched nor given out.
    while (!parts_.empty() && values_[0] - parts_.top().bound <= mu + rounding_ &&
           (candidates_.empty() || parts_.top().bound + rounding_ >= candidates_.begin()->value)) {
      const Part part = parts_.top();
      parts_.pop();
      search(table, part, room);
    }
    if (candidates_.empty() || values_[0] - candidates_.begin()->value > mu) return;
    const Candidate next = *candidates_.begin();
    candidates_.erase(candidates_.begin());
    found_.push_back(rebuild(table, next));
    values_.push_back(std::min(next.value, values_.back()));  // sums of equal weights may differ in the last bits
    if (sum - static_cast<double>(index) * values_.back() >= mu) return;
    sum += values_.back();
  }
}

/// The parts of what is left of the parent's part without the parent itself.
void MatchingKBest::split(const WeightTable& table, std::int64_t parent) {
  const Found& found = found_[at(parent)];
  std::vector<std::uint8_t> taken(at(table.columns), 0);
  for (std::int32_t v = 0; v < table.rows; ++v) {
    const std::int32_t match = found.a.match[at(v)];
    if (v >= found.row) {
      const double bound = values_[at(parent)] + most(table, found, v, taken);
      if (bound > kNever) parts_.push({bound, parent, v});
    }
    if (match < table.columns) taken[at(match)] = 1;
  }
}

/// A cycle through `row` gains no more than its best step out of the row and its best step into it.
double MatchingKBest::most(const WeightTable& table, const Found& parent, std::int32_t row,
                           const std::vector<std::uint8_t>& taken) const {
  const Assignment& a = parent.a;
  const std::int32_t match = a.match[at(row)];
  const double worth = a.worth[at(row)];
  const auto allowed = [&](std::int32_t z) {
    return z != match && !(row == parent.row && contains(parent.forbidden, z));
  };
  double out = kNever, in = kNever;
  for (std::int32_t z = 0; z < table.columns; ++z) {
    const double gain = table.at(row, z) - worth - a.price[at(z)];
    if (gain > out && !taken[at(z)] && allowed(z)) out = gain;
  }
  if (table.null && allowed(table.columns)) out = std::max(out, table.at(row, table.columns) - worth);
  if (match == table.columns) {
    in = 0.0;
  } else {
    const double price = a.price[at(match)];
    for (std::int32_t v = row + 1; v < table.rows; ++v) in = std::max(in, table.at(v, match) - a.worth[at(v)] - price);
    if (table.has_pool()) in = std::max(in, -price);
  }
  return std::min(out, 0.0) + std::min(in, 0.0);
}

/// Finds the first best output of a part. Of the candidates only the best `room` can still come up.
void MatchingKBest::search(const WeightTable& table, const Part& part, std::int64_t room) {
  const Found& parent = found_[at(part.parent)];
  const std::vector<std::int32_t> forbidden = forbidden_at(parent, part.row);
  work_ = parent.a;
  if (!rerouter_.reroute(table, work_, part.row, forbidden)) return;
  tight_.first_matching(table, work_, part.row, forbidden, rounding_);
  candidates_.insert({weight_of(table, work_.match.data()), work_.match, part.parent, part.row});
  if (static_cast<std::int64_t>(candidates_.size()) > room) candidates_.erase(std::prev(candidates_.end()));
}

/// The candidate with the prices that prove it best in its part; they are found again rather than kept for all.
MatchingKBest::Found MatchingKBest::rebuild(const WeightTable& table, const Candidate& candidate) {
  const Found& parent = found_[at(candidate.parent)];
  Found found{parent.a, candidate.row, forbidden_at(parent, candidate.row)};
  rerouter_.reroute(table, found.a, candidate.row, found.forbidden);
  found.a.match = candidate.output;
  std::fill(found.a.owner.begin(), found.a.owner.end(), kFree);
  for (std::int32_t v = 0; v < table.rows; ++v)
    if (candidate.output[at(v)] < table.columns) found.a.owner[at(candidate.output[at(v)])] = v;
  return found;
}

std::vector<std::int32_t> MatchingKBest::forbidden_at(const Found& parent, std::int32_t row) const {
  std::vector<std::int32_t> forbidden;
  if (row == parent.row) forbidden = parent.forbidden;
  forbidden.push_back(parent.a.match[at(row)]);
  return forbidden;
}

}  // namespace casimir
