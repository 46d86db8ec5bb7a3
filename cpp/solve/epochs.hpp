// Fused passes over a Problem: one call runs a whole epoch.
#pragma once

#include "solve/steps.hpp"

namespace casimir {

/// One oracle call per example of scale above 0 at fixed weights. `marginals` (may be empty) keeps those of every
/// example; `gradient` (may be empty) is overwritten with sum_i scale_i A_i^T u_i. The result does not depend on
/// `threads`.
void full_pass(const Problem& problem, Vector w, const Smoothing& smoothing, int threads, Answer* answers,
               MutableVector marginals, MutableVector gradient);

/// w <- w - gamma_t (scale_i A_i^T u_i + grad R(w)), or the proximal step of the penalty R. averaging: a_t of the sum
/// of iterates, or empty.
SeenSums sgd_epoch(const Problem& problem, Order order, Vector gamma, Vector averaging, const Penalty& penalty,
                   const Smoothing& smoothing, MutableVector w, IterateSum& sum);

/// w <- w - gamma (scale_i A_i^T (u_i(w) - u_i(snapshot)) + full + grad R(w)), or the proximal step. `snapshot` holds
/// the marginals of every example, `full` the mean gradient of the losses there. `average` becomes the mean iterate.
SeenSums svrg_epoch(const Problem& problem, Order order, double gamma, const Penalty& penalty, Vector full,
                    Vector snapshot, const Smoothing& smoothing, MutableVector w, MutableVector average);

/// w <- w - gamma (scale_i A_i^T (u_i(w) - table_i) + mean + grad R(w)), or the proximal step; then table_i = u_i(w),
/// and `mean` = (1/active) sum_i scale_i A_i^T table_i follows. averaging: a_t of the sum of iterates, or empty.
SeenSums saga_epoch(const Problem& problem, Order order, double gamma, Vector averaging, const Penalty& penalty,
                    MutableVector table, MutableVector mean, const Smoothing& smoothing, MutableVector w,
                    IterateSum& sum);

}  // namespace casimir
