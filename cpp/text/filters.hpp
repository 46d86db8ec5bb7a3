// What templates make of a word: a chain of filters, each from a text to none, one or several texts.
//
//   digits          decimal digits as 0                  lower       small letters
//   shape           runs of X, x, d                      case        one letter, see `case_of`
//   first k, last k characters                           marked      ^ before it and $ behind it
//   ngrams n most   distinct runs of n characters        split c     distinct parts between the characters c
//   inside c        the text, if it has a c inside       chars ab    which of these characters it has
//   has-digit       the text, if it has a digit          length most its number of characters, at most that
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/characters.hpp"

namespace casimir::text {

using Values = std::vector<std::string>;

class Filter {
 public:
  /// Throws where there is no such filter.
  explicit Filter(const std::string& name, std::size_t number = 0, std::size_t most = 0, std::string characters = {});

  std::size_t number, most;
  std::string characters;

  /// Appends what the filter makes of a text.
  void apply(const CharacterTable& table, std::string_view text, Values& out) const { apply_(table, *this, text, out); }

  friend bool operator==(const Filter&, const Filter&) = default;

 private:
  using Apply = void (*)(const CharacterTable&, const Filter&, std::string_view, Values&);
  static Apply named(const std::string& name);

  Apply apply_;
};

/// U all capitals, I one capital, T capital then small letters, M capital then mixed, l small letters, m other mixed
/// case, d no letters but digits, p neither.
char case_of(const CharacterTable& table, std::string_view word);

/// Every run of capitals as X, of small letters as x, of digits as d, of any other character as itself.
std::string shape_of(const CharacterTable& table, std::string_view word);

}  // namespace casimir::text
