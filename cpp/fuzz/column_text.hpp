// A column file out of bytes.
#pragma once

#include "text/column_reader.hpp"

namespace fuzz {

/// Comments are lines that begin with "# "; rows of ten cells whose first one has a dot or hyphen are no words.
inline casimir::text::ColumnFile read_text(std::string_view text) {
  return casimir::text::read_columns(text,
                                     {"-DOCSTART-", 10, [](std::string_view line) { return line.starts_with("# "); },
                                      [](std::string_view) { return true; }});
}

}  // namespace fuzz
