// Templates and filters over column files of any valid UTF-8.
#include <string>

#include "fuzz/column_text.hpp"
#include "fuzz/targets.hpp"
#include "tests/testing.hpp"
#include "text/template_features.hpp"

namespace fuzz {
namespace {

using namespace casimir::text;
using testing::check;

/// Bytes as a caller would have decoded them: what is no character is a question mark.
std::string valid_utf8(std::string_view bytes) {
  std::string found;
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t width = width_of(bytes[i]);
    const std::string_view one = bytes.substr(i, width);
    bool valid = one.size() == width && !continues(bytes[i]) && static_cast<unsigned char>(bytes[i]) < 0xf5;
    for (std::size_t k = 1; k < one.size(); ++k) valid = valid && continues(one[k]);
    found += valid ? one : std::string_view("?");
    i += valid ? width : 1;
  }
  return found;
}

/// Made-up facts of every character of the texts; small letters of some have several characters.
CharacterTable characters_of(const ColumnFile& file) {
  CharacterTable table;
  for (char32_t code = 0; code < 128; ++code) {
    const bool upper = code >= 'A' && code <= 'Z', lower = code >= 'a' && code <= 'z';
    const bool digit = code >= '0' && code <= '9';
    table.add(code, {upper, lower, upper || lower, digit, digit, upper || lower, code == '.',
                     std::string(1, static_cast<char>(upper ? code + 32 : code))});
  }
  for (const casimir::FeatureTable& texts : file.texts)
    for_each_character(texts.blob(), [&](std::string_view bytes, char32_t code) {
      const bool upper = code % 3 == 0, lower = code % 3 == 1;
      if (code >= 128)
        table.add(code, {upper, lower, code % 2 == 0, code % 5 == 0, code % 10 == 0, upper || lower, code % 7 == 0,
                         code % 11 ? std::string(bytes) : "ss"});
    });
  return table;
}

Plan plan_of(Bytes& input, std::size_t columns) {
  static const char* const names[] = {"digits", "lower", "shape",  "case",  "first",     "last",  "marked",
                                      "ngrams", "split", "inside", "chars", "has-digit", "length"};
  static const char* const signs[] = {"-", ".", "\u00e9", "ab", "-x", ""};
  Plan plan{{}, {}, static_cast<std::size_t>(input.between(1, 3)), static_cast<std::size_t>(input.between(1, 3))};
  for (std::int64_t s = input.between(1, 4); s > 0; --s) {
    Source source{input.between(0, 3) ? SourceKind::filtered
                  : input.flag()      ? SourceKind::place
                                      : SourceKind::evidence,
                  static_cast<std::size_t>(input.between(0, static_cast<std::int64_t>(columns) - 1)),
                  {}};
    if (source.kind == SourceKind::filtered)
      for (std::int64_t f = input.between(0, 3); f > 0; --f) {
        const char* name = names[input.between(0, 12)];
        const auto number = static_cast<std::size_t>(input.between(0, 4));
        const auto most = static_cast<std::size_t>(input.between(0, 6));
        source.filters.emplace_back(name, number, most, signs[input.between(0, 5)]);
      }
    plan.sources.push_back(std::move(source));
  }
  for (std::int64_t t = input.between(1, 4); t > 0; --t) {
    Template made{{"t" + std::to_string(t) + "="}, {}};
    for (std::int64_t h = input.between(0, 3); h > 0; --h) {
      const auto source =
          static_cast<std::size_t>(input.between(0, static_cast<std::int64_t>(plan.sources.size()) - 1));
      made.holes.push_back({source, static_cast<Anchor>(input.between(0, 4)), input.between(-3, 3),
                            static_cast<Outside>(input.between(0, 3)), "out"});
      made.texts.emplace_back("/");
    }
    plan.templates.push_back(std::move(made));
  }
  return plan;
}

}  // namespace

void templates(Bytes input) {
  const auto columns = static_cast<std::size_t>(input.between(1, 3));
  try {
    const Plan plan = plan_of(input, columns);
    const ColumnFile file = read_text(valid_utf8(input.rest()));
    if (file.lines.empty() || file.ids.size() < columns) return;
    TokenTable tokens{file.offsets, file.documents, {}, {}};
    for (std::size_t c = 0; c < file.ids.size(); ++c) {
      tokens.ids.emplace_back(file.ids[c]);
      tokens.names.push_back(&file.texts[c]);
    }
    const CharacterTable characters = characters_of(file);
    const std::vector<GivenValues> given(plan.sources.size());
    casimir::FeatureTable table;
    const auto grown = template_features(plan, characters, tokens, given, casimir::FeatureIndex::growing(table), 1);
    const auto known = template_features(plan, characters, tokens, given, casimir::FeatureIndex::known(table), 2);
    check(grown.indices == known.indices && grown.indptr == known.indptr && grown.offsets == known.offsets);
    check(grown.offsets == file.offsets && !grown.weighted);
    const auto hashed = template_features(plan, characters, tokens, given, casimir::FeatureIndex::hashed(97), 1);
    check(hashed.indptr == grown.indptr);
    for (const std::uint32_t index : hashed.indices) check(index < 97);
  } catch (const std::invalid_argument&) {  // filters that do not go together with their numbers
  }
}

}  // namespace fuzz
