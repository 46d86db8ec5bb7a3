// Walks Python token features and hands names and weights to the packer.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <cmath>
#include <span>
#include <string_view>

#include "bind.hpp"
#include "features/feature_table.hpp"
#include "features/known_features.hpp"
#include "features/packer.hpp"
#include "offsets.hpp"
#include "packed.hpp"

namespace {

using casimir::FeatureTable;

/// Calls `visit(item)` for each item; lists and tuples without an iterator object.
template <class Visit>
void for_each(nb::handle iterable, Visit visit) {
  if (PyList_CheckExact(iterable.ptr())) {
    // The size is read again each time: code called on the way may change the list.
    for (Py_ssize_t i = 0; i < NB_LIST_GET_SIZE(iterable.ptr()); ++i)
      visit(nb::borrow(NB_LIST_GET_ITEM(iterable.ptr(), i)));
  } else if (PyTuple_CheckExact(iterable.ptr())) {
    for (Py_ssize_t i = 0; i < NB_TUPLE_GET_SIZE(iterable.ptr()); ++i)
      visit(nb::borrow(NB_TUPLE_GET_ITEM(iterable.ptr(), i)));
  } else {
    const nb::object iterator = nb::steal(PyObject_GetIter(iterable.ptr()));
    if (!iterator.is_valid()) nb::raise_python_error();
    while (nb::object item = nb::steal(PyIter_Next(iterator.ptr()))) visit(item);
    if (PyErr_Occurred()) nb::raise_python_error();
  }
}

/// Whether the type of `h` fills a slot such as Py_tp_iter. The stable ABI keeps the inside of types to itself.
bool has_slot(nb::handle h, int slot) { return PyType_GetSlot(Py_TYPE(h.ptr()), slot) != nullptr; }
bool is_iterable(nb::handle h) { return has_slot(h, Py_tp_iter) || PySequence_Check(h.ptr()); }
/// Has __float__ or __index__.
bool is_number(nb::handle h) { return has_slot(h, Py_nb_float) || has_slot(h, Py_nb_index); }

bool is_text(nb::handle h) { return PyUnicode_Check(h.ptr()) || PyBytes_Check(h.ptr()); }
bool is_set(nb::handle h) { return PyAnySet_Check(h.ptr()); }
/// The type's name, with its module unless it is one of Python's own: numpy.ndarray, str.
std::string type_of(nb::handle h) {
  const auto name = nb::cast<std::string>(h.type().attr("__name__"));
  const auto home = nb::cast<std::string>(h.type().attr("__module__"));
  return home == "builtins" ? name : home + "." + name;
}

/// A dict of any mapping; an invalid object when `h` is no mapping.
nb::object as_dict(nb::handle h) {
  if (PyDict_Check(h.ptr())) return nb::borrow(h);
  if (!nb::hasattr(h, "keys") || !PyMapping_Check(h.ptr())) return {};
  nb::object copy = nb::steal(PyDict_New());
  if (!copy.is_valid() || PyDict_Update(copy.ptr(), h.ptr()) != 0) nb::raise_python_error();
  return copy;
}

/// repr(h), cut after 60 bytes.
std::string shown(nb::handle h) {
  nb::object repr = nb::repr(h);
  if (PyUnicode_AsUTF8AndSize(repr.ptr(), nullptr) == nullptr) {  // lone surrogates
    PyErr_Clear();
    repr = nb::steal(PyObject_ASCII(h.ptr()));
    if (!repr.is_valid()) nb::raise_python_error();
  }
  std::string text = PyUnicode_AsUTF8AndSize(repr.ptr(), nullptr);
  if (text.size() <= 60) return text;
  std::size_t cut = 57;
  while (cut > 0 && (text[cut] & 0xc0) == 0x80) --cut;  // not inside a character
  return text.substr(0, cut) + "...";
}

/// Stops a dict that holds itself before the stack ends.
class RecursionGuard {
 public:
  RecursionGuard() {
    if (Py_EnterRecursiveCall(" while packing nested features") != 0) nb::raise_python_error();
  }
  ~RecursionGuard() { Py_LeaveRecursiveCall(); }
  RecursionGuard(const RecursionGuard&) = delete;
  RecursionGuard& operator=(const RecursionGuard&) = delete;
};

class Walker {
 public:
  Walker(casimir::FeatureIndex index, std::string_view separator, bool keeps_zeros)
      : packer_(index, keeps_zeros), separator_(separator) {}

