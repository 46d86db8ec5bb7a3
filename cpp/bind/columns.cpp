// Column files from Python: the text in, numbers of distinct texts out.
#include <nanobind/stl/string_view.h>

#include "bind.hpp"
#include "text/column_reader.hpp"

namespace {

namespace text = casimir::text;

std::function<bool(std::string_view)> asked(const nb::callable& ask) {
  return [ask](std::string_view one) { return nb::cast<bool>(ask(nb::str(one.data(), one.size()))); };
}

nb::list as_list(const std::vector<text::AsideLine>& lines) {
  nb::list found;
  for (const auto& [sentence, at, line] : lines)
    found.append(nb::make_tuple(sentence, at, nb::str(line.data(), line.size())));
  return found;
}

/// [(ids, table)] per column.
nb::list columns_of(text::ColumnFile& file) {
  nb::list found;
  for (std::size_t c = 0; c < file.ids.size(); ++c) {
    const std::size_t n = file.ids[c].size();
    auto table = std::make_unique<casimir::FeatureTable>(std::move(file.texts[c]));
    found.append(nb::make_tuple(make_array(std::move(file.ids[c]), {n}), nb::cast(std::move(table))));
  }
  return found;
}

nb::dict read_columns(std::string_view content, std::string_view document_start, std::size_t no_word_width,
                      const nb::callable& is_comment, const nb::callable& is_no_word) {
  text::ColumnFile file =
      text::read_columns(content, {document_start, no_word_width, asked(is_comment), asked(is_no_word)});
  const std::size_t n = file.lines.size();
  nb::dict found;
  found["separator"] = nb::str(&file.separator, 1);
  found["columns"] = columns_of(file);
  found["offsets"] = make_array(std::move(file.offsets), {n + 1});
  found["documents"] = make_array(std::move(file.documents), {n});
  found["lines"] = make_array(std::move(file.lines), {n});
  found["boundaries"] = as_list(file.boundaries);
  found["extras"] = as_list(file.extras);
  found["problem"] = file.problem ? nb::object(as_list({*file.problem})[0]) : nb::none();
  return found;
}

}  // namespace

void bind_columns(nb::module_& m) {
  m.def(
      "read_columns", &read_columns, nb::arg("content"), nb::arg("document_start"), nb::arg("no_word_width"),
      nb::arg("is_comment"), nb::arg("is_no_word"),
      "The tokens of a column file, and its lines that are none; `problem` is (sentence, number, line) of a line that "
      "does not fit, behind which nothing is read.");
}
