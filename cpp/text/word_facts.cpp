#include "text/word_facts.hpp"

#include "text/filters.hpp"

namespace casimir::text {

void WordFactTable::compute(std::uint32_t word, WordFacts& found) {
  static const Filter digits("digits"), lower("lower");
  const std::string_view text = words_.name(word);
  found.letter_case = case_of(characters_, text);
  Values values;
  digits.apply(characters_, text, values);
  lower.apply(characters_, values[0], values);
  found.normal = normals_.intern(values[1]);
}

std::size_t end_of_run(WordFactTable& facts, const std::uint32_t* words, std::size_t begin, std::size_t size) {
  std::size_t end = begin;
  while (end < size && facts[words[end]].capitalised()) ++end;
  return end;
}

}  // namespace casimir::text
