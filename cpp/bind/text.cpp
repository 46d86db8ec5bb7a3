// Templates, characters and tokens from Python; features out of them without a Python object per token.
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>

#include "bind.hpp"
#include "packed.hpp"
#include "text/template_features.hpp"

namespace {

using casimir::FeatureIndex;
using casimir::FeatureTable;
namespace text = casimir::text;

using Integers = InArray<int64_t, nb::ndim<1>>;
using Numbers = InArray<uint32_t, nb::ndim<1>>;
using FilterParts = std::tuple<std::string, std::size_t, std::size_t, std::string>;  // name, number, most, characters
using HoleParts = std::tuple<std::size_t, int, std::int64_t, int, std::string>;      // source, anchor, offset, outside
using Given = std::optional<std::tuple<Integers, Integers, InArray<uint8_t, nb::ndim<1>>>>;  // items, ends, blob

template <class T>
std::span<const T> span_of(const InArray<T, nb::ndim<1>>& array) {
  return {array.data(), array.size()};
}

template <class Enum>
Enum checked_kind(int value, Enum last) {
  if (value < 0 || value > static_cast<int>(last)) throw std::invalid_argument("a template is of an unknown kind");
  return static_cast<Enum>(value);
}

bool is_ascending(const Integers& array) {
  return array.size() > 0 && array.data()[0] >= 0 && std::is_sorted(array.data(), array.data() + array.size());
}

void add_source(text::Plan& plan, int kind, std::size_t column, const std::vector<FilterParts>& filters) {
  text::Source made{checked_kind(kind, text::SourceKind::evidence), column, {}};
  if (made.kind == text::SourceKind::filtered)
    for (const auto& [name, number, most, characters] : filters)
      made.filters.emplace_back(name, number, most, characters);
  plan.sources.push_back(std::move(made));
}

void add_template(text::Plan& plan, std::vector<std::string> texts, const std::vector<HoleParts>& holes) {
  if (texts.size() != holes.size() + 1) throw std::invalid_argument("a template has a text around every hole");
  text::Template made{std::move(texts), {}};
  for (const auto& [source, anchor, offset, outside, mark] : holes) {
    if (source >= plan.sources.size()) throw std::invalid_argument("a hole names a source that is not there");
    made.holes.push_back({source, checked_kind(anchor, text::Anchor::right), offset,
                          checked_kind(outside, text::Outside::numbered), mark});
  }
  plan.templates.push_back(std::move(made));
}

/// The code points of all texts that the table does not know yet.
std::vector<std::uint32_t> missing(const text::CharacterTable& table, const FeatureTable& texts) {
  std::vector<std::uint32_t> found;
  text::for_each_character(texts.blob(), [&](std::string_view, char32_t code) {
    if (!table.has(code)) found.push_back(static_cast<std::uint32_t>(code));
  });
  return found;
}

void add_character(text::CharacterTable& table, std::uint32_t code, unsigned flags, std::string small) {
  const auto has = [flags](unsigned bit) { return (flags >> bit & 1) != 0; };
  table.add(code, {has(0), has(1), has(2), has(3), has(4), has(5), has(6), std::move(small)});
}

text::TokenTable token_table(const Integers& offsets, const Integers& documents, const std::vector<Numbers>& ids,
                             const std::vector<const FeatureTable*>& names) {
  text::TokenTable made{span_of(offsets), span_of(documents), {}, names};
  if (ids.empty() || ids.size() != names.size() || offsets.size() != documents.size() + 1)
    throw std::invalid_argument("tokens need columns with their texts, and a document per sentence");
  for (std::size_t c = 0; c < ids.size(); ++c) {
    made.ids.push_back(span_of(ids[c]));
    if (static_cast<int64_t>(ids[c].size()) != made.offsets.back() || made.offsets.front() != 0)
      throw std::invalid_argument("every column needs a text per token");
    for (const std::uint32_t id : made.ids.back())
      if (id >= names[c]->size()) throw std::invalid_argument("a token has a text that is not there");
  }
  for (std::size_t i = 0; i + 1 < made.offsets.size(); ++i)
    if (made.offsets[i] >= made.offsets[i + 1]) throw std::invalid_argument("every sentence needs a token");
  return made;
}

text::GivenValues given_values(const Given& given, std::size_t n_items) {
  if (!given) return {};
  const auto& [items, ends, blob] = *given;
  if (items.size() != n_items + 1 || !is_ascending(items) || !is_ascending(ends) ||
      items.data()[n_items] + 1 != static_cast<int64_t>(ends.size()) ||
      ends.data()[ends.size() - 1] != static_cast<int64_t>(blob.size()))
    throw std::invalid_argument("values that are given do not fit the tokens");
  return {span_of(items), span_of(ends), {reinterpret_cast<const char*>(blob.data()), blob.size()}};
}

nb::tuple extract(const text::Plan& plan, const text::CharacterTable& characters, const Integers& offsets,
                  const Integers& documents, const std::vector<Numbers>& ids,
                  const std::vector<const FeatureTable*>& names, const std::vector<Given>& given,
                  const FeatureIndex& index, int threads) {
  const text::TokenTable tokens = token_table(offsets, documents, ids, names);
  if (given.size() != plan.sources.size()) throw std::invalid_argument("every source needs its values, or None");
  std::vector<text::GivenValues> values;
  for (std::size_t s = 0; s < given.size(); ++s) {
    const text::Source& source = plan.sources[s];
    if (source.column >= names.size()) throw std::invalid_argument("a source reads a column that is not there");
    const bool by_text = source.kind == text::SourceKind::by_text, by_token = source.kind == text::SourceKind::by_token;
    if ((by_text || by_token) != given[s].has_value()) throw std::invalid_argument("a source lacks its values");
    values.push_back(given_values(given[s], by_token ? tokens.ids[0].size() : names[source.column]->size()));
  }
  casimir::PackedFeatures packed;
  {
    const nb::gil_scoped_release release;
    packed = text::template_features(plan, characters, tokens, values, index, threads);
  }
  return packed_tuple(std::move(packed));
}

/// (ids, table) of the strings of all sentences, one after another.
nb::tuple intern_tokens(nb::iterable sentences) {
  auto table = std::make_unique<FeatureTable>();
  std::vector<std::uint32_t> ids;
  for (nb::handle sentence : sentences)
    for (nb::handle token : sentence) {
      Py_ssize_t size = 0;
      const char* bytes = PyUnicode_Check(token.ptr()) ? PyUnicode_AsUTF8AndSize(token.ptr(), &size) : nullptr;
      if (bytes == nullptr) {
        PyErr_Clear();
        const auto shown = nb::cast<std::string>(nb::steal(PyObject_ASCII(token.ptr())));
        throw nb::value_error(("the token " + shown +
                               " is no string of valid Unicode. Decode the input first, with "
                               "errors='replace' where it is damaged.")
                                  .c_str());
      }
      ids.push_back(table->intern({bytes, static_cast<std::size_t>(size)}));
    }
  const std::size_t n = ids.size();
  return nb::make_tuple(make_array(std::move(ids), {n}), nb::cast(std::move(table)));
}

}  // namespace

