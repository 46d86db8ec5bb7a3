#include <algorithm>

#include "solve/epochs.hpp"

namespace casimir {

SeenSums svrg_epoch(const Problem& problem, Order order, double gamma, const Penalty& penalty, Vector full,
                    Vector snapshot, const Smoothing& smoothing, MutableVector w, MutableVector average) {
  check_epoch(problem, order, penalty, w);
  if (order.empty()) throw std::invalid_argument("an SVRG epoch needs at least one step.");
  check_size(full.size(), problem.n_params(), "full");
  check_size(average.size(), problem.n_params(), "average");
  check_size(snapshot.size(), problem.marginal_offset(problem.n_examples()), "snapshot");
  std::fill(average.begin(), average.end(), 0.0);
  IterateSum sum{average.data(), 0.0, 1.0 / static_cast<double>(order.size())};
  SeenSums seen;
  with_iterate(problem, penalty, full, w, sum, [&](auto& iterate) {
    seen = run_steps(
        problem, order, smoothing, iterate,
        [&](std::int64_t i, double* x) {
          const double* old = snapshot.data() + problem.marginal_offset(i);
          const std::int64_t count = problem.marginal_count(i);
          for (std::int64_t j = 0; j < count; ++j) x[j] -= old[j];
        },
        [&](std::size_t) { return gamma; }, [](std::size_t) { return 1.0; });
  });
  return seen;
}

}  // namespace casimir
