// Sentences in flat arrays: token t of column c is the distinct text names[c].name(ids[c][t]).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "features/feature_table.hpp"

namespace casimir::text {

struct TokenTable {
  std::span<const std::int64_t> offsets;            // [n + 1]: sentence -> tokens
  std::span<const std::int64_t> documents;          // [n]: number of the document, or -1
  std::vector<std::span<const std::uint32_t>> ids;  // per column: token -> distinct text
  std::vector<const FeatureTable*> names;           // per column: the distinct texts

  std::size_t n_sentences() const { return offsets.size() - 1; }
  std::string_view value(std::size_t column, std::size_t token) const {
    return names[column]->name(ids[column][token]);
  }
};

}  // namespace casimir::text
