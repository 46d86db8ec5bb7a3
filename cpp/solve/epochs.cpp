#include "solve/epochs.hpp"

#include <algorithm>
#include <cmath>

#include "base/parallel.hpp"

namespace casimir {
namespace {

// Below this scale the representation is renewed: sums of iterates lose as many digits as the scale has lost.
constexpr double kSmallestScale = 1e-3;

/// Makes s = 1 and mass = 0 without changing w = s v and the sum of iterates mass v - q.
void rebase(std::int64_t dim, AveragedIterate& it) {
  for (std::int64_t j = 0; j < dim; ++j) {
    if (it.q) it.q[j] -= it.mass * it.v[j];
    it.v[j] *= it.s;
  }
  it.s = 1.0;
  it.mass = 0.0;
}

struct PartsBuffer {
  explicit PartsBuffer(const Problem& problem) : problem_(problem) {}
  double* of(std::int64_t i) {
    const auto size = static_cast<std::size_t>(problem_.part_offset(i + 1) - problem_.part_offset(i));
    if (values_.size() < size) values_.resize(size);
    return values_.data();
  }
  const Problem& problem_;
  std::vector<double> values_;
};

}  // namespace

void full_pass(const Problem& problem, const double* w, const Smoothing& smoothing, int threads, Answer* answers,
               double* parts, double* gradient) {
  const std::int64_t n = problem.size();
  const WeightView view{w};
  std::vector<PartList> lists(static_cast<std::size_t>(std::max(threads, 1)));  // one per thread, in order of examples
  parallel_chunks(n, threads, [&](std::int64_t begin, std::int64_t end, int worker) {
    const auto work = problem.workspace();
    problem.load_weights(view, *work);
    PartsBuffer buffer(problem);
    for (std::int64_t i = begin; i < end; ++i) {
      double* kept = parts ? parts + problem.part_offset(i) : nullptr;
      double* x = gradient ? buffer.of(i) : kept;
      answers[i] = problem.oracle(i, view, smoothing, *work, x);
      if (!gradient) continue;
      if (kept) std::copy(x, x + problem.part_offset(i + 1) - problem.part_offset(i), kept);
      problem.subtract_truth(i, x);
      problem.collect(i, x, lists[static_cast<std::size_t>(worker)]);
    }
  });
  if (!gradient) return;
  // Each thread owns a range of rows and reads all parts in order, so that every sum has one fixed order.
  const std::int64_t stride = problem.dim() / problem.rows();
  parallel_chunks(problem.rows(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::fill(gradient + begin * stride, gradient + end * stride, 0.0);
    for (const PartList& list : lists) problem.scatter_list(list, {gradient, 1.0, nullptr, 0.0, begin, end});
  });
}

SeenSums sgd_epoch(const Problem& problem, const std::int64_t* order, std::int64_t count, const double* gamma,
                   const double* averaging, double lam, const Smoothing& smoothing, AveragedIterate& it) {
  const auto work = problem.workspace();
  PartsBuffer buffer(problem);
  SeenSums seen;
  for (std::int64_t t = 0; t < count; ++t) {
    const std::int64_t i = order[t];
    const WeightView view{it.v, it.s};
    if (t + 1 < count) problem.prefetch(order[t + 1], view);
    problem.load_weights(view, *work);
    double* x = buffer.of(i);
    const Answer answer = problem.oracle(i, view, smoothing, *work, x);
    seen.loss += answer.value;
    seen.cost += answer.cost;
    problem.subtract_truth(i, x);
    it.s *= 1.0 - gamma[t] * lam;
    if (std::abs(it.s) < kSmallestScale) rebase(problem.dim(), it);
    const double step = -gamma[t] / it.s;
    problem.scatter(i, x, {it.v, step, it.q, it.q ? step * it.mass : 0.0});
    if (it.q) it.mass += averaging[t] * it.s;
  }
  for (std::int64_t j = 0; j < problem.dim(); ++j) it.v[j] *= it.s;
  it.mass /= it.s;
  it.s = 1.0;
  return seen;
}

double svrg_epoch(const Problem& problem, const std::int64_t* order, std::int64_t count, double gamma, double sigma,
                  const double* c, const double* snapshot, const Smoothing& smoothing, double* w, double* average) {
  const std::int64_t dim = problem.dim();
  const bool drifts = sigma == 0.0;  // no fixed point: w = a c + v with a = t gamma
  double a = drifts ? 0.0 : 1.0, a_sum = 0.0;
  std::vector<double> v(static_cast<std::size_t>(dim)), q(static_cast<std::size_t>(dim), 0.0);
  for (std::int64_t j = 0; j < dim; ++j) v[static_cast<std::size_t>(j)] = w[j] - a * c[j];
  AveragedIterate it{v.data(), 1.0, q.data(), 0.0};
  const auto work = problem.workspace();
  PartsBuffer buffer(problem);
  double losses = 0.0;
  for (std::int64_t t = 0; t < count; ++t) {
    const std::int64_t i = order[t];
    const WeightView view{it.v, it.s, c, a};
    if (t + 1 < count) problem.prefetch(order[t + 1], view);
    problem.load_weights(view, *work);
    double* x = buffer.of(i);
    losses += problem.oracle(i, view, smoothing, *work, x).value;
    const double* old = snapshot + problem.part_offset(i);
    const std::int64_t parts = problem.part_offset(i + 1) - problem.part_offset(i);
    for (std::int64_t j = 0; j < parts; ++j) x[j] -= old[j];
    if (drifts)
      a += gamma;
    else
      it.s *= 1.0 - gamma * sigma;
    if (std::abs(it.s) < kSmallestScale) rebase(dim, it);
    const double step = -gamma / it.s;
    problem.scatter(i, x, {it.v, step, it.q, step * it.mass});
    it.mass += it.s;
    a_sum += a;
  }
  const double share = 1.0 / static_cast<double>(count);
  for (std::int64_t j = 0; j < dim; ++j) {
    if (average) average[j] = share * (a_sum * c[j] + it.mass * it.v[j] - it.q[j]);
    w[j] = a * c[j] + it.s * it.v[j];
  }
  return losses;
}

}  // namespace casimir
