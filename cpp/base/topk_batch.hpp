// The best outputs of a batch of examples, one after another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"

namespace casimir {

struct TopKBatch {
  std::vector<double> values;        // sum k_i
  std::vector<std::int64_t> counts;  // k_i
  std::vector<std::int64_t> labels;  // sum k_i p_i

  /// Room for n examples of `entries` labels in all with k outputs each; of many, for a part.
  void reserve(std::int64_t n, std::int64_t k, std::int64_t entries) {
    constexpr std::int64_t most = 16;
    values.reserve(static_cast<std::size_t>(n * std::min(k, most)));
    counts.reserve(static_cast<std::size_t>(n));
    labels.reserve(static_cast<std::size_t>(entries * std::min(k, most)));
  }

  /// The next example: `count` values, and as many rows of p labels.
  template <class Label>
  void add(std::int64_t count, const double* its_values, const Label* its_labels, std::int64_t p) {
    counts.push_back(count);
    values.insert(values.end(), its_values, its_values + count);
    labels.insert(labels.end(), its_labels, its_labels + count * p);
  }

  void append(const TopKBatch& more) {
    casimir::append(values, more.values);
    casimir::append(counts, more.counts);
    casimir::append(labels, more.labels);
  }
};

}  // namespace casimir
