#include "text/column_reader.hpp"

#include <algorithm>

namespace casimir::text {

namespace {

constexpr std::string_view blanks = " \t";

std::string_view stripped(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(blanks) + 1 - begin);
}

using Row = std::vector<std::string_view>;

void split_tabs(std::string_view line, Row& row) {
  row.clear();
  while (true) {
    const std::size_t end = line.find('\t');
    row.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return;
    line.remove_prefix(end + 1);
  }
}

void split_blanks(std::string_view line, Row& row) {
  row.clear();
  line = stripped(line);
  while (!line.empty()) {
    const std::size_t end = std::min(line.find_first_of(blanks), line.size());
    row.push_back(line.substr(0, end));
    line.remove_prefix(std::min(line.find_first_not_of(blanks, end), line.size()));
  }
}

class Reader {
 public:
  explicit Reader(const LineRules& rules) : rules_(rules) {}

  ColumnFile read(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    for (std::int64_t number = 1; !file_.problem; ++number) {
      const std::size_t end = text.find('\n');
      std::string_view one = text.substr(0, end);
      if (one.ends_with('\r')) one.remove_suffix(1);
      line(one, number);
      if (end == std::string_view::npos) break;
      text.remove_prefix(end + 1);
    }
    return std::move(file_);
  }

 private:
  std::int64_t n_sentences() const { return static_cast<std::int64_t>(file_.lines.size()); }

  void line(std::string_view one, std::int64_t number) {
    if (stripped(one).empty()) {
      open_ = false;
      return;
    }
    if (one[0] == '#' && rules_.is_comment(one)) return keep(one);
    if (file_.lines.empty()) file_.separator = one.find('\t') == std::string_view::npos ? ' ' : '\t';
    file_.separator == '\t' ? split_tabs(one, row_) : split_blanks(one, row_);
    if (row_[0].starts_with(rules_.document_start)) {
      ++document_;
      file_.boundaries.push_back({n_sentences(), 0, one});
      open_ = false;
    } else if (row_.size() == rules_.no_word_width && row_[0].find_first_of("-.") != std::string_view::npos &&
               rules_.is_no_word(row_[0])) {
      keep(one);
    } else {
      token(one, number);
    }
  }

  void keep(std::string_view one) {
    if (!open_) return file_.extras.push_back({n_sentences(), 0, one});
    file_.extras.push_back({n_sentences() - 1, file_.offsets.back() - file_.offsets[file_.offsets.size() - 2], one});
  }

  void token(std::string_view one, std::int64_t number) {
    if (file_.lines.empty()) {
      file_.ids.resize(row_.size());
      file_.texts.resize(row_.size());
    }
    const bool has_empty = std::any_of(row_.begin(), row_.end(), [](std::string_view cell) { return cell.empty(); });
    if (row_.size() != file_.ids.size() || has_empty) {
      file_.problem = AsideLine{n_sentences(), number, one};
      return;
    }
    if (!open_) {
      file_.lines.push_back(number);
      file_.documents.push_back(document_);
      file_.offsets.push_back(file_.offsets.back());
      open_ = true;
    }
    for (std::size_t c = 0; c < row_.size(); ++c) file_.ids[c].push_back(file_.texts[c].intern(row_[c]));
    ++file_.offsets.back();
  }

  const LineRules& rules_;
  ColumnFile file_;
  Row row_;
  bool open_ = false;
  std::int64_t document_ = -1;
};

}  // namespace

ColumnFile read_columns(std::string_view text, const LineRules& rules) { return Reader(rules).read(text); }

}  // namespace casimir::text
