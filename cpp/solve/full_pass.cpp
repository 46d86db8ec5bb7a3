#include <algorithm>

#include "base/parallel.hpp"
#include "solve/epochs.hpp"

namespace casimir {

void full_pass(const Problem& problem, Vector w, const Smoothing& smoothing, int threads, Answer* answers,
               MutableVector marginals, MutableVector gradient) {
  const std::int64_t n = problem.n_examples();
  check_size(w.size(), problem.n_params(), "w");
  if (!marginals.empty()) check_size(marginals.size(), problem.marginal_offset(n), "marginals");
  if (!gradient.empty()) check_size(gradient.size(), problem.n_params(), "gradient");
  const WeightView view{w.data()};
  std::vector<char> done(static_cast<std::size_t>(n), 0);
  if (marginals.empty()) problem.pass_together(view, smoothing, threads, answers, gradient, done);
  // one per thread, in order
  std::vector<MarginalList> lists(
      static_cast<std::size_t>(std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(n, 1))));
  parallel_chunks(n, threads, [&](std::int64_t begin, std::int64_t end, int worker) {
    if (std::find(done.begin() + begin, done.begin() + end, 0) == done.begin() + end) return;
    const auto work = problem.workspace();
    problem.load_weights(view, *work);
    MarginalBuffer buffer(problem);
    for (std::int64_t i = begin; i < end; ++i) {
      if (done[static_cast<std::size_t>(i)]) continue;
      double* kept = marginals.empty() ? nullptr : marginals.data() + problem.marginal_offset(i);
      const double scale = problem.scale(i);
      if (scale == 0.0) {
        if (kept) std::fill_n(kept, problem.marginal_count(i), 0.0);
        answers[i] = Answer{};
        continue;
      }
      double* x = gradient.empty() ? kept : buffer.of(i);
      answers[i] = problem.oracle(i, view, smoothing, *work, x);
      if (gradient.empty()) continue;
      if (kept) std::copy_n(x, problem.marginal_count(i), kept);
      problem.subtract_truth(i, x);
      if (scale != 1.0) {
        const std::int64_t count = problem.marginal_count(i);
        for (std::int64_t j = 0; j < count; ++j) x[j] *= scale;
      }
      problem.collect(i, x, lists[static_cast<std::size_t>(worker)]);
    }
  });
  if (gradient.empty()) return;
  // Each thread owns a range of rows and reads all marginals in order, so that every sum has one fixed order.
  const std::int64_t stride = problem.n_params() / problem.rows();
  const bool is_begun = std::find(done.begin(), done.end(), 1) != done.end();
  parallel_chunks(problem.rows(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    if (!is_begun) std::fill(gradient.data() + begin * stride, gradient.data() + end * stride, 0.0);
    for (const MarginalList& list : lists) problem.scatter_list(list, {gradient.data(), 1.0, nullptr, 0.0, begin, end});
  });
}

}  // namespace casimir
