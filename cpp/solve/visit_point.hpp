// What a dual step of one example does to the weights.
#pragma once

#include <cstdint>

#include "solve/dual.hpp"
#include "solve/problem.hpp"

namespace casimir {

/// The point that a visit of one example moves: w -= scale A_i^T direction, or g += share A_i^T direction and then w.
struct VisitPoint {
  const DualIterate& iterate;
  double share, scale;  // p_i, and p_i / sigma
  std::int64_t width;   // weights of a row

  double* w() const { return iterate.w; }
  /// Whether w follows a step by -scale A_i^T direction; if not, it follows once `refresh` is called on the rows
  /// touched.
  bool is_linear() const { return !iterate.g; }

  /// Where a direction is added.
  ScatterTarget target() const {
    double* x = is_linear() ? iterate.w : iterate.g;
    const double a = is_linear() ? -scale : share;
    return iterate.average ? ScatterTarget{x, a, iterate.average->q, a * iterate.average->mass} : ScatterTarget{x, a};
  }

  /// w from g on rows [begin, end).
  void refresh(std::int64_t begin, std::int64_t end) const {
    if (is_linear()) return;
    for (std::int64_t j = begin * width; j < end * width; ++j) iterate.w[j] = iterate.penalty.primal(j, iterate.g[j]);
  }
};

inline VisitPoint visit_point(const Problem& problem, std::int64_t i, const DualIterate& iterate) {
  const double share = problem.share(i);
  return {iterate, share, share / iterate.sigma, problem.n_params() / problem.rows()};
}

}  // namespace casimir
