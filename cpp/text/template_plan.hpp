// Templates as the core reads them: the text of a feature with holes, and where the values of the holes come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "text/filters.hpp"

namespace casimir::text {

/// What an offset counts from: the token, or a place of the run of capitalised words that it is part of.
enum class Anchor : std::uint8_t { token, left, first, last, right };

/// What stands beyond the ends of a sentence: <s> or </s>, no feature at all, a text, or _B-1, _B-2, _B+1, ...
enum class Outside : std::uint8_t { mark, none, text, numbered };

struct Hole {
  std::size_t source;
  Anchor anchor = Anchor::token;
  std::int64_t offset = 0;
  Outside outside = Outside::mark;
  std::string text;
};

/// texts[0] hole[0] texts[1] hole[1] ... texts[n]
struct Template {
  std::vector<std::string> texts;
  std::vector<Hole> holes;
};

enum class SourceKind : std::uint8_t {
  filtered,  // of a column's text, by filters
  by_text,   // of a column's text, given from outside for every distinct one
  by_token,  // given from outside for every token
  place,     // where the token stands in its run of capitalised words, such as 0/2
  evidence,  // what the rest of the document tells
};

struct Source {
  SourceKind kind = SourceKind::filtered;
  std::size_t column = 0;
  std::vector<Filter> filters;
};

/// Column 0 is the word: runs of capitalised words and evidence are of it.
struct Plan {
  std::vector<Source> sources;
  std::vector<Template> templates;
  std::size_t alone = 1;  // sentences without a document that count as one
  std::size_t least = 2;  // sentences of a document that gives evidence
};

}  // namespace casimir::text
