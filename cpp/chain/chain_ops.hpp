// The inner loops of one chain, vectorised over labels. A table of function pointers is chosen by the row width.
#pragma once

#include <cstdint>

#include "weights/weight_view.hpp"

namespace casimir {

/// Transitions of a chain: `to` holds [from][to] rows, `from` holds its transpose; `step` doubles from one edge to the
/// next (0: all edges share one matrix).
struct Transitions {
  const double* to;
  const double* from;
  std::int64_t step = 0;
};

/// What a scan does with an entry: (position, label, loss) -> the bound from then on.
struct Insert {
  void* context;
  double (*call)(void* context, std::int64_t position, std::int32_t label, double loss);
};

struct ChainOps {
  /// u[t] = sum over features of w[row] (no start and stop scores); padding becomes -inf.
  void (*score)(RowShape, const TokenFeatures&, std::int64_t first, std::int64_t count, const WeightView&, double* u);

  /// beta_t(y) = u_t(y) + best_t(y), best_t(y) = max_y' { T_t(y, y') + beta_{t+1}(y') }  (algo:dp:max:chain, from the
  /// right).
  void (*backward_max)(RowShape, std::int64_t p, const double* u, Transitions, double* beta, double* best);

  /// alpha_t(y) = u_t(y) + max_y' { alpha_{t-1}(y') + T_{t-1}(y', y) }.
  void (*forward_max)(RowShape, std::int64_t p, const double* u, Transitions, double* alpha);

  /// Follows the best completion after position `from` (labels[from] is given): fills labels[from + 1 : p] with the
  /// lowest best labels. With `loss` not null, loss[t] (a row) = best_{t-1} - (T(labels[t-1], .) + beta_t(.)) >= 0.
  void (*complete)(RowShape, std::int64_t p, std::int64_t from, Transitions, const double* beta, const double* best,
                   std::int32_t* labels, double* loss);

  /// Calls insert for the entries loss[t][l] <= bound - base, t = p-1 down to `first`, l ascending, l != labels[t].
  /// insert returns the new bound.
  void (*scan)(RowShape, std::int64_t p, std::int64_t first, const double* loss, const std::int32_t* labels,
               double base, double bound, const Insert& insert);

  /// Sum-product: returns mu logsumexp(score / mu), node marginals [p] rows, and edge marginals: added into one
  /// [labels] x stride block when edge_step is 0, else written to one block per edge. `work` holds 3 p + 2 labels rows.
  double (*expect)(RowShape, std::int64_t p, const double* u, Transitions, double mu, double* nodes, double* edges,
                   std::int64_t edge_step, double* work);

  /// The value of `expect` alone, where no score is forbidden; NaN where it takes logs. `work` holds 3 + labels rows.
  double (*log_sum)(RowShape, std::int64_t p, const double* u, Transitions, double mu, double* work);

  /// target rows of each token's features += value * x[t]; tokens whose row is 0 are skipped.
  void (*scatter)(RowShape, const TokenFeatures&, std::int64_t first, std::int64_t count, const double* x,
                  const ScatterTarget&);
};

/// Labels rounded up to a multiple of 4.
constexpr int stride_of(int labels) { return (labels + 3) / 4 * 4; }

const ChainOps& chain_ops(int stride);

}  // namespace casimir