  void sequences(nb::handle all) {
    for_each(all, [this](nb::handle one) {
      sequence(one);
      if ((++sequence_ & 0x3ff) == 0 && PyErr_CheckSignals() != 0) nb::raise_python_error();
    });
  }

  casimir::PackedFeatures finish() && { return std::move(packer_).finish(); }

 private:
  void sequence(nb::handle tokens) {
    if (PyUnicode_Check(tokens.ptr()) || PyBytes_Check(tokens.ptr()) || PyDict_Check(tokens.ptr()) ||
        !is_iterable(tokens))
      fail_type("sequence " + std::to_string(sequence_) + " is a " + type_of(tokens) + " (" + shown(tokens) +
                "); a sequence is a list of tokens, and a token is a dict or a list of strings. For a single sequence "
                "write [sequence].");
    token_ = 0;
    for_each(tokens, [this](nb::handle one) {
      token(one);
      packer_.end_token();
      ++token_;
    });
    if (packer_.end_sequence() == 0)
      fail_value("sequence " + std::to_string(sequence_) + " is empty; every sequence needs at least one token. " +
                 "Leave empty sequences out.");
  }

  void token(nb::handle features) {
    if (const nb::object dict = as_dict(features); dict.is_valid()) {
      path_.clear();
      return named_values(dict, "");
    }
    if (PyUnicode_Check(features.ptr()))
      fail_type(here() + " is the string " + shown(features) +
                "; a token is a dict such as {'word': 'Paris'} or a list of strings such as ['word=Paris'].");
    if (PyBytes_Check(features.ptr()) || !is_iterable(features))
      fail_type(here() + " is a " + type_of(features) + "; a token is a dict {name: value} or a list of strings.");
    strings(features, [this](std::string_view name) { packer_.add(name, 1.0); });
  }

  /// The items of a dict, each name after what `path_` already holds.
  void named_values(nb::handle dict, std::string_view separator) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    const std::size_t length = path_.size();
    while (PyDict_Next(dict.ptr(), &position, &key, &value)) {
      const nb::object name = nb::borrow(key), content = nb::borrow(value);
      if (!is_text(name))
        fail_type(here() + ": a feature name is a " + type_of(name) + " (" + shown(name) + "); names are strings.");
      extend(separator, text(name));
      feature(content);
      path_.resize(length);
    }
  }

  /// The feature or features that `value` makes under the name in `path_`.
  void feature(nb::handle value) {
    PyObject* raw = value.ptr();
    if (is_text(value)) return joined(text(value));
    if (raw == Py_True) return packer_.add(path_, 1.0);
    if (raw == Py_False) return packer_.add(path_, 0.0);
    if (PyFloat_Check(raw) || PyLong_Check(raw)) return packer_.add(path_, number(value));
    if (nb::hasattr(value, "__array__") && nb::len_hint(value) != 0) return vector(value);
    if (is_number(value)) return packer_.add(path_, number(value));
    if (PyList_Check(raw) || PyTuple_Check(raw) || is_set(value))
      return strings(value, [this](std::string_view item) { joined(item); });
    if (const nb::object dict = as_dict(value); dict.is_valid()) {
      const RecursionGuard guard;
      return named_values(dict, ":");
    }
    fail_content(value);
  }

  /// name:0, name:1, ... with the numbers of a vector as their weights.
  void vector(nb::handle value) {
    const nb::object array = nb::module_::import_("numpy").attr("asarray")(value);
    if (nb::cast<int>(array.attr("ndim")) != 1) fail_content(value);
    const nb::object numbers = array.attr("tolist")();
    std::size_t place = 0;
    for_each(numbers, [&](nb::handle one) {
      if (!PyFloat_Check(one.ptr()) && !PyLong_Check(one.ptr())) fail_content(value);
      const std::size_t length = path_.size();
      extend(":", std::to_string(place++));
      packer_.add(path_, number(one));
      path_.resize(length);
    });
  }

  /// name=item with weight 1.
  void joined(std::string_view item) {
    const std::size_t length = path_.size();
    extend(separator_, item);
    packer_.add(path_, 1.0);
    path_.resize(length);
  }

  void extend(std::string_view separator, std::string_view part) {
    path_ += separator;
    path_ += part;
  }

