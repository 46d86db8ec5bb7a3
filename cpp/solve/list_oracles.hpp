// Oracles of an example whose outputs are a list with one score each: candidates, or the classes of a classifier.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/lanes.hpp"
#include "solve/smoothing.hpp"

namespace casimir {

/// Index of the largest of `count` >= 1 scores, the lowest of equals.
inline std::int64_t best_of_list(const double* scores, std::int64_t count) {
  return std::max_element(scores, scores + count) - scores;
}

/// mu logsumexp(scores / mu), and the softmax into u; padded: a multiple of W, scores beyond the list are -inf. `u` may
/// be the scores themselves.
template <int W>
double softmax(const double* scores, std::int64_t padded, double mu, double* u) {
  using L = Lanes<W>;
  typename L::V high = L::load(scores);
  for (std::int64_t j = W; j < padded; j += W) high = L::max(high, L::load(scores + j));
  const double top = L::highest(high);
  typename L::V sums{};
  for (std::int64_t j = 0; j < padded; j += W) {
    const typename L::V e = L::exp((L::load(scores + j) - top) / mu);
    sums += e;
    L::store(u + j, e);
  }
  const double sum = L::sum(sums);
  for (std::int64_t j = 0; j < padded; j += W) L::store(u + j, L::load(u + j) / sum);
  return top + mu * std::log(sum);
}

/// Scratch of a list.
struct ListWork {
  std::vector<double> scores, weights, best, marginals;
  std::vector<std::int32_t> heap;
};

/// The oracles that `smoothed_max` asks for, of a list whose m scores, costs included, are in work.scores.
///     Of::cost(j)                        the cost of output j
///     Of::expect(mu, marginals)          mu logsumexp(score / mu)
///     Of::expected_cost(marginals)
template <class Of>
struct ListOracles {
  const Of& of;
  std::int64_t m;
  ListWork& work;
  std::int64_t width;  // of the marginals, m or larger
  std::int64_t winner = best_of_list(work.scores.data(), m);
  double top = work.scores[static_cast<std::size_t>(winner)];
  const double* seen = nullptr;  // the marginals of the last expect

  double max() const { return top; }
  void add_best(double* marginals) const { marginals[winner] = 1.0; }
  double best_cost() const { return of.cost(winner); }

  double expect(double mu, double* marginals) {
    if (!marginals) {
      work.marginals.resize(static_cast<std::size_t>(width));
      marginals = work.marginals.data();
    }
    seen = marginals;
    return of.expect(mu, marginals);
  }
  double expected_cost() const { return of.expected_cost(seen); }

  /// A score that lies more than mu below the top has no weight, and pulling ends once sum_{i<=K} (z_i - z_{K+1}) >= mu
  /// tells that the rest has none (prop:smoothing:proj-simplex-2).
  BestList best(std::int64_t k, double mu) {
    const double* z = work.scores.data();
    work.heap.clear();
    for (std::int64_t j = 0; j < m; ++j)
      if (!(top - z[j] > mu)) work.heap.push_back(static_cast<std::int32_t>(j));
    const auto after = [z](std::int32_t a, std::int32_t b) { return z[a] != z[b] ? z[a] < z[b] : a > b; };
    std::make_heap(work.heap.begin(), work.heap.end(), after);
    // The pulled outputs end up at the back of the heap's array, the best one last.
    work.best.clear();
    auto end = work.heap.end();
    bool settled = true;
    double sum = 0.0;  // of z_j - top
    while (end != work.heap.begin()) {
      std::pop_heap(work.heap.begin(), end--, after);
      const double shifted = z[*end] - top;
      const auto pulled = static_cast<std::int64_t>(work.best.size());
      if (sum - static_cast<double>(pulled) * shifted >= mu) break;
      settled = pulled < k;
      sum += shifted;
      work.best.push_back(z[*end]);
      if (!settled) break;
    }
    return {work.best.data(), static_cast<std::int64_t>(work.best.size()), settled};
  }
  std::int32_t pulled(std::int64_t j) const { return work.heap[work.heap.size() - 1 - static_cast<std::size_t>(j)]; }
  void add(std::int64_t j, double weight, double* marginals) const { marginals[pulled(j)] = weight; }
  double cost(std::int64_t j) const { return of.cost(pulled(j)); }
};

}  // namespace casimir
