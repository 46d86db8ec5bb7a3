// Block-coordinate dual ascent over cached outputs, for a problem F(w) + (kappa/2) |w - z|^2 with sigma = lam + kappa.
//
// Example i keeps the outputs it has seen with weights alpha_i in the simplex. With g = mean_i A_i^T alpha_i the primal
// point is w = (kappa z - g) / sigma; moving weight by (a - b) changes it by -(1 / (sigma n)) A_i^T (a - b).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace casimir {

enum class StepRule {
  kFrankWolfe,  // towards the oracle's output, exact line search (block-coordinate Frank-Wolfe)
  kPairwise,    // from the worst active output to the best cached one
};

/// sum_t a_t w_t = mass w - q and the same sum of the dual's linear part, a_t = t.
struct DualAverage {
  double* q;  // null: no averaging
  double mass;
  double next_weight;
  double ell_sum;
};

struct PassResult {
  double gap = 0.0;  // mean over all examples of the block gaps seen last
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
PairwiseMove pairwise_move(const std::vector<double>& scores, const std::vector<double>& weight);

class DualBlocks {
 public:
  virtual ~DualBlocks() = default;

  /// Visits the examples of `order`: an oracle call each, then at most `steps` steps of the rule. w is updated in
  /// place.
  virtual PassResult exact_pass(const std::int64_t* order, std::int64_t count, double sigma, StepRule rule, int steps,
                                double* w, DualAverage* average) = 0;
  /// Moves weight between cached outputs only; examples whose last gap is below `skip_below` times the mean are left
  /// out.
  virtual PassResult cached_pass(const std::int64_t* order, std::int64_t count, double sigma, int steps,
                                 double skip_below, double* w) = 0;
  /// mean_i <alpha_i, ell_i>
  virtual double ell() const = 0;
  virtual std::int64_t cached_outputs() const = 0;
  virtual std::int64_t active_outputs() const = 0;
};

}  // namespace casimir
