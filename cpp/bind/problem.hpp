// A Problem together with the arrays it looks into.
#pragma once

#include "bind.hpp"
#include "solve/problem.hpp"

struct ProblemHandle {
  std::unique_ptr<casimir::Problem> problem;
  std::vector<nb::object> owners;
  bool labelled = false;
};

/// The array that an optional argument holds; never converted.
template <class Array>
Array array_of(const nb::object& object, const char* name) {
  Array array;
  if (!nb::try_cast(object, array, false))
    throw nb::type_error((std::string(name) + " is no contiguous array of the right type and dimension.").c_str());
  return array;
}

/// Losses compare with the true outputs, so their passes need labels.
inline void check_labelled(const ProblemHandle& handle) {
  if (!handle.labelled) throw std::invalid_argument("losses need labels: give y.");
}

/// The problem as a P, for whose weights w has the right size.
template <class P>
const P& problem_as(const ProblemHandle& handle, const InArray<double, nb::ndim<1>>& w, const char* wrong_kind) {
  const auto* problem = dynamic_cast<const P*>(handle.problem.get());
  if (!problem) throw std::invalid_argument(wrong_kind);
  if (static_cast<std::int64_t>(w.size()) != problem->dim()) throw std::invalid_argument("w has the wrong size.");
  return *problem;
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
