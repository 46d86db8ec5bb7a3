// What a fused solver needs to know of a finite-sum problem with linear scores.
//
//     f_i(w) = max_y { ell_i(y) + <w, a_iy> },   a_iy = Phi(x_i, y) - Phi(x_i, y_i),   smoothed as asked for.
//
// An oracle answers in *parts*: a flat block of doubles per example (marginals of its nodes and edges). Gradients are
// A_i^T (marginals - truth), and solvers only add and subtract blocks of parts before they scatter them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "chain/chain_ops.hpp"

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
  bool exact = true;       // false where the top-K strategy is not the l2 smoothing
};

/// The parts of one or more examples that are not zero, in order. `unit` names a token, candidate or row of weights in
/// the problem's own numbering; its values (as many as a row of weights has) stand in `values`.
struct PartList {
  std::vector<std::int64_t> unit;
  std::vector<double> values;
};

/// Scratch memory of one thread.
struct Workspace {
  virtual ~Workspace() = default;
};

class Problem {
 public:
  virtual ~Problem() = default;

  virtual std::int64_t size() const = 0;
  virtual std::int64_t dim() const = 0;
  /// First double of example i's block of parts; part_offset(size()) is the total.
  virtual std::int64_t part_offset(std::int64_t i) const = 0;
  virtual std::unique_ptr<Workspace> workspace() const = 0;

  /// Prepares what depends on the weights alone; call it whenever they changed.
  virtual void load_weights(const WeightView& w, Workspace& work) const = 0;
  /// Needs labels. Writes the marginals of the oracle's answer when `parts` is not null.
  virtual Answer oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& work,
                        double* parts) const = 0;
  /// Asks the memory for what an oracle call on example i will read. Stochastic steps visit examples in random order.
  virtual void prefetch(std::int64_t i, const WeightView& w) const = 0;
  virtual void subtract_truth(std::int64_t i, double* parts) const = 0;
  /// Adds J_i^T parts to the target; rows outside the target's range are left alone.
  virtual void scatter(std::int64_t i, const double* parts, const ScatterTarget& target) const = 0;
  /// The same in two halves, for many examples: collect the parts that are not zero, then add them to the target.
  virtual void collect(std::int64_t i, const double* parts, PartList& list) const = 0;
  virtual void scatter_list(const PartList& list, const ScatterTarget& target) const = 0;
  /// Number of rows that a target's range may split.
  virtual std::int64_t rows() const = 0;
};

}  // namespace casimir
