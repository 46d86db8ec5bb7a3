// What the makers of Problems share.
#pragma once

#include "bind.hpp"
#include "solve/problem.hpp"

/// The array that an optional argument holds; never converted.
template <class Array>
Array array_of(const nb::object& object, const char* name) {
  Array array;
  if (!nb::try_cast(object, array, false))
    throw nb::type_error((std::string(name) + " is no contiguous array of the right type and dimension.").c_str());
  return array;
}

/// Throws unless offsets[count] divides `total` items among examples.
inline void check_offsets(const std::int64_t* offsets, std::size_t count, std::int64_t total, bool allow_empty,
                          const char* name) {
  if (count < 1 || offsets[0] != 0 || offsets[count - 1] != total)
    throw std::invalid_argument(std::string(name) + " must start at 0 and end at the number of items it divides.");
  for (std::size_t i = 0; i + 1 < count; ++i)
    if (offsets[i + 1] < offsets[i] || (!allow_empty && offsets[i + 1] == offsets[i]))
      throw std::invalid_argument(std::string(name) + " must be increasing: an example has no items.");
}
