#include "solve/epochs.hpp"

namespace casimir {

SeenSums sgd_epoch(const Problem& problem, Order order, Vector gamma, Vector averaging, const Penalty& penalty,
                   const Smoothing& smoothing, MutableVector w, IterateSum& sum) {
  check_epoch(problem, order, penalty, w);
  if (sum.n_params != 0) check_size(static_cast<std::size_t>(sum.n_params), problem.n_params(), "sum");
  check_size(gamma.size(), static_cast<std::int64_t>(order.size()), "gamma");
  if (!averaging.empty()) check_size(averaging.size(), static_cast<std::int64_t>(order.size()), "averaging");
  SeenSums seen;
  with_iterate(problem, penalty, {}, w, sum, [&](auto& iterate) {
    seen = run_steps(
        problem, order, smoothing, iterate, [&](std::int64_t i, double* x) { problem.subtract_truth(i, x); },
        [&](std::size_t t) { return gamma[t]; }, [&](std::size_t t) { return averaging.empty() ? 0.0 : averaging[t]; });
  });
  return seen;
}

}  // namespace casimir
