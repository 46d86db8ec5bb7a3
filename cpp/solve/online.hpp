// Online learners that move the weights only where the best output is wrong: perceptron, passive-aggressive, AROW.
//
//     x = Phi(x_i, y_i) - Phi(x_i, y),  y the best output at w;    w += alpha V x,    sum += u alpha V x
//
// with u the number of the visit. V is the identity, for AROW a diagonal that shrinks where x is large.
#pragma once

#include <cstdint>
#include <span>

#include "solve/steps.hpp"

namespace casimir {

enum class OnlineKind { kPerceptron, kPassiveAggressive, kArow };

/// The length alpha of a step, given the excess e = score(y) - score(y_i), d wrong labels and q = x^T V x:
///     kPerceptron          1
///     kPassiveAggressive   cost / q,  min(c, cost / q)  or  cost / (q + 1 / (2 c)),  as slack is 0, 1 or 2;
///                          cost = e + (counts_labels ? sqrt(d) : 1)
///     kArow                (e + d) / (gamma + q)
struct OnlineRule {
  OnlineKind kind = OnlineKind::kPerceptron;
  int slack = 1;
  double c = 1.0;
  bool counts_labels = true;
  double gamma = 1.0;
};

/// One visit to every example of `order`, the first of which has the number `first`. Weights that are not `kept` stay
/// as they are; `sum` and `variance` may be empty, the latter only without kArow. Returns the sum of the losses: of d
/// / (length of the output) for kPerceptron, else of the costs.
double online_epoch(const Problem& problem, Order order, const OnlineRule& rule, std::span<const std::uint8_t> kept,
                    double first, MutableVector w, MutableVector sum, MutableVector variance);

}  // namespace casimir
