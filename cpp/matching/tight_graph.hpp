// The lexicographically first of all heaviest matchings.
#pragma once

#include <cstdint>
#include <vector>

#include "matching/assignment.hpp"

namespace casimir {

/// Among the heaviest matchings the first in lexicographic order, by exchanges along pairs of gain 0.
class TightGraph {
 public:
  /// Rows before `begin` keep what they have, row `begin` does not take `forbidden` columns; prices stay as they are.
  void first_matching(const WeightTable&, Assignment& a, std::int32_t begin, const std::vector<std::int32_t>& forbidden,
                      double rounding);

 private:
  bool collect(const WeightTable&, const Assignment& a, std::int32_t begin, double rounding);
  void improve(const WeightTable&, Assignment& a, std::int32_t v, double rounding);
  void visit(const WeightTable&, const Assignment& a, std::int32_t v, std::int32_t node, double rounding);
  void reach(std::int32_t node, std::int32_t next, std::int32_t column);
  bool exchange(const WeightTable&, Assignment& a, std::int32_t v, std::int32_t column);

  std::vector<std::int32_t> tight_, row_starts_;       // columns of gain 0, row after row
  std::vector<std::int32_t> tight_rows_, col_starts_;  // the same pairs, column after column
  std::vector<std::int32_t> tight_null_;               // rows whose null slot has gain 0
  std::vector<std::int32_t> choices_, queue_, next_, take_, changed_;
  std::vector<std::uint8_t> seen_;
};

}  // namespace casimir
