// The best outputs of a batch of examples, one after another.
#pragma once

#include <cstdint>
#include <vector>

#include "base/parallel.hpp"

namespace casimir {

struct TopKBatch {
  std::vector<double> values;        // sum k_i
  std::vector<std::int64_t> counts;  // k_i
  std::vector<std::int64_t> labels;  // sum k_i p_i

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
