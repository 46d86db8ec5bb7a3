#include "text/word_facts.hpp"

#include "text/filters.hpp"

namespace casimir::text {

void WordFactTable::compute(std::uint32_t word, WordFacts& found) {
  static const std::vector<Filter> normal = {{"digits", 0, 0, ""}, {"lower", 0, 0, ""}};
  const std::string_view text = words_.name(word);
  found.letter_case = case_of(characters_, text);
  found.normal = normals_.intern(filtered(characters_, normal, text)[0]);
}

std::size_t end_of_run(WordFactTable& facts, const std::uint32_t* words, std::size_t begin, std::size_t size) {
  std::size_t end = begin;
  while (end < size && facts[words[end]].capitalised()) ++end;
  return end;
}

}  // namespace casimir::text
