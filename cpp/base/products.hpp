// Products of matrices of doubles, blocked for registers and caches. A cell of a product is one sum, from the first
// term to the last, wherever it lies among others: what is computed together never changes the bits.
#pragma once

#include <cstdint>
#include <vector>

#include "base/scratch.hpp"

namespace casimir {

/// The width of matrices that are multiplied is a multiple of this.
constexpr std::int64_t kProductWidth = 8;

constexpr std::int64_t product_width(std::int64_t columns) {
  return (columns + kProductWidth - 1) / kProductWidth * kProductWidth;
}

/// A matrix [depth][width] in panels of columns, each of which a product reads from front to back.
class Panels {
 public:
  /// Copies rows of `width` doubles that begin `stride` doubles after one another.
  void pack(std::int64_t depth, std::int64_t width, const double* rows, std::int64_t stride);

  /// The same of the transpose of rows[width][depth]. Rows of a panel in which all cells are `nothing` are left out:
  /// they add nothing to products (0), or to maxima (-inf).
  void pack_transposed(std::int64_t depth, std::int64_t width, const double* rows, std::int64_t stride, double nothing);
  /// Leaves such rows out of panels that were packed.
  void leave_out(double nothing);

  std::int64_t depth() const { return depth_; }
  std::int64_t width() const { return width_; }
  /// That which begins with a column.
  const double* panel(std::int64_t column) const { return cells_.data() + column * depth_; }
  /// The numbers of its rows, and how many there are; null: all of them.
  const std::int32_t* rows_of(std::int64_t column) const;
  std::int64_t depth_of(std::int64_t column) const;

 private:
  std::int64_t depth_ = 0, width_ = 0;
  Scratch cells_;
  std::vector<std::int32_t> rows_;    // [panels][depth], or empty: all rows are there
  std::vector<std::int64_t> depths_;  // of each panel
};

/// out[rows][width] = left[rows][depth] right; rows of left and out begin `stride`s after one another.
void multiply(std::int64_t rows, const double* left, std::int64_t left_stride, const Panels& right, double* out,
              std::int64_t out_stride);

/// out(r, j) = max_k { left(r, k) + right(k, j) }
void max_plus(std::int64_t rows, const double* left, std::int64_t left_stride, const Panels& right, double* out,
              std::int64_t out_stride);

/// Pairs of rows whose outer products are added up.
class OuterProducts {
 public:
  /// left, right: [depth][width], without gaps.
  void pack(std::int64_t depth, std::int64_t width, const double* left, const double* right);

  /// Multiplies each outer product by a weight of its own.
  void scale(const double* weights);

  /// Rows [begin, end) of out[width][width] += left' right; both multiples of kProductWidth. Tiles in which all of
  /// factors[width][width] are 0, by which the sums are to be multiplied, are left out; null: there are none.
  void add_to(std::int64_t begin, std::int64_t end, double* out, const double* factors = nullptr) const;

 private:
  struct Chunk {
    Scratch left;  // columns in blocks of kProductWidth, each from front to back
    Panels right;
  };
  std::int64_t width_ = 0;
  std::vector<Chunk> chunks_;  // of rows, so many that a block and a panel stay in the cache
  std::size_t used_ = 0;
};

}  // namespace casimir
