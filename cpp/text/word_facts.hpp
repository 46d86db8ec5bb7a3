// Of every distinct word: its case, and its normal form (digits as 0, small letters) as a number.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "features/feature_table.hpp"
#include "text/characters.hpp"

namespace casimir::text {

struct WordFacts {
  char letter_case = 0;  // 0: not computed yet
  std::uint32_t normal = 0;

  bool capitalised() const {
    return letter_case == 'U' || letter_case == 'I' || letter_case == 'T' || letter_case == 'M';
  }
};

class WordFactTable {
 public:
  WordFactTable(const CharacterTable& characters, const FeatureTable& words)
      : characters_(characters), words_(words), facts_(words.size()) {}

  /// Of the distinct word with this number.
  const WordFacts& operator[](std::uint32_t word) {
    WordFacts& found = facts_[word];
    if (found.letter_case == 0) compute(word, found);
    return found;
  }

  std::uint32_t normal_of(std::string_view text) { return normals_.intern(text); }
  std::string_view normal(std::uint32_t number) const { return normals_.name(number); }

 private:
  void compute(std::uint32_t word, WordFacts& found);

  const CharacterTable& characters_;
  const FeatureTable& words_;
  FeatureTable normals_;
  std::vector<WordFacts> facts_;
};

/// The end of the run of capitalised words that begins at `begin`; `begin` itself if that word is none.
std::size_t end_of_run(WordFactTable& facts, const std::uint32_t* words, std::size_t begin, std::size_t size);

}  // namespace casimir::text
