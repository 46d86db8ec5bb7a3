#include "text/evidence.hpp"

#include <algorithm>
#include <numeric>

namespace casimir::text {

namespace {

constexpr std::size_t most_contexts = 16;
constexpr std::string_view all_cases = "IMTUdlmp";
constexpr std::string_view names[] = {
    "d[-1]=", "d[1]=", "dleft=", "dright=", "dfirst=", "dlast=", "dnotfirst", "dnotlast"};

}  // namespace

Evidence::Evidence(const TokenTable& tokens, WordFactTable& facts)
    : tokens_(tokens), facts_(facts), start_(facts.normal_of("<s>")), stop_(facts.normal_of("</s>")) {}

void Evidence::read(std::size_t begin, std::size_t end, bool has_topic) {
  for (const std::uint32_t normal : known_) {
    seen_[normal].contexts.clear();  // keeps its room
    seen_[normal].cases = 0;
    seen_[normal].known = false;
  }
  known_.clear();
  places_.clear();
  const auto at = [this](std::size_t i) { return static_cast<std::size_t>(tokens_.offsets[i]); };
  const std::uint32_t* words = tokens_.ids[0].data();
  topic_.reset();
  if (has_topic) topic_ = facts_[words[at(begin)]].normal;
  for (std::size_t i = begin; i < end; ++i) read_sentence(words + at(i), at(i + 1) - at(i));
}

void Evidence::read_sentence(const std::uint32_t* words, std::size_t size) {
  if (is_headline(words, size)) return;
  for (std::size_t i = 1; i < size; ++i) {
    const WordFacts fact = facts_[words[i]];
    seen(fact.normal).cases |= static_cast<std::uint8_t>(1u << all_cases.find(fact.letter_case));
  }
  for (std::size_t i = 0; i < size;) {
    const std::size_t end = end_of_run(facts_, words, i, size);
    if (end > i) read_run(words, size, i, end);
    i = end > i ? end : i + 1;
  }
}

void Evidence::read_run(const std::uint32_t* words, std::size_t size, std::size_t begin, std::size_t end) {
  const auto normal = [&](std::size_t i, int step) {
    return normal_at(words, size, static_cast<std::ptrdiff_t>(i) + step);
  };
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t mention = facts_[words[i]].normal;
    count(mention, before, normal(i, -1));
    count(mention, after, normal(i, 1));
    if (end - begin < size) {
      count(mention, left, normal(begin, -1));
      count(mention, right, normal(end, 0));
    }
    if (end - begin > 1) {
      count(mention, first, normal(begin, 0));
      count(mention, last, normal(end, -1));
    }
    if (i > begin) count(mention, not_first, 0);
    if (i + 1 < end) count(mention, not_last, 0);
  }
}

bool Evidence::is_headline(const std::uint32_t* words, std::size_t size) {
  std::size_t with_letters = 0, capitals = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const char letter_case = facts_[words[i]].letter_case;
    with_letters += letter_case != 'd' && letter_case != 'p';
    capitals += letter_case == 'U' || letter_case == 'I';
  }
  return with_letters > 0 && static_cast<double>(capitals) >= 0.8 * static_cast<double>(with_letters);
}

std::uint32_t Evidence::normal_at(const std::uint32_t* words, std::size_t size, std::ptrdiff_t i) {
  if (i < 0) return start_;
  return static_cast<std::size_t>(i) < size ? facts_[words[i]].normal : stop_;
}

Evidence::Seen& Evidence::seen(std::uint32_t normal) {
  if (normal >= seen_.size()) seen_.resize(2 * normal + 64);
  Seen& found = seen_[normal];
  if (!found.known) known_.push_back(normal);
  found.known = true;
  return found;
}

void Evidence::count(std::uint32_t mention, Kind kind, std::uint32_t word) {
  Contexts& all = seen(mention).contexts;
  const auto [place, is_new] = places_.try_emplace({mention, word, kind}, static_cast<std::uint32_t>(all.size()));
  if (is_new)
    all.push_back({kind, word, 1});
  else
    ++all[place].count;
}

void Evidence::append_cases(std::uint32_t normal) {
  if (normal >= seen_.size()) return;
  for (std::size_t k = 0; k < all_cases.size(); ++k)
    if ((seen_[normal].cases >> k & 1) != 0) feature_ += all_cases[k];
}

const std::string& Evidence::topic_with(std::string_view what) {
  feature_ = "topic=";
  feature_ += facts_.normal(*topic_);
  feature_ += '|';
  return feature_ += what;
}

const std::string& Evidence::text_of(const Context& context) {
  feature_ = names[context.kind];
  if (context.kind < not_first) feature_ += facts_.normal(context.word);
  return feature_;
}

/// The places of the most frequent contexts; of equally frequent ones those that came first.
const std::vector<std::uint32_t>& Evidence::most_common(const Contexts& all) {
  chosen_.resize(all.size());
  std::iota(chosen_.begin(), chosen_.end(), 0u);
  const std::size_t kept = std::min(most_contexts, all.size());
  const auto end = chosen_.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(chosen_.begin(), end, chosen_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return all[a].count != all[b].count ? all[a].count > all[b].count : a < b;
  });
  chosen_.resize(kept);
  return chosen_;
}

}  // namespace casimir::text
