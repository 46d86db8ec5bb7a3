// Which pairs of neighbouring labels are allowed, where these are few, and the scores of those that are.
#pragma once

#include <cstdint>
#include <vector>

#include "base/sparse_products.hpp"

namespace casimir {

/// Lists of labels by the label before and by the label after.
class AllowedPairs {
 public:
  AllowedPairs() = default;
  /// scores: [labels] rows [from][to] that begin `stride` after one another, -inf where a pair is forbidden. The lists
  /// stay empty unless they are worth their while: with enough labels for groups of chains, of whose pairs at most
  /// kLargestShare are allowed.
  AllowedPairs(int labels, const double* scores, std::int64_t stride);

  explicit operator bool() const { return !begin_after_.empty(); }
  std::int64_t labels() const { return static_cast<std::int64_t>(begin_after_.size()) - 1; }
  std::int64_t count() const { return static_cast<std::int64_t>(after_.size()); }

  /// Calls see(k, y, z) for the k'th allowed pair (y, z), in order.
  template <class See>
  void for_each(See&& see) const {
    for (std::int64_t y = 0; y < labels(); ++y)
      for (std::int64_t k = begin_after_[static_cast<std::size_t>(y)];
           k < begin_after_[static_cast<std::size_t>(y) + 1]; ++k)
        see(k, y, after_[static_cast<std::size_t>(k)]);
  }
  /// The number of the pair (y, z), or -1 where it is forbidden.
  std::int64_t find(std::int64_t y, std::int64_t z) const;

  /// Values of the pairs, in the order of for_each, as a matrix whose column is the label before: products with it go
  /// from right to left.
  SparseColumns from(const double* values) const { return {labels(), begin_after_.data(), after_.data(), values}; }
  /// The same values for products from left to right, in the order of the label after.
  void turn(const double* values, std::vector<double>& out) const;
  SparseColumns to(const double* turned) const { return {labels(), begin_before_.data(), before_.data(), turned}; }

 private:
  std::vector<std::int64_t> begin_after_, begin_before_;  // [labels + 1]
  std::vector<std::int32_t> after_, before_;
  std::vector<std::int64_t> place_;  // of the pairs by the label after, among those by the label before
};

/// Scores of the allowed pairs for max-product.
struct AllowedScores {
  const AllowedPairs* pairs = nullptr;
  std::vector<double> values, turned;

  /// rows: as those of AllowedPairs.
  void load(const AllowedPairs& allowed, const double* rows, std::int64_t stride);
  SparseColumns from() const { return pairs->from(values.data()); }
  SparseColumns to() const { return pairs->to(turned.data()); }
};

}  // namespace casimir
