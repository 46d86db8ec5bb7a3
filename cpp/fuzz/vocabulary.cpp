// Names and their numbers: tables out of files, hashing, and the order of packed features.
#include <map>
#include <string>

#include "features/packer.hpp"
#include "fuzz/targets.hpp"
#include "tests/testing.hpp"

namespace fuzz {
namespace {

using casimir::FeatureTable;
using testing::check;

/// A table out of a file: refused, or as the offsets say.
void table_of_offsets(Bytes& input) {
  std::vector<std::int64_t> offsets;
  const std::int64_t count = input.between(0, 12);
  const bool wild = input.flag();
  for (std::int64_t i = 0; i < count; ++i)
    offsets.push_back(wild ? input.raw<std::int64_t>() : (i ? offsets.back() : 0) + input.between(0, 4));
  std::string blob(input.text(wild || offsets.empty() ? 16 : static_cast<std::size_t>(offsets.back())));
  try {
    const FeatureTable table(blob, offsets);
    check(table.size() + 1 == offsets.size() && table.blob() == blob && table.offsets() == offsets);
    for (std::size_t i = 0; i < table.size(); ++i) check(table.find(table.name(i)) == i);
  } catch (const std::invalid_argument&) {
  }
}

/// Names between blanks, as a map numbers them.
void interned(std::string_view text) {
  FeatureTable table;
  std::map<std::string, std::uint32_t, std::less<>> known;
  casimir::Packer hashed(casimir::FeatureIndex::hashed(1 + static_cast<std::uint32_t>(text.size()) * 37));
  casimir::Packer growing(casimir::FeatureIndex::growing(table));
  std::vector<std::uint32_t> expected;
  while (true) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string name(text.substr(0, end));
    const bool is_new = !known.contains(name);
    check((table.find(name) == FeatureTable::none) == is_new);
    const auto number = known.emplace(name, static_cast<std::uint32_t>(known.size())).first->second;
    check(table.intern(name) == number && table.find(name) == number && table.name(number) == name);
    const auto buckets = static_cast<std::uint32_t>(1 + 7 * number);
    check(casimir::bucket_of(casimir::hash_bytes(name), buckets) < buckets);
    expected.push_back(hashed.number(name));
    const double weight = name.size() % 3 == 2 ? 0.5 : 1.0;
    hashed.add(name, weight);
    growing.add(name, weight);
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
  }
  check(table.size() == known.size());
  for (casimir::Packer* packer : {&hashed, &growing}) {
    packer->end_token();
    packer->end_sequence();
  }
  const casimir::PackedFeatures found = std::move(hashed).finish(), numbered = std::move(growing).finish();
  std::sort(expected.begin(), expected.end());
  check(found.indices == expected && std::is_sorted(numbered.indices.begin(), numbered.indices.end()));
  check(found.indptr == numbered.indptr && found.weighted == numbered.weighted);
  check(found.values.size() == (found.weighted ? found.indices.size() : 0));
}

}  // namespace

void vocabulary(Bytes input) {
  table_of_offsets(input);
  const std::int64_t repeat = input.between(1, 6);  // longer lists are sorted in another way
  std::string text;
  const std::string_view rest = input.rest();
  for (std::int64_t k = 0; k < repeat; ++k) text.append(rest);
  interned(text);
}

}  // namespace fuzz
