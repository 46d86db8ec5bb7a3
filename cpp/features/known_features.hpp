// Which features a model has weights for, and in which row: a bit per feature, and how many are set before each word.
#pragma once

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace casimir {

struct KnownFeatures {
  const std::uint64_t* there;
  const std::uint32_t* before;  // of every word of `there`
  std::size_t words;

  bool has(std::uint32_t f) const {
    if (f / 64 >= words) throw std::invalid_argument("a feature index is out of range.");
    return there[f / 64] >> f % 64 & 1u;
  }

  std::uint32_t row(std::uint32_t f) const {
    const std::uint64_t lower = there[f / 64] & ((std::uint64_t{1} << f % 64) - 1);
    return before[f / 64] + static_cast<std::uint32_t>(std::popcount(lower));
  }
};

struct KnownTokens {
  std::vector<std::int64_t> indptr;
  std::vector<std::uint32_t> rows;
};

/// The known features of consecutive tokens, by their rows and in their order.
inline KnownTokens known_tokens(const KnownFeatures& known, const std::int64_t* indptr, std::size_t tokens,
                                const std::uint32_t* indices) {
  KnownTokens found;
  found.indptr.reserve(tokens + 1);
  found.rows.reserve(static_cast<std::size_t>(indptr[tokens]));
  found.indptr.push_back(0);
  for (std::size_t t = 0; t < tokens; ++t) {
    for (std::int64_t j = indptr[t]; j < indptr[t + 1]; ++j)
      if (known.has(indices[j])) found.rows.push_back(known.row(indices[j]));
    found.indptr.push_back(static_cast<std::int64_t>(found.rows.size()));
  }
  return found;
}

}  // namespace casimir
