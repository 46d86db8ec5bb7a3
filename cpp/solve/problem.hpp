// What a solver needs to know of a finite-sum problem with linear scores.
//
//     f_i(w) = max_y { ell_i(y) + <w, a_iy> },   a_iy = Phi(x_i, y) - Phi(x_i, y_i),   smoothed as asked for.
//
// An oracle answers in *marginals*: a flat block of doubles per example, of its nodes and edges. Gradients are
// A_i^T u_i = J_i^T (marginals - truth), and solvers only add and subtract blocks of marginals before they scatter
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include "solve/block_norm.hpp"
#include "solve/dual.hpp"
#include "solve/smoothing.hpp"
#include "weights/weight_view.hpp"

namespace casimir {

/// The marginals of one or more examples that are not zero, in order. `unit` names a token, candidate or row of weights
/// in the problem's own numbering; its values (as many as a row of weights has) stand in `values`.
struct MarginalList {
  std::vector<std::int64_t> unit;
  std::vector<double> values;
};

/// Examples in the order in which stochastic steps visit them.
using Order = std::span<const std::int64_t>;

/// Scratch memory of one thread.
struct Workspace {
  virtual ~Workspace() = default;
};

/// Rows of weights [first, second).
using RowRange = std::pair<std::int64_t, std::int64_t>;

class Problem {
 public:
  virtual ~Problem() = default;

  virtual std::int64_t n_examples() const = 0;
  virtual std::int64_t n_params() const = 0;
  /// First double of example i's block of marginals; marginal_offset(n_examples()) is the total.
  virtual std::int64_t marginal_offset(std::int64_t i) const = 0;
  virtual std::unique_ptr<Workspace> workspace() const = 0;

  /// Prepares what depends on the weights alone; call it whenever they changed.
  virtual void load_weights(const WeightView& w, Workspace& work) const = 0;
  /// The loss; without a truth the smoothed max itself. Writes the marginals of the oracle's answer when `marginals` is
  /// not null.
  virtual Answer oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& work,
                        double* marginals) const = 0;
  /// Asks the memory for the weights that an oracle call on example i will read. Stochastic steps visit examples in
  /// random order.
  virtual void prefetch(std::int64_t i, const WeightView& w) const = 0;
  /// The same for the features of example i, which prefetch reads, and for what says where these are.
  virtual void prefetch_features(std::int64_t /*i*/) const {}
  virtual void prefetch_places(std::int64_t /*i*/) const {}
  /// Tells in which order the next stochastic steps will visit examples.
  virtual void announce(std::span<const std::int64_t> /*order*/) const {}
  /// Where oracles of several examples are quicker together than one by one: gives answers to examples, marks them in
  /// done[n], and makes the gradient (empty: not asked for) the sum of their marginals less the truth, times their
  /// scales.
  virtual void pass_together(const WeightView& /*w*/, const Smoothing& /*smoothing*/, int /*threads*/,
                             Answer* /*answers*/, std::span<double> /*gradient*/, std::vector<char>& /*done*/) const {}
  virtual void subtract_truth(std::int64_t i, double* marginals) const = 0;
  /// Adds J_i^T marginals to the target; rows outside the target's range are left alone.
  virtual void scatter(std::int64_t i, const double* marginals, const ScatterTarget& target) const = 0;
  /// The same in two halves, for many examples: collect the marginals that are not zero, then add them to the target.
  virtual void collect(std::int64_t i, const double* marginals, MarginalList& list) const = 0;
  virtual void scatter_list(const MarginalList& list, const ScatterTarget& target) const = 0;
  /// Number of rows that a target's range may split; a row has n_params() / rows() weights.
  virtual std::int64_t rows() const = 0;
  /// Appends the rows that an oracle call on example i reads and a scatter may change; some may come twice.
  virtual void touched(std::int64_t i, std::vector<RowRange>& ranges) const = 0;

  /// Scores of the parts of example i in the layout of its marginals, fixed ones included; call load_weights first.
  virtual void scores(std::int64_t i, const WeightView& w, Workspace& work, double* out) const = 0;
  /// Whether there is an exp oracle.
  virtual bool has_expect() const { return true; }
  /// mu logsumexp(score / mu) over the outputs of example i, given scores in the layout of marginals, which it writes.
  virtual double expect(std::int64_t i, const double* scores, double mu, Workspace& work, double* marginals) const = 0;
  /// <u, ell_i>: the fixed score under marginals, less that of the truth.
  virtual double expected_cost(std::int64_t i, const double* marginals) const = 0;
  /// Adds `margin` to the scores of the nodes of the truth, in the layout of marginals.
  virtual void add_truth_scores(std::int64_t i, double margin, double* scores) const = 0;
  /// |J_i^T x|^2 of blocks of marginals.
  virtual std::unique_ptr<BlockNorm> block_norm() const = 0;

  /// First label of example i's output among all; output_offset(n_examples()) is the total.
  virtual std::int64_t output_offset(std::int64_t i) const = 0;
  /// The best outputs, fixed scores included: outputs[output_offset(n)], values[n].
  virtual void decode(const double* w, int threads, std::int64_t* outputs, double* values) const = 0;
  /// Dual weights of every example, all on the truth, which has to be an output; threads: to make them.
  virtual std::unique_ptr<DualBlocks> dual_blocks(int threads = 1) const = 0;

  /// F = (1/active) sum_i scale_i f_i: how much example i counts, 1 unless examples have weights of their own.
  double scale(std::int64_t i) const { return scale_ ? scale_[i] : 1.0; }
  /// How many examples have a scale above 0; of a part of a problem, how many of the whole have.
  std::int64_t active() const { return active_ ? active_ : n_examples(); }
  /// The share of example i in the mean loss.
  double share(std::int64_t i) const { return scale(i) / static_cast<double>(active()); }
  /// scale: null where all count 1.
  void set_scales(const double* scale, std::int64_t active) { scale_ = scale, active_ = active; }

  /// Where what grows with the examples is kept: dual variables and what they need.
  std::pmr::memory_resource* memory() const { return memory_; }

  std::int64_t marginal_count(std::int64_t i) const { return marginal_offset(i + 1) - marginal_offset(i); }

 protected:
  explicit Problem(std::pmr::memory_resource* memory = nullptr)
      : memory_(memory ? memory : std::pmr::get_default_resource()) {}

 private:
  const double* scale_ = nullptr;  // [n_examples], or null: all 1
  std::int64_t active_ = 0;        // 0: all
  std::pmr::memory_resource* memory_;
};

/// Before step t: asks the memory for what the steps after it read, in good time for what is asked for next.
inline void prefetch_ahead(const Problem& problem, Order order, std::size_t t, const WeightView& w) {
  if (t + 4 < order.size()) problem.prefetch_places(order[t + 4]);
  if (t + 2 < order.size()) problem.prefetch_features(order[t + 2]);
  if (t + 1 < order.size()) problem.prefetch(order[t + 1], w);
}

}  // namespace casimir
