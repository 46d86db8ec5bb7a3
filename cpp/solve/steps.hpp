// The loop that all stochastic solvers share: one oracle call per step, a reference to compare its answer with, and an
// iterate that takes the step.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "solve/affine_iterate.hpp"
#include "solve/penalty.hpp"
#include "solve/problem.hpp"
#include "solve/prox_iterate.hpp"

namespace casimir {

using Vector = std::span<const double>;
using MutableVector = std::span<double>;

/// Sums over the oracle calls of an epoch, each times its example's scale: losses f_i(w), expected costs <u_i, ell_i>,
/// and losses without smoothing (NaN after kEntropy).
struct SeenSums {
  double loss = 0.0, cost = 0.0, max_loss = 0.0;
};

/// The marginals of one example at a time.
class MarginalBuffer {
 public:
  explicit MarginalBuffer(const Problem& problem) : problem_(problem) {}
  double* of(std::int64_t i) {
    const auto size = static_cast<std::size_t>(problem_.marginal_count(i));
    if (values_.size() < size) values_.resize(size);
    return values_.data();
  }

 private:
  const Problem& problem_;
  std::vector<double> values_;
};

inline void check_size(std::size_t size, std::int64_t expected, const char* name) {
  if (static_cast<std::int64_t>(size) != expected)
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(size) + " entries instead of " +
                                std::to_string(expected) + ".");
}

inline void check_order(const Problem& problem, Order order) {
  for (const std::int64_t i : order)
    if (i < 0 || i >= problem.n_examples()) throw std::invalid_argument("order names an example that does not exist.");
}

/// Whether order, penalty and weights fit the problem.
inline void check_epoch(const Problem& problem, Order order, const Penalty& penalty, MutableVector w) {
  check_order(problem, order);
  check_size(w.size(), problem.n_params(), "w");
  if (penalty.n_params != 0 && penalty.n_params != problem.n_params())
    throw std::invalid_argument("the penalty is for another number of weights.");
}

/// For step t and i = order[t]: u = oracle's marginals at w; x = scale_i (u - reference(i, u)), which reference(i, u)
/// makes of u in place; the iterate takes the step (i, x, gamma(t), weight(t)).
template <class Iterate, class Reference, class Gamma, class Weight>
SeenSums run_steps(const Problem& problem, Order order, const Smoothing& smoothing, Iterate& iterate,
                   Reference&& subtract_reference, Gamma&& gamma, Weight&& weight) {
  const auto work = problem.workspace();
  MarginalBuffer buffer(problem);
  SeenSums seen;
  problem.announce(order);
  for (std::size_t t = 0; t < order.size(); ++t) {
    const std::int64_t i = order[t];
    const WeightView view = iterate.view(i);
    prefetch_ahead(problem, order, t, view);
    problem.load_weights(view, *work);
    double* x = buffer.of(i);
    const Answer answer = problem.oracle(i, view, smoothing, *work, x);
    const double scale = problem.scale(i);
    seen.loss += scale * answer.value;
    seen.cost += scale * answer.cost;
    seen.max_loss += scale * answer.max_value;
    subtract_reference(i, x);
    if (scale != 1.0) {
      const std::int64_t count = problem.marginal_count(i);
      for (std::int64_t j = 0; j < count; ++j) x[j] *= scale;
    }
    iterate.step(i, x, gamma(t), weight(t));
  }
  iterate.finish();
  return seen;
}

/// Calls body(iterate) with the kind of iterate that the penalty needs. h: what is added to every gradient, or empty.
template <class Body>
void with_iterate(const Problem& problem, const Penalty& penalty, Vector h, MutableVector w, IterateSum& sum,
                  Body&& body) {
  if (!penalty.is_quadratic()) {
    ProxIterate iterate(problem, penalty, h.empty() ? nullptr : h.data(), w.data(), sum);
    return body(iterate);
  }
  if (!penalty.center) {
    AffineIterate iterate(problem, penalty.sigma(), h.empty() ? nullptr : h.data(), w.data(), sum);
    return body(iterate);
  }
  std::vector<double> pulled(w.size());
  for (std::size_t j = 0; j < w.size(); ++j)
    pulled[j] = (h.empty() ? 0.0 : h[j]) - penalty.pull_of(static_cast<std::int64_t>(j));
  AffineIterate iterate(problem, penalty.sigma(), pulled.data(), w.data(), sum);
  body(iterate);
}

}  // namespace casimir
