#include "text/characters.hpp"

#include <vector>

namespace casimir::text {

namespace {

/// Unicode's Final_Sigma: a cased letter before it and none behind it, ignorable characters left out of account.
bool is_final(const CharacterTable& table, const std::u32string& codes, std::size_t place) {
  std::size_t before = place;
  while (before > 0 && table[codes[before - 1]].ignorable) --before;
  if (before == 0 || !table[codes[before - 1]].cased) return false;
  std::size_t behind = place + 1;
  while (behind < codes.size() && table[codes[behind]].ignorable) ++behind;
  return behind == codes.size() || !table[codes[behind]].cased;
}

}  // namespace

std::string lowered(const CharacterTable& table, std::string_view text) {
  std::string small;
  std::u32string codes;
  bool has_sigma = false;
  for_each_character(text, [&](std::string_view, char32_t code) {
    codes.push_back(code);
    has_sigma |= code == capital_sigma;
  });
  small.reserve(text.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (has_sigma && codes[i] == capital_sigma)
      small += is_final(table, codes, i) ? final_sigma : small_sigma;
    else
      small += table[codes[i]].small;
  }
  return small;
}

}  // namespace casimir::text
