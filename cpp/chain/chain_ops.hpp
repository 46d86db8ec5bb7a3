// The inner loops of one chain, vectorised over labels. A table of function pointers is chosen by the row width.
#pragma once

#include <cstdint>
#include <vector>

#include "weights/weight_view.hpp"

namespace casimir {

struct AllowedScores;

/// Transitions of a chain: `to` holds [from][to] rows, `from` holds its transpose; `step` doubles from one edge to the
/// next (0: all edges share one matrix). Where few pairs are allowed, `allowed` has their scores, and max-product reads
/// these instead; `from` may be null then.
struct Transitions {
  const double* to;
  const double* from;
  std::int64_t step = 0;
  const AllowedScores* allowed = nullptr;
};

/// exp((T - offset) / mu) of one matrix as rows [from][to] and transposed, the padding 0, and the range of T.
struct Potentials {
  double mu = 0.0;  // that of the matrices below; 0: there are none
  double offset = 0.0, range = 0.0;
  std::vector<double> to, from;
};

/// Messages from both sides that overlap by less have lost outputs to underflow, or will. Without forbidden scores
/// (-inf) the overlap stays above exp(-550): message_range bounds what a message can lose from one rescaling to the
/// next.
constexpr double kLeastOverlap = 1e-250;
/// Smaller products of sums of messages become logs: one more sum, of at least kLeastOverlap, must not underflow.
constexpr double kLeastProduct = 1e-50;
/// The range of messages over mu that doubles can take.
constexpr double kWidestRange = 300.0;

/// What is done with a label that loses at most bound - base: insert(context, position, label, loss) -> the bound from
/// then on.
struct Scan {
  double base, bound;
  void* context;
  double (*insert)(void* context, std::int64_t position, std::int32_t label, double loss);
};

struct ChainOps {
  /// u[t] = sum over features of w[row] (no start and stop scores); padding becomes -inf.
  void (*score)(RowShape, const TokenFeatures&, std::int64_t first, std::int64_t count, const WeightView&, double* u);

  /// beta_t(y) = u_t(y) + best_t(y), best_t(y) = max_y' { T_t(y, y') + beta_{t+1}(y') }  (algo:dp:max:chain, from the
  /// right).
  void (*backward_max)(RowShape, std::int64_t p, const double* u, Transitions, double* beta, double* best);

  /// alpha_t(y) = u_t(y) + max_y' { alpha_{t-1}(y') + T_{t-1}(y', y) }.
  void (*forward_max)(RowShape, std::int64_t p, const double* u, Transitions, double* alpha);

  /// Follows the best completion after position `from` (labels[from] is given): fills labels[from + 1 :] with the
  /// lowest best labels, up to and with the first that is the parent's (null: to the end), and returns where it ended.
  /// With `scan` not null, every other label l at these positions is offered that loses little enough; its loss is
  /// best_{t-1} - (T(labels[t-1], l) + beta_t(l)) >= 0.
  std::int64_t (*follow)(RowShape, std::int64_t p, std::int64_t from, Transitions, const double* beta,
                         const double* best, const std::int32_t* parent, std::int32_t* labels, Scan* scan);

  /// Sum-product: returns mu logsumexp(score / mu), node marginals [p] rows, and edge marginals: added into one
  /// [labels] x stride block when edge_step is 0, else written to one block per edge. Potentials of a matrix that all
  /// edges share are kept: set their mu to 0 when the matrix changes. `work` holds 3 p rows.
  double (*expect)(RowShape, std::int64_t p, const double* u, Transitions, Potentials&, double mu, double* nodes,
                   double* edges, std::int64_t edge_step, double* work);

  /// The value of `expect` alone, where no score is forbidden; NaN where it takes logs. `work` holds 3 rows.
  double (*log_sum)(RowShape, std::int64_t p, const double* u, Transitions, Potentials&, double mu, double* work);

  /// target rows of each token's features += value * x[t]; tokens whose row is 0 are skipped.
  void (*scatter)(RowShape, const TokenFeatures&, std::int64_t first, std::int64_t count, const double* x,
                  const ScatterTarget&);
};

/// Labels rounded up to a multiple of 4.
constexpr int stride_of(int labels) { return (labels + 3) / 4 * 4; }

const ChainOps& chain_ops(int stride);

}  // namespace casimir
