// Vectors of the core as function arguments: contiguous one-dimensional arrays, never converted; None is empty.
#pragma once

#include <span>

#include "bind.hpp"

namespace nanobind::detail {

template <class T>
struct type_caster<std::span<T>> {
  using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  NB_TYPE_CASTER(std::span<T>, const_name("ndarray"))

  bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
    if (source.is_none()) {
      value = {};
      return true;
    }
    make_caster<Array> caster;
    if (!caster.from_python(source, flags & static_cast<std::uint8_t>(~static_cast<std::uint8_t>(cast_flags::convert)),
                            cleanup))
      return false;
    value = {caster.value.data(), caster.value.size()};
    return true;
  }
};

}  // namespace nanobind::detail
