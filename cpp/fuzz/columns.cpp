// Column files: whatever the bytes, what is read can be written and read again.
#include <string>

#include "fuzz/column_text.hpp"
#include "fuzz/targets.hpp"
#include "tests/testing.hpp"

namespace fuzz {
namespace {

using casimir::text::ColumnFile;
using testing::check;

void check_shape(const ColumnFile& file) {
  const std::size_t n = file.lines.size();
  check(file.offsets.size() == n + 1 && file.documents.size() == n && file.ids.size() == file.texts.size());
  for (std::size_t i = 0; i < n; ++i) check(file.offsets[i] < file.offsets[i + 1]);
  check(std::is_sorted(file.lines.begin(), file.lines.end()));
  check(std::is_sorted(file.documents.begin(), file.documents.end()));
  for (std::size_t c = 0; c < file.ids.size(); ++c) {
    check(static_cast<std::int64_t>(file.ids[c].size()) == file.offsets.back());
    for (const std::uint32_t id : file.ids[c]) check(id < file.texts[c].size() && !file.texts[c].name(id).empty());
  }
  for (const auto* lines : {&file.boundaries, &file.extras})
    for (const auto& line : *lines)
      check(line.sentence >= 0 && line.sentence <= static_cast<std::int64_t>(n) && line.at >= 0);
}

/// The tokens as a file of their own.
std::string written(const ColumnFile& file) {
  std::string text = "\r\n";
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    for (auto t = static_cast<std::size_t>(file.offsets[i]); t < static_cast<std::size_t>(file.offsets[i + 1]); ++t) {
      for (std::size_t c = 0; c < file.ids.size(); ++c) {
        if (c) text += file.separator;
        text += file.texts[c].name(file.ids[c][t]);
      }
      text += "\r\n";
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace

void columns(Bytes input) {
  const ColumnFile file = read_text(input.rest());
  check_shape(file);
  if (file.lines.empty()) return;
  const auto no = [](std::string_view) { return false; };
  const ColumnFile again = casimir::text::read_columns(written(file), {"-DOCSTART-", 10, no, no});
  check(!again.problem && again.offsets == file.offsets && again.ids == file.ids);
  for (std::size_t c = 0; c < file.texts.size(); ++c) check(again.texts[c].blob() == file.texts[c].blob());
}

}  // namespace fuzz