void bind_text(nb::module_& m) {
  nb::class_<text::CharacterTable>(m, "CharacterTable", "What characters are, as Python tells it.")
      .def(nb::init<>())
      .def(nb::init<const text::CharacterTable&>())
      .def("add", &add_character, nb::arg("code"), nb::arg("flags"), nb::arg("small"))
      .def("missing", &missing, nb::arg("texts"));

  nb::class_<text::Plan>(m, "TemplatePlan", "Templates of features, compiled.")
      .def(
          "__init__",
          [](text::Plan* self, std::size_t alone, std::size_t least) { new (self) text::Plan{{}, {}, alone, least}; },
          nb::arg("alone"), nb::arg("least"))
      .def("add_source", &add_source, nb::arg("kind"), nb::arg("column"), nb::arg("filters"))
      .def("add_template", &add_template, nb::arg("texts"), nb::arg("holes"));

  m.def("intern_tokens", &intern_tokens, nb::arg("sentences"),
        "(ids uint32[T], FeatureTable) of lists of strings, one after another.");
  m.def(
      "extract_hashed",
      [](const text::Plan& plan, const text::CharacterTable& characters, const Integers& offsets,
         const Integers& documents, const std::vector<Numbers>& ids, const std::vector<const FeatureTable*>& names,
         const std::vector<Given>& given, uint32_t n_features, int threads) {
        if (n_features == 0) throw std::invalid_argument("n_features must be at least 1");
        return extract(plan, characters, offsets, documents, ids, names, given, FeatureIndex::hashed(n_features),
                       threads);
      },
      "(offsets, indptr, indices, None) of the features that a plan makes; bucket = hash of name.");
  m.def(
      "extract_known",
      [](const text::Plan& plan, const text::CharacterTable& characters, const Integers& offsets,
         const Integers& documents, const std::vector<Numbers>& ids, const std::vector<const FeatureTable*>& names,
         const std::vector<Given>& given, const FeatureTable& table, int threads) {
        return extract(plan, characters, offsets, documents, ids, names, given, FeatureIndex::known(table), threads);
      },
      "As extract_hashed; names that are not in the table are dropped.");
  m.def(
      "extract_growing",
      [](const text::Plan& plan, const text::CharacterTable& characters, const Integers& offsets,
         const Integers& documents, const std::vector<Numbers>& ids, const std::vector<const FeatureTable*>& names,
         const std::vector<Given>& given, FeatureTable& table) {
        return extract(plan, characters, offsets, documents, ids, names, given, FeatureIndex::growing(table), 1);
      },
      "As extract_hashed; new names are added to the table.");
}
