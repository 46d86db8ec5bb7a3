// What characters are. Nothing of Unicode is written down here: the caller says it, character by character, so that the
// library agrees with the Python that runs it, whatever its version of Unicode.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

#include "text/utf8.hpp"

namespace casimir::text {

inline constexpr char32_t capital_sigma = 0x3a3;
inline constexpr std::string_view small_sigma = "\u03c3", final_sigma = "\u03c2";

struct Character {
  bool upper = false, lower = false, alpha = false, digit = false, decimal = false;
  bool cased = false;      // a letter with a case, before or behind which a capital sigma is inside a word
  bool ignorable = false;  // looked through by the rule of the final sigma
  std::string small;       // in small letters, when it stands alone
};

class CharacterTable {
 public:
  void add(char32_t code, Character character) { (code < 0x80 ? ascii_[code] : others_[code]) = std::move(character); }

  const Character& operator[](char32_t code) const {
    if (code < 0x80) return ascii_[code];
    const auto found = others_.find(code);
    if (found == others_.end()) throw std::invalid_argument("the table of characters lacks one of the text");
    return found->second;
  }

  bool has(char32_t code) const { return code < 0x80 || others_.contains(code); }

 private:
  std::array<Character, 0x80> ascii_;
  std::unordered_map<char32_t, Character> others_;
};

/// Small letters, with the final sigma where the capital one ends a word.
std::string lowered(const CharacterTable& table, std::string_view text);

}  // namespace casimir::text
