// The inner loops of a few columns that fit into registers, which loops over whole rows are made from.
#pragma once

#include <cstdint>

#include "base/lanes.hpp"
#include "base/numbers.hpp"
#include "weights/weight_view.hpp"

namespace casimir {
namespace {  // the copy of each instruction set level

#if defined(__AVX512F__)
constexpr int kWide = 8, kManyColumns = 32, kSums = 24;
#else
constexpr int kWide = 4, kManyColumns = 8, kSums = 12;
#endif

/// H vectors of W doubles, the columns of a matrix that fit into registers. Its functions begin at their first column.
template <int W, int H>
struct Columns {
  using L = Lanes<W>;
  using V = typename L::V;
  static constexpr int kTile = 4 * H <= kSums ? 4 : 2 * H <= kSums ? 2 : 1;  // rows of sums held in registers

  /// Columns of the scores of one token, whose features are [begin, end).
  template <bool kTwo, bool kValues>
  static void score(RowShape shape, const TokenFeatures& x, std::int64_t begin, std::int64_t end, const WeightView& w,
                    std::int64_t column, double* u) {
    const std::int64_t stride = shape.stride;
    V moving[H]{}, fixed[H]{};
    for (std::int64_t f = begin; f < end; ++f) {
      const std::int64_t row = static_cast<std::int64_t>(x.indices[f]) * stride + column;
      const double value = kValues ? x.values[f] : 1.0;
      for (int j = 0; j < H; ++j) {
        if constexpr (kValues) {
          moving[j] += L::load(w.v + row + j * W) * value;
          if constexpr (kTwo) fixed[j] += L::load(w.c + row + j * W) * value;
        } else {
          moving[j] += L::load(w.v + row + j * W);
          if constexpr (kTwo) fixed[j] += L::load(w.c + row + j * W);
        }
      }
    }
    for (int j = 0; j < H; ++j) {
      V total = moving[j] * w.s;
      if constexpr (kTwo) total += fixed[j] * w.a;
      L::store(u + column + j * W, total);
    }
  }

  /// The same columns of the rows of these features += a * row, and += b * row in q.
  [[gnu::always_inline]] static void scatter(RowShape shape, const TokenFeatures& x, std::int64_t begin,
                                             std::int64_t end, const double* row, std::int64_t column,
                                             const ScatterTarget& target) {
    const std::int64_t stride = shape.stride;
    V va[H], qb[H];
    for (int j = 0; j < H; ++j) {
      const V here = L::load(row + column + j * W);
      va[j] = here * target.a;
      qb[j] = here * target.b;
    }
    for (std::int64_t f = begin; f < end; ++f) {
      const std::int64_t index = x.indices[f];
      const double value = x.values ? x.values[f] : 1.0;
      double* v = target.v + index * stride + column;
      for (int j = 0; j < H; ++j) L::store(v + j * W, L::load(v + j * W) + va[j] * value);
      if (target.q) {
        double* q = target.q + index * stride + column;
        for (int j = 0; j < H; ++j) L::store(q + j * W, L::load(q + j * W) + qb[j] * value);
      }
    }
  }

  /// Two running maxima, to shorten the dependency chain.
  static void max_step(RowShape shape, const double* matrix, const double* message, double* out) {
    const int labels = shape.labels;
    V even[H], odd[H];
    for (int j = 0; j < H; ++j) even[j] = odd[j] = L::load(matrix + j * W) + message[0];
    int y = 1;
    for (; y + 1 < labels; y += 2) {
      const double* first = matrix + static_cast<std::int64_t>(y) * shape.stride;
      const double* second = first + shape.stride;
      for (int j = 0; j < H; ++j) {
        even[j] = L::max(even[j], L::load(first + j * W) + message[y]);
        odd[j] = L::max(odd[j], L::load(second + j * W) + message[y + 1]);
      }
    }
    if (y < labels) {
      const double* last = matrix + static_cast<std::int64_t>(y) * shape.stride;
      for (int j = 0; j < H; ++j) even[j] = L::max(even[j], L::load(last + j * W) + message[y]);
    }
    for (int j = 0; j < H; ++j) L::store(out + j * W, L::max(even[j], odd[j]));
  }

  static void sum_step(RowShape shape, const double* matrix, const double* message, double* out) {
    const int labels = shape.labels;
    V even[H]{}, odd[H]{};
    int y = 0;
    for (; y + 1 < labels; y += 2) {
      const double* first = matrix + static_cast<std::int64_t>(y) * shape.stride;
      for (int j = 0; j < H; ++j) {
        even[j] += L::load(first + j * W) * message[y];
        odd[j] += L::load(first + shape.stride + j * W) * message[y + 1];
      }
    }
    if (y < labels) {
      const double* last = matrix + static_cast<std::int64_t>(y) * shape.stride;
      for (int j = 0; j < H; ++j) even[j] += L::load(last + j * W) * message[y];
    }
    for (int j = 0; j < H; ++j) L::store(out + j * W, even[j] + odd[j]);
  }

  /// kRows rows of out += potential * (the sum of `count` outer products).
  template <int kRows>
  static void add_products(RowShape shape, std::int64_t count, const double* left, const double* right,
                           const double* potential, double* out) {
    V sums[kRows][H]{};
    for (std::int64_t t = 0; t < count; ++t, left += shape.stride, right += shape.stride)
      for (int j = 0; j < H; ++j) {
        const V here = L::load(right + j * W);
        for (int y = 0; y < kRows; ++y) sums[y][j] += here * left[y];
      }
    for (int y = 0; y < kRows; ++y)
      for (int j = 0; j < H; ++j) {
        const std::int64_t cell = static_cast<std::int64_t>(y) * shape.stride + j * W;
        L::store(out + cell, L::load(out + cell) + sums[y][j] * L::load(potential + cell));
      }
  }
};

/// Largest and smallest entry of `count` rows; padding and forbidden scores (-inf) do not count.
struct RangeOfScores {
  double highest, lowest;
};
template <int W>
RangeOfScores range_of(RowShape shape, const double* rows, std::int64_t count) {
  using L = Lanes<W>;
  typename L::V high = L::all(-kInf), negated_low = L::all(-kInf);
  for (std::int64_t j = 0; j < count * shape.stride; j += W) {
    const typename L::V value = L::load(rows + j);
    high = L::max(high, value);
    negated_low = L::max(negated_low, value == -kInf ? value : -value);
  }
  return {L::highest(high), -L::highest(negated_low)};
}

}  // namespace
}  // namespace casimir
