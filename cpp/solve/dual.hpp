// Block-coordinate dual ascent over cached outputs, for a problem sum_i p_i f_i(w) + R(w).
//
// Example i, of share p_i, keeps the outputs it has seen with weights alpha_i in the simplex. With
// g = sum_i p_i A_i^T alpha_i the primal point is w = argmin_w R(w) + <g, w>. Where R is quadratic, of curvature sigma,
// moving weight by (a - b) changes w by -(p_i / sigma) A_i^T (a - b); else g is kept as well, and sigma bounds the
// curvature from below, so that a step of the quadratic bound still climbs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "solve/penalty.hpp"

namespace casimir {

class Problem;

enum class StepRule {
  kFrankWolfe,  // towards the oracle's output, exact line search (block-coordinate Frank-Wolfe)
  kPairwise,    // from the worst active output to the best cached one
};

/// sum_t a_t x_t = mass x - q and the same sum of the dual's linear part, a_t = t. x is w where R is quadratic, else g.
struct DualAverage {
  double* q;
  double mass;
  double next_weight;
  double ell_sum;
  std::int64_t n_params = 0;  // of q
};

struct PassResult {
  double gap = 0.0;  // weighted mean over all examples of the block gaps seen last
  std::int64_t oracle_calls = 0;
  std::int64_t visits = 0;
};

/// A pairwise step: from the worst active output to the best cached one, whose scores differ by `gain`.
struct PairwiseMove {
  std::size_t best, worst;
  double gain;  // 0: nothing left to gain
};

/// An exact line search makes two scores equal but for rounding, so scores that close count as equal, and the lowest
/// index is taken.
PairwiseMove pairwise_move(std::span<const double> scores, std::span<const double> weight);

/// What a pass moves.
struct DualIterate {
  Penalty penalty;
  double sigma;  // the curvature of R, or a lower bound of it
  double* w;
  double* g = nullptr;             // [n_params]; not needed where R is quadratic
  DualAverage* average = nullptr;  // or null
};

/// Dual blocks as arrays, from which blocks of the same problem go on as if nothing had been in between.
struct DualState {
  double ell = 0.0;
  std::vector<double> gaps;             // [n] of the last visits
  std::vector<std::int64_t> counts;     // [n] cached outputs, the truth among them
  std::vector<double> weights;          // of all cached outputs, one example after another
  std::vector<std::int32_t> outputs;    // their labels, those of the truths left out
  std::vector<std::int64_t> tabulated;  // [n] outputs whose inner products are kept, or empty
  std::vector<double> products;         // which depend on when they were computed, in their last bits
};

class DualBlocks {
 public:
  virtual ~DualBlocks() = default;

  /// From now on the oracles of so many visits with pairwise steps are asked together, at one w and on threads; the
  /// steps follow one by one, each at the w of then. What comes out depends on at_once, and not on threads.
  virtual void ask_together(std::int64_t at_once, int threads);
  /// Visits the examples of `order`: an oracle call each, then at most `steps` steps of the rule. Examples whose last
  /// gap is below `skip_below` times the mean are left out.
  virtual PassResult exact_pass(std::span<const std::int64_t> order, StepRule rule, int steps, double skip_below,
                                const DualIterate& iterate) = 0;
  /// The same between cached outputs only, without oracle calls.
  virtual PassResult cached_pass(std::span<const std::int64_t> order, int steps, double skip_below,
                                 const DualIterate& iterate) = 0;
  /// The same with outputs that an oracle gave elsewhere, maybe at other weights: the labels of each example of
  /// `order`, one after another. With steps = 0 nothing moves, and the gap is that of the iterate.
  virtual PassResult answered_pass(std::span<const std::int64_t> order, std::span<const std::int32_t> labels, int steps,
                                   const DualIterate& iterate) = 0;
  virtual const Problem& problem() const = 0;
  /// sum_i p_i <alpha_i, ell_i>
  virtual double ell() const = 0;
  virtual std::int64_t cached_outputs() const = 0;
  virtual std::int64_t active_outputs() const = 0;
  virtual DualState state() const = 0;
  /// Of new blocks: goes on from a state of the same problem; what does not fit is refused.
  virtual void restore(const DualState& state) = 0;
};

}  // namespace casimir
