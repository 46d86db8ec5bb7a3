// Cached outputs that are labels of the nodes of one example, as those of chains and trees.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "base/reserve.hpp"
#include "solve/dual_passes.hpp"

namespace casimir {

inline void check_label_count(std::int64_t labels) {
  if (labels > std::numeric_limits<std::uint16_t>::max())
    throw std::invalid_argument("the dual solver keeps labels in 16 bits; there are more than 65535.");
}

struct LabelOutputs : CachedOutputs {
  explicit LabelOutputs(allocator_type memory = {}) : CachedOutputs(memory), labels(memory), nodes(memory) {}

  std::pmr::vector<std::uint16_t> labels;  // [count][p]
  std::pmr::vector<std::int32_t> nodes;    // where the cached outputs differ, ascending

  const std::pmr::vector<std::uint16_t>& outputs() const { return labels; }

  const std::uint16_t* output(std::size_t k, std::int64_t p) const {
    return labels.data() + static_cast<std::int64_t>(k) * p;
  }

  std::optional<std::size_t> find(const std::int32_t* y, std::int64_t p) const {
    for (std::size_t k = 0; k < weight.size(); ++k)
      if (std::equal(y, y + p, output(k, p), [](std::int32_t a, std::uint16_t b) { return a == b; })) return k;
    return std::nullopt;
  }

  bool differs_at(std::int64_t v) const {
    return std::binary_search(nodes.begin(), nodes.end(), static_cast<std::int32_t>(v));
  }

  /// The index of the new output y.
  std::size_t add(const std::int32_t* y, std::int64_t p, double its_cost) {
    for (std::int64_t v = 0; v < p; ++v)
      if (y[v] != labels[static_cast<std::size_t>(v)] && !differs_at(v))
        nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), v), static_cast<std::int32_t>(v));
    reserve_more(labels, static_cast<std::size_t>(p));
    labels.insert(labels.end(), y, y + p);
    return CachedOutputs::add(its_cost);
  }
};

}  // namespace casimir