  double number(nb::handle value) {
    const double weight = PyFloat_AsDouble(value.ptr());
    if (weight == -1.0 && PyErr_Occurred()) {
      const bool overflow = PyErr_ExceptionMatches(PyExc_OverflowError);
      if (!overflow && !PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
        nb::raise_python_error();
      PyErr_Clear();
      if (overflow) fail_value(here() + ", feature '" + path_ + "': the number is too large for a float.");
      fail_content(value);
    }
    if (!std::isfinite(weight))
      fail_value(here() + ", feature '" + path_ + "': the value is " + shown(value) +
                 "; weights must be finite. Leave the feature out where there is no value.");
    return weight;
  }

  [[noreturn]] void fail_content(nb::handle value) const {
    fail_type(here() + ", feature '" + path_ + "': the value is a " + type_of(value) + " (" + shown(value) +
              "); a value is a string, a bool, a number, a list of strings, a vector of numbers or a dict of these. "
              "Leave the feature out where there is no value.");
  }

  /// Sets are read in sorted order: their own order changes from run to run.
  template <class Visit>
  void strings(nb::handle items, Visit visit) {
    nb::object ordered = nb::borrow(items);
    if (is_set(items)) {
      for_each(items, [this](nb::handle item) { check_string(item); });
      ordered = nb::steal(PySequence_List(items.ptr()));
      if (!ordered.is_valid() || PyList_Sort(ordered.ptr()) != 0) nb::raise_python_error();
    }
    for_each(ordered, [&](nb::handle item) {
      check_string(item);
      visit(text(item));
    });
  }

  void check_string(nb::handle item) const {
    if (!is_text(item))
      fail_type(here() + " holds a " + type_of(item) + " (" + shown(item) +
                "); a list of features holds strings. For weights use a dict {name: number}.");
  }

  /// The UTF-8 bytes, which live as long as the string; bytes have to be UTF-8.
  std::string_view text(nb::handle string) const {
    Py_ssize_t size = 0;
    if (PyBytes_Check(string.ptr())) {
      size = PyBytes_Size(string.ptr());
      const char* raw = PyBytes_AsString(string.ptr());
      if (nb::steal(PyUnicode_DecodeUTF8(raw, size, nullptr)).is_valid()) return {raw, static_cast<std::size_t>(size)};
      PyErr_Clear();
      fail_value(here() + ": " + shown(string) + " is not UTF-8. Decode the bytes first.");
    }
    const char* bytes = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
    if (bytes == nullptr) {
      if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) nb::raise_python_error();
      PyErr_Clear();
      fail_value(here() + ": the string " + shown(nb::steal(PyObject_ASCII(string.ptr()))) +
                 " is not valid Unicode (lone surrogates). Decode the input with errors='replace'.");
    }
    return {bytes, static_cast<std::size_t>(size)};
  }

  std::string here() const { return "sequence " + std::to_string(sequence_) + ", token " + std::to_string(token_); }
  [[noreturn]] static void fail_type(const std::string& what) { throw nb::type_error(what.c_str()); }
  [[noreturn]] static void fail_value(const std::string& what) { throw nb::value_error(what.c_str()); }

  casimir::Packer packer_;
  std::string_view separator_;
  std::string path_;
  std::size_t sequence_ = 0, token_ = 0;
};

/// (offsets, indptr, indices, values or None)
nb::tuple pack(nb::handle sequences, casimir::FeatureIndex index, std::string_view separator,
               bool keeps_zeros = false) {
  Walker walker(index, separator, keeps_zeros);
  walker.sequences(sequences);
  return packed_tuple(std::move(walker).finish());
}

nb::object known_tokens(InArray<int64_t, nb::ndim<1>> indptr, InArray<uint32_t, nb::ndim<1>> indices,
                        InArray<uint64_t, nb::ndim<1>> there, InArray<uint32_t, nb::ndim<1>> before) {
  if (indptr.size() < 1) throw std::invalid_argument("indptr needs at least one entry.");
  check_offsets(indptr.data(), indptr.size(), static_cast<int64_t>(indices.size()), true, "indptr");
  if (before.size() != there.size()) throw std::invalid_argument("before needs a number per word of there.");
  casimir::KnownTokens found;
  {
    nb::gil_scoped_release release;
    const casimir::KnownFeatures known{there.data(), before.data(), there.size()};
    found = casimir::known_tokens(known, indptr.data(), indptr.size() - 1, indices.data());
  }
  const size_t tokens = found.indptr.size(), count = found.rows.size();
  return nb::make_tuple(make_frozen_array(std::move(found.indptr), {tokens}),
                        make_frozen_array(std::move(found.rows), {count}));
}

}  // namespace

