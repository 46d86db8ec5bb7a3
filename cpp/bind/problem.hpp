// A Problem together with the arrays it looks into.
#pragma once

#include "bind.hpp"
#include "offsets.hpp"
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
