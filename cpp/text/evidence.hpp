// What the rest of a document tells about a word. A name is often ambiguous in one sentence and plain in another:
// "Jordan" beside "King Hussein of Jordan" or "Michael Jordan". So every mention of a capitalised word gets the most
// frequent contexts of all its capitalised mentions in the document:
//
//   d[-1], d[1]         the words before and after the mention
//   dleft, dright       the words around the run of capitalised words that holds it
//   dfirst, dlast       the first and last word of that run, when it is longer than the mention
//   dnotfirst, dnotlast it stood behind or before another capitalised word
//   dcase               the case of its mentions that do not begin a sentence
//   topic               the first word of the document, together with the word or its case
//
// Headlines, where everything is in capitals, receive this evidence but give none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/round_map.hpp"
#include "text/token_table.hpp"
#include "text/word_facts.hpp"

namespace casimir::text {

class Evidence {
 public:
  Evidence(const TokenTable& tokens, WordFactTable& facts);

  /// Reads the sentences begin .. end - 1, one document; `has_topic`: its first word tells something.
  void read(std::size_t begin, std::size_t end, bool has_topic);

  /// Calls use(text) for each feature of any mention of a word.
  template <class Use>
  void features(std::uint32_t word, Use use) {
    const WordFacts fact = facts_[word];
    feature_ = "dcase=";
    feature_ += fact.letter_case;
    append_cases(fact.normal);
    use(feature_);
    if (topic_) {
      use(topic_with(std::string_view(&fact.letter_case, 1)));
      use(topic_with(facts_.normal(fact.normal)));
    }
    if (!fact.capitalised()) return;
    if (fact.normal >= seen_.size()) return;
    const Contexts& all = seen_[fact.normal].contexts;
    for (const std::uint32_t k : most_common(all)) use(text_of(all[k]));
  }

 private:
  enum Kind : std::uint32_t { before, after, left, right, first, last, not_first, not_last };
  struct Context {
    Kind kind;
    std::uint32_t word, count;
  };
  using Contexts = std::vector<Context>;
  /// Of a normal form in the document at hand.
  struct Seen {
    Contexts contexts;
    std::uint8_t cases = 0;  // a bit for each
    bool known = false;
  };

  void read_sentence(const std::uint32_t* words, std::size_t size);
  void read_run(const std::uint32_t* words, std::size_t size, std::size_t begin, std::size_t end);
  bool is_headline(const std::uint32_t* words, std::size_t size);
  /// The normal form of words[i], a mark beyond the ends.
  std::uint32_t normal_at(const std::uint32_t* words, std::size_t size, std::ptrdiff_t i);
  Seen& seen(std::uint32_t normal);
  void count(std::uint32_t mention, Kind kind, std::uint32_t word);
  void append_cases(std::uint32_t normal);
  const std::string& topic_with(std::string_view what);
  const std::string& text_of(const Context& context);
  const std::vector<std::uint32_t>& most_common(const Contexts& all);

  const TokenTable& tokens_;
  WordFactTable& facts_;
  std::uint32_t start_, stop_;
  std::optional<std::uint32_t> topic_;
  std::vector<Seen> seen_;            // by normal form
  std::vector<std::uint32_t> known_;  // normal forms of the document
  RoundMap places_;                   // (mention, word, kind) -> its place among the contexts of the mention
  std::vector<std::uint32_t> chosen_;
  std::string feature_;
};

}  // namespace casimir::text
