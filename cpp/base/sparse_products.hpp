// Products with matrices of which few cells count: in sums the others are 0, in maxima -inf.
#pragma once

#include <cstdint>
#include <vector>

#include "base/scratch.hpp"

namespace casimir {

/// A matrix column by column: column j has the cells [begin[j], begin[j + 1]), row[k] is the row of cell k, ascending
/// in its column.
struct SparseColumns {
  std::int64_t columns;
  const std::int64_t* begin;
  const std::int32_t* row;
  const double* value;
};

/// out[rows][width] = left[rows][..] right; rows of left and out begin `stride`s after one another. What lies beyond
/// the columns of `right` becomes 0.
void multiply(std::int64_t rows, const double* left, std::int64_t left_stride, const SparseColumns& right, double* out,
              std::int64_t out_stride, std::int64_t width);

/// out(r, j) = max_k { left(r, k) + right(k, j) }, -inf beyond the columns.
void max_plus(std::int64_t rows, const double* left, std::int64_t left_stride, const SparseColumns& right, double* out,
              std::int64_t out_stride, std::int64_t width);

/// Pairs of rows whose outer products are added up, at some cells alone.
class SampledProducts {
 public:
  /// left, right: [depth][width], without gaps.
  void pack(std::int64_t depth, std::int64_t width, const double* left, const double* right);

  /// Multiplies each outer product by a weight of its own.
  void scale(const double* weights);

  /// sums[k] += sum_t left_t(j) right_t(row[k]) for the cells k of columns j in [first, last); the values of the cells
  /// are not read.
  void add_to(const SparseColumns& cells, std::int64_t first, std::int64_t last, double* sums) const;

 private:
  struct Chunk {
    Scratch left, right;  // [width][kept], 0 beyond the depth
    std::int64_t depth = 0, kept = 0;
  };
  std::int64_t width_ = 0;
  std::vector<Chunk> chunks_;  // of rows, so many that a chunk stays in the cache
  std::size_t used_ = 0;
};

}  // namespace casimir
