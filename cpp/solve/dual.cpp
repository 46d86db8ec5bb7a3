#include "solve/dual.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace casimir {
namespace {

constexpr double kTie = 1e-11;  // relative to the largest score

}  // namespace

void DualBlocks::ask_together(std::int64_t at_once, int /*threads*/) {
  if (at_once != 1) throw std::invalid_argument("only the oracles of part features can be asked together.");
}

PairwiseMove pairwise_move(std::span<const double> scores, std::span<const double> weight) {
  double highest = scores[0], lowest_active = INFINITY, largest = 0.0;
  for (std::size_t k = 0; k < scores.size(); ++k) {  // selects instead of branches: what is active cannot be foreseen
    const double score = scores[k], size = std::abs(score), active = weight[k] > 0.0 ? score : INFINITY;
    highest = score > highest ? score : highest;
    largest = size > largest ? size : largest;
    lowest_active = active < lowest_active ? active : lowest_active;
  }
  const double tie = kTie * largest;
  std::size_t best = 0, worst = 0;
  while (scores[best] < highest - tie) ++best;
  while (!(weight[worst] > 0.0) || scores[worst] > lowest_active + tie) {
    if (++worst == scores.size()) return {best, best, 0.0};  // no weight is active: scores are not finite
  }
  const double gain = scores[best] - scores[worst];
  return {best, worst, gain > tie ? gain : 0.0};
}

}  // namespace casimir
