// Column files: a token per line, a blank line behind each sentence, document lines between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "features/feature_table.hpp"

namespace casimir::text {

/// A line of the file that is no token: of which sentence, behind how many of its tokens.
struct AsideLine {
  std::int64_t sentence, at;
  std::string_view line;
};

struct ColumnFile {
  char separator = ' ';
  std::vector<std::int64_t> offsets{0};         // [n + 1]: sentence -> tokens
  std::vector<std::int64_t> documents;          // [n]: number of the document, or -1
  std::vector<std::int64_t> lines;              // [n]: number of the sentence's first line, from 1
  std::vector<std::vector<std::uint32_t>> ids;  // per column: token -> distinct text
  std::vector<FeatureTable> texts;              // per column: the distinct texts
  std::vector<AsideLine> boundaries;            // document lines, before their sentences
  std::vector<AsideLine> extras;                // comments, and lines that are no words
  std::optional<AsideLine> problem;             // a line that does not fit the first one; `at` is its number
};

/// What the caller knows about lines: comments begin with #, and the first cell of ten may say that it is no word.
struct LineRules {
  std::string_view document_start;
  std::size_t no_word_width;
  std::function<bool(std::string_view line)> is_comment;
  std::function<bool(std::string_view first_cell)> is_no_word;
};

/// Reads until the end, or until a line that does not fit. Only "\n", tab and blank are structure.
ColumnFile read_columns(std::string_view text, const LineRules& rules);

}  // namespace casimir::text
