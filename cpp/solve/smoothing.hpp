// The smoothed max over the outputs of one example, from its max, k-best and exp oracles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/simplex.hpp"

namespace casimir {

enum class SmoothingKind { kHard, kL2, kEntropy };

struct Smoothing {
  SmoothingKind kind = SmoothingKind::kHard;
  std::int64_t k = 1;  // kL2: how many outputs may share the weight (the K of the top-K strategy, or a cap)
  double mu = 0.0;
};

struct Answer {
  double value = 0.0;      // smoothed loss of the example
  double max_value = 0.0;  // the loss without smoothing (NaN after kEntropy, whose oracle does not see it)
  double cost = 0.0;       // <u, ell>: the expected cost under the oracle's weights
  double upper = 0.0;      // an upper bound of the smoothed loss, equal to `value` where it is exact
  bool exact = true;       // false where the top-K strategy is not the l2 smoothing
};

/// The answer as a loss: less the score of the truth.
inline Answer less(Answer answer, double truth_score) {
  answer.value -= truth_score;
  answer.max_value -= truth_score;
  answer.upper -= truth_score;
  return answer;
}

/// The best outputs of an example, sorted. `settled` tells whether outputs that are not listed would get no weight.
struct BestList {
  const double* values;
  std::int64_t count;
  bool settled;
};

/// Value and marginals of the smoothed max of one example, whose oracles are
///     double max()                       the largest score; add_best and best_cost then speak of its output
///     void add_best(double* marginals);  double best_cost()
///     double expect(mu, marginals)       mu logsumexp(score / mu); marginals may be null
///     double expected_cost()             under the last expect
///     BestList best(k, mu)               at most k + 1 outputs, fewer once the simplex has no use for more
///     void add(j, weight, marginals);  double cost(j)    of entry j of that list
/// Marginals start at 0. The score of the truth is left to the caller.
template <class Oracles>
Answer smoothed_max(Oracles&& oracles, const Smoothing& smoothing, std::vector<double>& weights, double* marginals) {
  Answer answer;
  if (smoothing.kind == SmoothingKind::kHard) {
    answer.value = answer.max_value = answer.upper = oracles.max();
    if (marginals) oracles.add_best(marginals);
    answer.cost = oracles.best_cost();
    return answer;
  }
  if (smoothing.kind == SmoothingKind::kEntropy) {
    answer.value = answer.upper = oracles.expect(smoothing.mu, marginals);
    answer.max_value = std::numeric_limits<double>::quiet_NaN();
    answer.cost = oracles.expected_cost();
    return answer;
  }
  // l2: project the best scores over mu onto the simplex. One output more than k tells whether k is enough.
  const BestList list = oracles.best(smoothing.k, smoothing.mu);
  answer.exact = list.settled;
  const auto use = [&](std::int64_t j, double weight) {
    if (marginals) oracles.add(j, weight, marginals);
    answer.cost += weight * oracles.cost(j);
  };
  answer.value = l2_smoothed(list.values, std::min(list.count, smoothing.k), smoothing.mu, weights, use);
  answer.max_value = list.values[0];
  answer.upper = list.settled ? answer.value : l2_upper_bound(list.values, list.count, smoothing.mu);
  return answer;
}

}  // namespace casimir
