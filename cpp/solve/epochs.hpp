// Fused passes over a Problem: one call runs a whole epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "solve/problem.hpp"

namespace casimir {

/// One oracle call per example at fixed weights. `parts` (may be null) keeps every example's marginals;
/// `gradient` (may be null) is overwritten with sum_i A_i^T u_i. The result does not depend on `threads`.
void full_pass(const Problem& problem, const double* w, const Smoothing& smoothing, int threads, Answer* answers,
               double* parts, double* gradient);

/// The state of averaged stochastic steps: w = s v, and sum_t a_t w_t = mass v - q.
struct AveragedIterate {
  double* v;
  double s;
  double* q;  // null: no averaging
  double mass;
};

/// w <- (1 - gamma_t lam) w - gamma_t A_i^T (u_i - truth), t = 1..count. averaging: a_t, or null. Ends with s = 1.
/// Returns the sums of the losses and of the oracles' expected costs <u_i, ell_i>.
struct SeenSums {
  double loss = 0.0, cost = 0.0;
};
SeenSums sgd_epoch(const Problem& problem, const std::int64_t* order, std::int64_t count, const double* gamma,
                   const double* averaging, double lam, const Smoothing& smoothing, AveragedIterate& iterate);

/// w <- w - gamma (g_i(w) - g_i(snapshot) + full + sigma w - kappa z), where c = (kappa z - full) / sigma, or c = -full
/// when sigma = 0. `snapshot` holds the marginals of every example at the snapshot. w is updated in place and `average`
/// becomes the mean of the iterates. Returns the sum of the smoothed losses seen.
double svrg_epoch(const Problem& problem, const std::int64_t* order, std::int64_t count, double gamma, double sigma,
                  const double* c, const double* snapshot, const Smoothing& smoothing, double* w, double* average);

}  // namespace casimir
