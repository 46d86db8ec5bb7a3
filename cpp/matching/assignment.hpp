// Heaviest matchings of the rows of a table to its columns, with the prices that prove them heaviest.
//
// Each row v takes a column of its own, or its null slot where the table has one; weight w(v, z). The linear program's
// dual has a worth per row and a price per column with
//     gain(v, z) = w(v, z) - worth(v) - price(z) <= 0,    gain = 0 on every pair that is matched,
// and, where columns may stay free, price >= 0, price = 0 on free columns and on null slots. Then no matching is
// heavier.
//
// Free columns and null slots that no row uses belong to one imaginary row, the pool: it takes any column at weight 0,
// so its gain on column z is -price(z). A change of the matching is a cycle of rows (and the pool), each of which takes
// what the next one had; its change in weight is the sum of the gains. Only tables with spare columns have a pool.
#pragma once

#include <cstdint>
#include <vector>

namespace casimir {

/// rows x columns weights; with `null` each row has one more entry, the weight of staying unmatched.
struct WeightTable {
  const double* data;
  std::int32_t rows, columns;
  bool null;

  std::int64_t stride() const { return columns + (null ? 1 : 0); }
  const double* row(std::int32_t v) const { return data + v * stride(); }
  double at(std::int32_t v, std::int32_t z) const { return row(v)[z]; }
  bool has_pool() const { return null || columns > rows; }
};

/// What rounding may do to sums of the weights: 0 when they are whole numbers, whose sums are exact.
/// Throws std::invalid_argument when sums of the weights could overflow.
double rounding_of(const WeightTable&);

struct Assignment {
  std::vector<std::int32_t> match;  // [rows]: a column, or `columns` for the null slot
  std::vector<std::int32_t> owner;  // [columns]: a row, or kFree
  std::vector<double> worth;        // [rows]
  std::vector<double> price;        // [columns]
};

constexpr std::int32_t kFree = -1;

/// The weight of a matching, added up in the order of the rows.
double weight_of(const WeightTable&, const std::int32_t* match);

/// One heaviest matching: bidding for the columns, then heaviest augmenting paths (Jonker & Volgenant 1987).
class AssignmentSolver {
 public:
  void solve(const WeightTable&, Assignment& out);

 private:
  void bid(const WeightTable&, Assignment& a);
  static std::int32_t place_bid(const WeightTable&, Assignment& a, std::int32_t v);
  static double best_offer(const WeightTable&, const Assignment& a, std::int32_t v);
  void augment(const WeightTable&, Assignment& a, std::int32_t row);

  std::vector<std::int32_t> waiting_, next_;
  std::vector<double> gain_, shadow_;
  std::vector<std::int64_t> from_;
  struct Settled {
    std::int32_t column;
    double gain;
  };
  std::vector<Settled> settled_;
};

}  // namespace casimir
