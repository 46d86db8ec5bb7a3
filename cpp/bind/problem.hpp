// What the makers of Problems share.
#pragma once

#include "bind.hpp"
#include "offsets.hpp"
#include "solve/problem.hpp"

/// The array that an optional argument holds; never converted.
template <class Array>
Array array_of(const nb::object& object, const char* name) {
  Array array;
  if (!nb::try_cast(object, array, false))
    throw nb::type_error((std::string(name) + " is no contiguous array of the right type and dimension.").c_str());
  return array;
}
