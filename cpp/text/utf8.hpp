// UTF-8 that is known to be valid: characters one by one, and the first or last few of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace casimir::text {

inline bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// The bytes of the character that begins with `first`.
inline std::size_t width_of(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/// The code point of the character whose bytes these are.
inline char32_t decoded(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(bytes[i])); };
  switch (bytes.size()) {
    case 1:
      return byte(0);
    case 2:
      return (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f);
    case 3:
      return (byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    default:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
  }
}

/// Calls visit(bytes of the character, its code point) for each character.
template <class Visit>
void for_each_character(std::string_view text, Visit visit) {
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view bytes = text.substr(i, width_of(text[i]));
    visit(bytes, decoded(bytes));
    i += bytes.size();
  }
}

inline std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += !continues(byte);
  return count;
}

/// The first k characters.
inline std::string_view first_characters(std::string_view text, std::size_t k) {
  std::size_t end = 0;
  for (; k > 0 && end < text.size(); --k) end += width_of(text[end]);
  return text.substr(0, end);
}

/// The last k characters.
inline std::string_view last_characters(std::string_view text, std::size_t k) {
  std::size_t begin = text.size();
  for (; k > 0 && begin > 0; --k) {
    --begin;
    while (begin > 0 && continues(text[begin])) --begin;
  }
  return text.substr(begin);
}

}  // namespace casimir::text
