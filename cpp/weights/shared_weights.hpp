// Weights that several cells share: cell (row, label) of the layout in rows is weight at[row * labels + label].
//
// Hashing a feature together with a label gives such weights. They do not lie in rows, so that each is a row of its own
// to solvers, of width 1.
#pragma once

#include <cstdint>

#include "weights/weight_view.hpp"

namespace casimir {

struct SharedWeights {
  const std::uint32_t* at = nullptr;  // [rows][labels]; null: every cell has a weight of its own
  std::int64_t count = 0;             // of weights

  explicit operator bool() const { return at != nullptr; }

  /// u[t] = sum over features of the weights of their cells; padding becomes -inf.
  void score(RowShape shape, const TokenFeatures& x, std::int64_t first, std::int64_t tokens, const WeightView& w,
             double* u) const;
  /// The weights of each token's features += value * x[t].
  void scatter(RowShape shape, const TokenFeatures& features, std::int64_t first, std::int64_t tokens, const double* x,
               const ScatterTarget& target) const;
  /// The weights of one row += value * x.
  void scatter_row(RowShape shape, std::int64_t row, double value, const double* x, const ScatterTarget& target) const;
};

}  // namespace casimir
