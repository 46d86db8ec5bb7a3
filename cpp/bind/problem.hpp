// A Problem together with the arrays it looks into.
#pragma once

#include "bind.hpp"
#include "casimir/problem.hpp"

struct ProblemHandle {
  std::unique_ptr<casimir::Problem> problem;
  std::vector<nb::object> owners;
};
