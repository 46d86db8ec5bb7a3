// The next best matching with another choice for one row: what Murty's subproblems ask for.
#pragma once

#include <cstdint>
#include <vector>

#include "matching/assignment.hpp"

namespace casimir {

/// The next best matching with another choice for one row: the heaviest cycle through it (Murty's subproblem).
class Rerouter {
 public:
  /// Rows before `row` keep what they have; `row` must leave its match and may not take the `forbidden` columns. False
  /// when there is no such matching; else `a` becomes a heaviest one with prices that prove it.
  bool reroute(const WeightTable&, Assignment& a, std::int32_t row, const std::vector<std::int32_t>& forbidden);

 private:
  void leave(const WeightTable&, const Assignment& a, std::int32_t row, const std::vector<std::int32_t>& forbidden);
  bool search(const WeightTable&, const Assignment& a, std::int32_t row);
  void settle_row(const WeightTable&, const Assignment& a, std::int32_t row, double gain);
  void settle_pool(const WeightTable&, const Assignment& a, std::int32_t row, double gain);
  void update_prices(const WeightTable&, Assignment& a, std::int32_t row) const;
  void rotate(const WeightTable&, Assignment& a, std::int32_t row) const;

  struct Settled {
    std::int32_t row;
    double gain;
  };
  std::vector<double> gain_, shadow_;
  std::vector<std::int64_t> from_;  // [columns]: the row that takes the column, or the pool
  std::vector<Settled> settled_;
  double top_ = 0.0, target_gain_ = 0.0, pool_gain_ = 0.0, null_gain_ = 0.0;
  bool pool_settled_ = false;
  std::int32_t pool_entry_ = 0, null_row_ = 0;  // how the pool was reached: a free column, or the null slot of a row
};

}  // namespace casimir