void bind_pack(nb::module_& m) {
  m.attr("hash_version") = casimir::hash_version;
  m.def(
      "hash_string", [](std::string_view text) { return casimir::hash_bytes(text); }, nb::arg("text"),
      "The 64-bit hash of the UTF-8 bytes of text.");
  m.def(
      "bucket_of", [](std::string_view text, uint32_t n) { return casimir::bucket_of(casimir::hash_bytes(text), n); },
      nb::arg("text"), nb::arg("n_features"), "The bucket of text among n_features.");

  nb::class_<FeatureTable>(m, "FeatureTable", "Feature name <-> number in order of first appearance.")
      .def(nb::init<>())
      .def(
          "__init__",
          [](FeatureTable* self, InArray<uint8_t, nb::ndim<1>> blob, InArray<int64_t, nb::ndim<1>> offsets) {
            new (self) FeatureTable(std::string_view(reinterpret_cast<const char*>(blob.data()), blob.size()),
                                    std::span<const int64_t>(offsets.data(), offsets.size()));
          },
          nb::arg("blob").noconvert(), nb::arg("offsets").noconvert())
      .def("__len__", &FeatureTable::size)
      .def("intern", &FeatureTable::intern, nb::arg("name"))
      .def(
          "find",
          [](const FeatureTable& self, std::string_view name) -> nb::object {
            const uint32_t number = self.find(name);
            return number == FeatureTable::none ? nb::none() : nb::cast(number);
          },
          nb::arg("name"), "The number of name, or None.")
      .def(
          "name",
          [](const FeatureTable& self, size_t i) {
            if (i >= self.size()) throw nb::index_error("no feature has this number");
            return self.name(i);
          },
          nb::arg("number"))
      .def("blob",
           [](const FeatureTable& self) {
             return make_array(std::vector<uint8_t>(self.blob().begin(), self.blob().end()), {self.blob().size()});
           })
      .def("offsets", [](const FeatureTable& self) {
        return make_array(std::vector<int64_t>(self.offsets()), {self.offsets().size()});
      });

  // The Python objects are read all the way, so the GIL stays with these calls.
  m.def(
      "pack_hashed",
      [](nb::handle sequences, uint32_t n_features, std::string_view separator) {
        if (n_features == 0) throw std::invalid_argument("n_features must be at least 1");
        return pack(sequences, casimir::FeatureIndex::hashed(n_features), separator);
      },
      nb::arg("sequences"), nb::arg("n_features"), nb::arg("separator") = "=",
      "(offsets, indptr, indices, values or None); bucket = hash of name.");
  m.def(
      "pack_known",
      [](nb::handle sequences, const FeatureTable& table, std::string_view separator) {
        return pack(sequences, casimir::FeatureIndex::known(table), separator);
      },
      nb::arg("sequences"), nb::arg("table"), nb::arg("separator") = "=",
      "As pack_hashed; names that are not in the table are dropped.");
  m.def(
      "pack_growing",
      [](nb::handle sequences, FeatureTable& table, std::string_view separator, bool keeps_zeros) {
        return pack(sequences, casimir::FeatureIndex::growing(table), separator, keeps_zeros);
      },
      nb::arg("sequences"), nb::arg("table"), nb::arg("separator") = "=", nb::arg("keeps_zeros") = false,
      "As pack_hashed; new names are added to the table.");
  m.def(
      "renumber",
      [](InArray<uint32_t, nb::ndim<1>> indices, InArray<uint32_t, nb::ndim<1>> number) {
        auto* written = const_cast<uint32_t*>(indices.data());  // read-only in Python, so that nobody else writes to it
        nb::gil_scoped_release release;
        for (size_t j = 0; j < indices.size(); ++j) {
          if (written[j] >= number.size()) throw std::invalid_argument("a feature index is out of range.");
          written[j] = number.data()[written[j]];
        }
      },
      nb::arg("indices").noconvert(), nb::arg("number").noconvert(),
      "indices[j] = number[indices[j]] in the memory of packed features that nobody reads any more.");
  m.def("known_tokens", &known_tokens, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
        nb::arg("there").noconvert(), nb::arg("before").noconvert(),
        "(indptr, rows) of the features whose bit is set in `there`; before has the bits set before each word.");
}
