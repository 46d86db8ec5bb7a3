// Column files, characters, filters and templates against what is written out here by hand.
#include <set>

#include "testing.hpp"
#include "text/column_reader.hpp"
#include "text/evidence.hpp"
#include "text/round_map.hpp"
#include "text/template_features.hpp"

namespace {

using namespace casimir;
using namespace casimir::text;
using testing::check;
using testing::check_equal;
using testing::check_refused;

/// ASCII, a letter of two bytes with a capital, and the sigmas.
CharacterTable characters() {
  CharacterTable table;
  for (char32_t code = 0; code < 128; ++code) {
    const bool upper = code >= 'A' && code <= 'Z', lower = code >= 'a' && code <= 'z';
    const bool digit = code >= '0' && code <= '9';
    const auto small = static_cast<char>(upper ? code + 32 : code);
    table.add(code, {upper, lower, upper || lower, digit, digit, upper || lower, code == '.', std::string(1, small)});
  }
  table.add(0xc9, {true, false, true, false, false, true, false, "\u00e9"});
  table.add(0xe9, {false, true, true, false, false, true, false, "\u00e9"});
  table.add(0x3a3, {true, false, true, false, false, true, false, "\u03c3"});
  return table;
}

Values filtered(const Filter& filter, std::string_view text) {
  Values found;
  filter.apply(characters(), text, found);
  return found;
}

void test_characters() {
  check_equal(static_cast<std::int64_t>(count_characters("a\u00e9\u20ac\U0001d400")), 4);
  check(first_characters("\u00e9\u20acx", 2) == "\u00e9\u20ac");
  check(last_characters("\u00e9\u20acx", 2) == "\u20acx");
  check(last_characters("ab", 5) == "ab");
  std::vector<char32_t> codes;
  for_each_character("a\u00e9\u20ac\U0001d400", [&](std::string_view, char32_t code) { codes.push_back(code); });
  check(codes == std::vector<char32_t>{'a', 0xe9, 0x20ac, 0x1d400});
  check_refused([] { lowered(characters(), "\u20ac"); });
}

void test_small_letters() {
  const CharacterTable table = characters();
  check(lowered(table, "A\u00c9") == "a\u00e9");
  check(lowered(table, "A\u03a3") == "a\u03c2");    // ends a word
  check(lowered(table, "A\u03a3.") == "a\u03c2.");  // what is ignored is looked through
  check(lowered(table, "A\u03a3A") == "a\u03c3a");  // inside
  check(lowered(table, "\u03a3") == "\u03c3");      // alone
}

void test_filters() {
  check(filtered(Filter("digits"), "B-747") == Values{"B-000"});
  check(filtered(Filter("shape"), "Boeing-747") == Values{"Xx-d"});
  check(filtered(Filter("first", 2), "\u00c9cole") == Values{"\u00c9c"});
  check(filtered(Filter("last", 0), "ab") == Values{""});
  check(filtered(Filter("ngrams", 2, 9), "abab") == Values{"ab", "ba"});
  check(filtered(Filter("split", 0, 0, "-"), "-a--b-a") == Values{"a", "b"});
  check(filtered(Filter("inside", 0, 0, "-"), "-a-").empty());
  check(filtered(Filter("inside", 0, 0, "-"), "a-b") == Values{"a-b"});
  check(filtered(Filter("chars", 0, 0, ".-"), "a-b") == Values{"-"});
  check(filtered(Filter("has-digit"), "ab").empty());
  check(filtered(Filter("length", 0, 3), "\u00e9\u00e9\u00e9\u00e9") == Values{"3"});
  check_refused([] { Filter("upper"); });
  check_refused([] { Filter("ngrams", 0, 9); });     // would never end
  check_refused([] { Filter("split", 0, 0, ""); });  // the same
  const std::string words[] = {"NATO", "J.", "Paris", "McD", "iP", "the", "12", "--"};
  const std::string cases = "UITMmldp";
  for (std::size_t k = 0; k < cases.size(); ++k) check(case_of(characters(), words[k]) == cases[k]);
}

void test_round_map() {
  RoundMap map;
  testing::Random random(1);
  for (int round = 0; round < 5; ++round) {
    map.clear();
    std::set<std::vector<std::int64_t>> seen;
    for (int k = 0; k < 500; ++k) {
      const std::vector<std::int64_t> key{random.below(9), random.below(9), random.below(5)};
      const bool is_new = seen.insert(key).second;
      const auto value = static_cast<std::uint32_t>(81 * key[0] + 9 * key[1] + key[2]);
      const auto given = [&](std::size_t i) { return static_cast<std::uint32_t>(key[i]); };
      const auto found = map.try_emplace({given(0), given(1), given(2)}, is_new ? value : 0);
      check_equal(found.first, value);
      check_equal(found.second, is_new);
    }
    check_equal(static_cast<std::int64_t>(map.size()), static_cast<std::int64_t>(seen.size()));
  }
}

ColumnFile read(std::string_view text) {
  return read_columns(text, {"-DOCSTART-", 10, [](std::string_view line) { return line.starts_with("# "); },
                             [](std::string_view) { return true; }});
}

void test_column_files() {
  const ColumnFile file =
      read("\xef\xbb\xbf-DOCSTART- O\r\n\r\nAda B\r\nslept O\n\n\n# note\nAda B\n-DOCSTART- O\nx O");
  check(!file.problem);
  check(file.offsets == std::vector<std::int64_t>{0, 2, 3, 4});
  check(file.documents == std::vector<std::int64_t>{0, 0, 1});
  check(file.lines == std::vector<std::int64_t>{3, 8, 10});
  check(file.ids[0] == std::vector<std::uint32_t>{0, 1, 0, 2});
  check(file.texts[1].name(0) == "B");
  check_equal(static_cast<std::int64_t>(file.boundaries.size()), 2);
  check_equal(file.extras[0].sentence, 1);
  const ColumnFile wrong = read("a b\nc\nd e");
  check(wrong.problem && wrong.problem->line == "c");
  check_equal(wrong.problem->at, 2);
}

/// Templates over the words of a file, whose second column is another one.
PackedFeatures features(const ColumnFile& file, const Plan& plan, FeatureIndex index, int threads = 1) {
  const TokenTable tokens{file.offsets, file.documents, {file.ids[0], file.ids[1]}, {&file.texts[0], &file.texts[1]}};
  return template_features(plan, characters(), tokens, std::vector<GivenValues>(plan.sources.size()), index, threads);
}

/// w={word} | {word lower @-1}/{other} | {evidence}
Plan plan_of_three() {
  Plan plan;
  plan.sources.push_back({SourceKind::filtered, 0, {}});
  plan.sources.push_back({SourceKind::filtered, 0, {Filter("lower")}});
  plan.sources.push_back({SourceKind::filtered, 1, {}});
  plan.sources.push_back({SourceKind::evidence, 0, {}});
  plan.templates.push_back({{"w=", ""}, {{0, Anchor::token, 0, Outside::mark, ""}}});
  plan.templates.push_back(
      {{"", "/", ""}, {{1, Anchor::token, -1, Outside::mark, ""}, {2, Anchor::token, 0, Outside::mark, ""}}});
  plan.templates.push_back({{"", ""}, {{3, Anchor::token, 0, Outside::mark, ""}}});
  return plan;
}

std::set<std::string> names_of(const PackedFeatures& packed, const FeatureTable& table, std::size_t token) {
  std::set<std::string> found;
  for (auto k = static_cast<std::size_t>(packed.indptr[token]); k < static_cast<std::size_t>(packed.indptr[token + 1]);
       ++k)
    found.emplace(table.name(packed.indices[k]));
  return found;
}

void test_templates() {
  const ColumnFile file = read("Ada B\nslept O\n\nx O\n");
  FeatureTable table;
  const PackedFeatures packed = features(file, plan_of_three(), FeatureIndex::growing(table));
  check(packed.offsets == std::vector<std::int64_t>{0, 2, 3});
  check(names_of(packed, table, 0) == std::set<std::string>{"w=Ada", "<s>/B"});
  check(names_of(packed, table, 1) == std::set<std::string>{"w=slept", "ada/O"});
  check(names_of(packed, table, 2) == std::set<std::string>{"w=x", "<s>/O"});
  const PackedFeatures again = features(file, plan_of_three(), FeatureIndex::known(table));
  check(again.indices == packed.indices);
}

/// A hole of evidence has no value of one token that could stand beside others.
void test_evidence_is_alone() {
  const ColumnFile file = read("Ada B\nslept O\n");
  FeatureTable table;
  Plan plan = plan_of_three();
  plan.templates.push_back(
      {{"", "/", ""}, {{0, Anchor::token, 0, Outside::mark, ""}, {3, Anchor::token, 0, Outside::mark, ""}}});
  check_refused([&] { features(file, plan, FeatureIndex::growing(table)); });
}

void test_evidence_is_of_one_document() {
  const ColumnFile file = read("-DOCSTART- -\n\nin -\nAda -\n\nthe -\nAda -\n\n-DOCSTART- -\n\nan -\nAda -\n\nx -\n");
  FeatureTable table;
  const PackedFeatures packed = features(file, plan_of_three(), FeatureIndex::growing(table));
  const std::set<std::string> first = names_of(packed, table, 1), last = names_of(packed, table, 5);
  check(first.contains("d[-1]=the") && first.contains("d[-1]=in") && !first.contains("d[-1]=an"));
  check(last.contains("d[-1]=an") && !last.contains("d[-1]=in"));
  check(last.contains("dcase=TT") && last.contains("topic=an|ada"));
}

/// 70,000 tokens in documents of some sentences: more than one thread has something to do.
void test_threads_change_nothing() {
  testing::Random random(3);
  std::string text;
  const std::string words[] = {"Ada", "NATO", "the", "x-1", "Bo", "in"};
  for (std::int64_t token = 0; token < 70'000; ++token) {
    if (random.below(9) == 0) text += '\n';
    if (random.below(50) == 0) text += "\n-DOCSTART- -\n\n";
    text += words[static_cast<std::size_t>(random.below(6))] + std::to_string(random.below(40)) + " t" +
            std::to_string(random.below(5)) + '\n';
  }
  const ColumnFile file = read(text);
  const PackedFeatures one = features(file, plan_of_three(), FeatureIndex::hashed(1u << 18));
  for (const int threads : {2, 3, 8}) {
    const PackedFeatures many = features(file, plan_of_three(), FeatureIndex::hashed(1u << 18), threads);
    check(many.offsets == one.offsets && many.indptr == one.indptr && many.indices == one.indices);
  }
}

}  // namespace

void test_text() {
  test_characters();
  test_small_letters();
  test_filters();
  test_round_map();
  test_column_files();
  test_templates();
  test_evidence_is_alone();
  test_evidence_is_of_one_document();
  test_threads_change_nothing();
}
