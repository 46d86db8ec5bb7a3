// What every binding file needs: array types that are never converted silently, and the list of binding functions.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace nb = nanobind;

template <class T, class Shape>
using InArray = nb::ndarray<const T, Shape, nb::c_contig, nb::device::cpu>;
template <class T, class Shape>
using InOutArray = nb::ndarray<T, Shape, nb::c_contig, nb::device::cpu>;

using Shape = std::vector<std::size_t>;

/// A fresh NumPy array of the given shape that owns `values`.
template <class T, class Entry = T>
nb::object make_array(std::vector<T>&& values, const Shape& shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, Entry>(owned->data(), shape.size(), shape.data(), owner));
}

/// The same, for arrays into which the core keeps pointers: nobody can write to them.
template <class T>
nb::object make_frozen_array(std::vector<T>&& values, const Shape& shape) {
  return make_array<T, const T>(std::move(values), shape);
}

/// Memory of a new array. Large ones are asked for in large pages: touching them for the first time costs less.
template <class T>
class Room {
 public:
  Room(std::size_t size, bool zeros) {
    const std::size_t bytes = size * sizeof(T);
#if defined(__linux__)
    constexpr std::size_t kPage = std::size_t{1} << 21;
    if (bytes >= 2 * kPage) {
      const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
      data_.reset(static_cast<T*>(std::aligned_alloc(kPage, whole)));
      if (data_) ::madvise(data_.get(), whole, MADV_HUGEPAGE);  // advice: nothing is lost where it is not taken
    } else
#endif
      data_.reset(static_cast<T*>(std::malloc(bytes > 0 ? bytes : 1)));
    if (!data_) throw std::bad_alloc();
    if (zeros) std::memset(static_cast<void*>(data_.get()), 0, bytes);
  }
  T* data() { return data_.get(); }

  /// A NumPy array of the given shape that owns the memory.
  nb::object array(const Shape& shape) && {
    nb::capsule owner(data_.get(), [](void* p) noexcept { std::free(p); });
    T* values = data_.release();
    return nb::cast(nb::ndarray<nb::numpy, T>(values, shape.size(), shape.data(), owner));
  }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T, Free> data_;
};

/// Most labels that a structure may have: sizes of tables of pairs then fit into 64 bits.
inline constexpr std::size_t kMostLabels = std::size_t{1} << 20;

inline int checked_label_count(std::size_t count) {
  if (count < 1) throw std::invalid_argument("there must be at least one label.");
  if (count > kMostLabels) throw std::invalid_argument("there may be at most 2^20 labels.");
  return static_cast<int>(count);
}

inline int checked_label_count(int count) { return checked_label_count(static_cast<std::size_t>(std::max(count, 0))); }

void bind_pack(nb::module_& m);
void bind_text(nb::module_& m);
void bind_columns(nb::module_& m);
void bind_vectors(nb::module_& m);
void bind_chain(nb::module_& m);
void bind_graph_cut(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_epochs(nb::module_& m);
void bind_dual(nb::module_& m);
void bind_linear_chain(nb::module_& m);
void bind_linear_tree(nb::module_& m);
void bind_linear_candidates(nb::module_& m);
void bind_linear_classes(nb::module_& m);
void bind_linear_labels(nb::module_& m);
void bind_linear_parts(nb::module_& m);
void bind_box_search(nb::module_& m);
void bind_junction(nb::module_& m);
void bind_matching(nb::module_& m);
void bind_shards(nb::module_& m);
