#include "text/filters.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

namespace casimir::text {

namespace {

void add_distinct(Values& out, std::size_t begin, std::string_view value) {
  if (std::find(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), value) == out.end())
    out.emplace_back(value);
}

void digits(const CharacterTable& table, const Filter&, std::string_view text, Values& out) {
  std::string plain;
  for_each_character(text, [&](std::string_view bytes, char32_t code) {
    plain += table[code].decimal ? std::string_view("0") : bytes;
  });
  out.push_back(std::move(plain));
}

void lower(const CharacterTable& table, const Filter&, std::string_view text, Values& out) {
  out.push_back(lowered(table, text));
}

void shape(const CharacterTable& table, const Filter&, std::string_view text, Values& out) {
  out.push_back(shape_of(table, text));
}

void letter_case(const CharacterTable& table, const Filter&, std::string_view text, Values& out) {
  out.emplace_back(1, case_of(table, text));
}

void first(const CharacterTable&, const Filter& filter, std::string_view text, Values& out) {
  out.emplace_back(first_characters(text, filter.number));
}

void last(const CharacterTable&, const Filter& filter, std::string_view text, Values& out) {
  out.emplace_back(last_characters(text, filter.number));
}

void marked(const CharacterTable&, const Filter&, std::string_view text, Values& out) {
  std::string found = "^";
  found += text;
  out.push_back(found + "$");
}

void ngrams(const CharacterTable&, const Filter& filter, std::string_view text, Values& out) {
  const std::size_t begin = out.size();
  std::size_t left = filter.most, size = count_characters(text);
  for (; left > 0 && size >= filter.number; --left, --size) {
    add_distinct(out, begin, first_characters(text, filter.number));
    text.remove_prefix(width_of(text[0]));
  }
}

void split(const CharacterTable&, const Filter& filter, std::string_view text, Values& out) {
  const std::size_t begin = out.size();
  while (true) {
    const std::size_t end = text.find(filter.characters);
    const std::string_view part = text.substr(0, end);
    if (!part.empty()) add_distinct(out, begin, part);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + filter.characters.size());
  }
}

void inside(const CharacterTable&, const Filter& filter, std::string_view text, Values& out) {
  if (count_characters(text) < 3) return;
  const std::size_t begin = width_of(text[0]);
  const std::string_view middle = text.substr(begin, text.size() - last_characters(text, 1).size() - begin);
  if (middle.find(filter.characters) != std::string_view::npos) out.emplace_back(text);
}

void chars(const CharacterTable&, const Filter& filter, std::string_view text, Values& out) {
  for_each_character(filter.characters, [&](std::string_view bytes, char32_t) {
    if (text.find(bytes) != std::string_view::npos) out.emplace_back(bytes);
  });
}

void has_digit(const CharacterTable& table, const Filter&, std::string_view text, Values& out) {
  bool found = false;
  for_each_character(text, [&](std::string_view, char32_t code) { found |= table[code].digit; });
  if (found) out.emplace_back(text);
}

void length(const CharacterTable&, const Filter& filter, std::string_view text, Values& out) {
  out.push_back(std::to_string(std::min(count_characters(text), filter.most)));
}

}  // namespace

Filter::Filter(const std::string& name, std::size_t number_, std::size_t most_, std::string characters_)
    : number(number_), most(most_), characters(std::move(characters_)), apply_(named(name)) {
  if (apply_ == ngrams && number == 0) throw std::invalid_argument("ngrams needs 1 character or more");
  if (apply_ == split && characters.empty()) throw std::invalid_argument("split needs characters to split at");
}

Filter::Apply Filter::named(const std::string& name) {
  static const std::unordered_map<std::string_view, Apply> known = {
      {"digits", digits}, {"lower", lower},         {"shape", shape},   {"case", letter_case}, {"first", first},
      {"last", last},     {"marked", marked},       {"ngrams", ngrams}, {"split", split},      {"inside", inside},
      {"chars", chars},   {"has-digit", has_digit}, {"length", length},
  };
  const auto found = known.find(name);
  if (found == known.end()) throw std::invalid_argument("there is no filter " + name);
  return found->second;
}

char case_of(const CharacterTable& table, std::string_view word) {
  std::size_t letters = 0, capitals = 0, small = 0;
  bool has_digits = false, first_is_small = false;
  for_each_character(word, [&](std::string_view, char32_t code) {
    const Character& c = table[code];
    has_digits |= c.digit;
    if (!c.alpha) return;
    capitals += c.upper;
    small += c.lower;
    if (letters == 0) first_is_small = c.lower;
    ++letters;
  });
  if (letters == 0) return has_digits ? 'd' : 'p';
  if (capitals == letters) return letters == 1 ? 'I' : 'U';
  if (table[decoded(first_characters(word, 1))].upper) return small - first_is_small == letters - 1 ? 'T' : 'M';
  return small == letters ? 'l' : 'm';
}

std::string shape_of(const CharacterTable& table, std::string_view word) {
  std::string shape;
  std::string_view before;
  for_each_character(word, [&](std::string_view bytes, char32_t code) {
    const Character& c = table[code];
    const std::string_view now = c.upper ? "X" : c.lower ? "x" : c.digit ? "d" : bytes;
    if (now != before) shape += now;
    before = now;
  });
  return shape;
}

}  // namespace casimir::text
