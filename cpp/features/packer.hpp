// Token features -> flat arrays: sequence -> tokens (offsets), token -> features (indptr, indices, values).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "features/feature_table.hpp"
#include "features/hash.hpp"
#include "features/spread_sort.hpp"

namespace casimir {

/// What number a feature name gets.
class FeatureIndex {
 public:
  static FeatureIndex hashed(std::uint32_t n_buckets) { return {n_buckets, nullptr, nullptr}; }
  static FeatureIndex known(const FeatureTable& table) { return {0, &table, nullptr}; }
  static FeatureIndex growing(FeatureTable& table) { return {0, nullptr, &table}; }

  /// 0: features are not hashed.
  std::uint32_t n_buckets() const { return n_buckets_; }

  /// Whether new names get numbers.
  bool grows() const { return growing_ != nullptr; }

  /// FeatureTable::none for a name that has no number.
  std::uint32_t operator()(std::string_view name) const {
    if (growing_) return growing_->intern(name);
    if (known_) return known_->find(name);
    return bucket_of(hash_bytes(name), n_buckets_);
  }

 private:
  FeatureIndex(std::uint32_t n_buckets, const FeatureTable* known, FeatureTable* growing)
      : n_buckets_(n_buckets), known_(known), growing_(growing) {}

  std::uint32_t n_buckets_;
  const FeatureTable* known_;
  FeatureTable* growing_;
};

struct PackedFeatures {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int64_t> indptr{0};
  std::vector<std::uint32_t> indices;
  std::vector<double> values;  // empty as long as every weight is 1
  bool weighted = false;
};

/// Collects features token by token; the indices of a token are sorted, equal ones stay beside each other.
class Packer {
 public:
  explicit Packer(FeatureIndex index, bool keeps_zeros = false) : index_(index), keeps_zeros_(keeps_zeros) {}

  void reserve(std::size_t n_sequences, std::size_t n_tokens) {
    packed_.offsets.reserve(n_sequences + 1);
    packed_.indptr.reserve(n_tokens + 1);
  }

  /// Makes room, once a part of the tokens is packed, for as many features of each of the others.
  void foresee(std::size_t n_tokens) {
    const std::size_t seen = packed_.indptr.size() - 1, size = packed_.indices.size();
    if (foreseen_ || 32 * seen < n_tokens) return;
    foreseen_ = true;
    const double ratio = static_cast<double>(n_tokens) / static_cast<double>(seen);
    packed_.indices.reserve(static_cast<std::size_t>(1.05 * ratio * static_cast<double>(size)));
  }

  void add(std::string_view name, double weight) {
    if (weight == 0.0 && !keeps_zeros_) return;
    const std::uint32_t number = index_(name);
    if (number == FeatureTable::none) return;
    if (weight != 1.0 && !packed_.weighted) {
      packed_.values.assign(packed_.indices.size(), 1.0);
      packed_.weighted = true;
    }
    packed_.indices.push_back(number);
    if (packed_.weighted) packed_.values.push_back(weight);
  }

  /// FeatureTable::none for a name that has no number.
  std::uint32_t number(std::string_view name) const { return index_(name); }

  /// Features of weight 1 by their numbers.
  void add_numbers(std::span<const std::uint32_t> numbers) {
    packed_.indices.insert(packed_.indices.end(), numbers.begin(), numbers.end());
    if (packed_.weighted) packed_.values.resize(packed_.indices.size(), 1.0);
  }

  void end_token() {
    sort_from(static_cast<std::size_t>(packed_.indptr.back()));
    packed_.indptr.push_back(static_cast<std::int64_t>(packed_.indices.size()));
  }

  /// Returns the number of tokens of the sequence.
  std::size_t end_sequence() {
    const auto end = static_cast<std::int64_t>(packed_.indptr.size() - 1);
    const std::int64_t begin = packed_.offsets.back();
    packed_.offsets.push_back(end);
    return static_cast<std::size_t>(end - begin);
  }

  PackedFeatures finish() && {
    packed_.offsets.shrink_to_fit();
    packed_.indptr.shrink_to_fit();
    if (packed_.indices.capacity() > packed_.indices.size() + packed_.indices.size() / 8)
      packed_.indices.shrink_to_fit();
    packed_.values.shrink_to_fit();
    return std::move(packed_);
  }

 private:
  void sort_from(std::size_t begin) {
    const auto first = packed_.indices.begin() + static_cast<std::ptrdiff_t>(begin);
    if (!packed_.weighted) {
      if (index_.n_buckets() > 0)
        return spread_sort({packed_.indices.data() + begin, packed_.indices.size() - begin}, index_.n_buckets());
      return std::sort(first, packed_.indices.end());
    }
    pairs_.clear();
    for (std::size_t k = begin; k < packed_.indices.size(); ++k)
      pairs_.emplace_back(packed_.indices[k], packed_.values[k]);
    // By weight among equal indices, so that the order in which a dict or a set is read never shows.
    std::sort(pairs_.begin(), pairs_.end());
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      packed_.indices[begin + k] = pairs_[k].first;
      packed_.values[begin + k] = pairs_[k].second;
    }
  }

  FeatureIndex index_;
  bool keeps_zeros_, foreseen_ = false;
  PackedFeatures packed_;
  std::vector<std::pair<std::uint32_t, double>> pairs_;
};

}  // namespace casimir
