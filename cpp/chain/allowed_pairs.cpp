#include "chain/allowed_pairs.hpp"

#include <algorithm>

#include "base/numbers.hpp"
#include "chain/chain_group.hpp"

namespace casimir {
namespace {

constexpr double kLargestShare = 0.1;  // above, products of panels that leave out what is forbidden are as fast

}  // namespace

AllowedPairs::AllowedPairs(int labels, const double* scores, std::int64_t stride) {
  if (labels < kFewestLabelsOfGroups) return;
  const auto is_allowed = [&](std::int64_t y, std::int64_t z) { return scores[y * stride + z] != -kInf; };
  std::vector<std::int64_t> starts{0};
  for (std::int64_t y = 0; y < labels; ++y) {
    for (std::int64_t z = 0; z < labels; ++z)
      if (is_allowed(y, z)) after_.push_back(static_cast<std::int32_t>(z));
    starts.push_back(count());
    if (static_cast<double>(count()) > kLargestShare * labels * labels) {
      after_.clear();
      return;
    }
  }
  begin_after_ = std::move(starts);
  begin_before_.assign(at(labels + 1), 0);
  for (const std::int32_t z : after_) ++begin_before_[at(z + 1)];
  for (std::int64_t z = 0; z < labels; ++z) begin_before_[at(z + 1)] += begin_before_[at(z)];
  before_.resize(after_.size());
  place_.resize(after_.size());
  std::vector<std::int64_t> next = begin_before_;
  for_each([&](std::int64_t k, std::int64_t y, std::int64_t z) {
    const std::size_t cell = at(next[at(z)]++);
    before_[cell] = static_cast<std::int32_t>(y);
    place_[cell] = k;
  });
}

std::int64_t AllowedPairs::find(std::int64_t y, std::int64_t z) const {
  const auto first = after_.begin() + begin_after_[at(y)], last = after_.begin() + begin_after_[at(y + 1)];
  const auto found = std::lower_bound(first, last, z);
  return found == last || *found != z ? -1 : found - after_.begin();
}

void AllowedPairs::turn(const double* values, std::vector<double>& out) const {
  out.resize(place_.size());
  for (std::size_t cell = 0; cell < place_.size(); ++cell) out[cell] = values[place_[cell]];
}

void AllowedScores::load(const AllowedPairs& allowed, const double* rows, std::int64_t stride) {
  pairs = &allowed;
  values.resize(at(allowed.count()));
  allowed.for_each([&](std::int64_t k, std::int64_t y, std::int64_t z) { values[at(k)] = rows[y * stride + z]; });
  allowed.turn(values.data(), turned);
}

}  // namespace casimir
