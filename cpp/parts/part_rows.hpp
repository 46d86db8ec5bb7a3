// Rows of features, and the scores of the cells of each row:
//
//     cells_r = scale_r (x_r W) B,    W: d x K, a block of the weights;  B: K x C, sparse and fixed
//
// A cell is what has a score of its own: a label of a node, a pair of labels of an edge, a candidate. With K = C = 1
// and B = 1 every row is a cell; with K = L and B = 1 the cells of a node are its labels.
#pragma once

#include <cstdint>
#include <vector>

#include "base/numbers.hpp"
#include "weights/dense_rows.hpp"
#include "weights/weight_view.hpp"

namespace casimir {

/// B[k][cell] = value
struct BasisEntry {
  std::int32_t k, cell;
  double value;
};

struct PartRowsData {
  std::int64_t rows, dim;
  // one of these: dense rows, or sparse ones whose indices ascend
  const double* f64 = nullptr;
  const float* f32 = nullptr;
  TokenFeatures sparse{nullptr, nullptr, nullptr};
  std::int64_t first;  // W begins at w[first], and is row-major
  int width, cells;    // K and C
  std::vector<BasisEntry> basis;
  const double* scale = nullptr;  // [rows], or null: all 1
};

class PartRows {
 public:
  explicit PartRows(PartRowsData data);

  std::int64_t rows() const { return data_.rows; }
  int cells() const { return data_.cells; }
  /// One behind the last weight.
  std::int64_t weights_end() const { return data_.first + data_.dim * data_.width; }
  bool is_sparse() const { return data_.sparse.indptr; }

  /// What `scores` reads of the weights besides the view: call it whenever they changed.
  void load(const WeightView& w, std::vector<double>& table) const;
  /// out [count][C]; products is memory to work in.
  void scores(std::int64_t first, std::int64_t count, const WeightView& w, const std::vector<double>& table,
              std::vector<double>& products, double* out) const;
  /// Adds J_r^T cells to the weights in the target's range.
  void scatter(std::int64_t row, const double* cells, const ScatterTarget& target) const;
  /// Calls visit(begin, end) with ranges of weights that the row reads.
  template <class Visit>
  void for_each_range(std::int64_t row, Visit&& visit) const {
    if (!is_sparse()) return visit(data_.first, weights_end());
    for (std::int64_t f = data_.sparse.indptr[row]; f < data_.sparse.indptr[row + 1]; ++f) {
      const std::int64_t begin = data_.first + static_cast<std::int64_t>(data_.sparse.indices[f]) * data_.width;
      visit(begin, begin + data_.width);
    }
  }

 private:
  template <class T>
  void scatter_dense(const T* x, const double* z, const ScatterTarget& target) const;
  void scatter_sparse(std::int64_t row, const double* z, const ScatterTarget& target) const;
  void products_of(std::int64_t first, std::int64_t count, const WeightView& w, const std::vector<double>& table,
                   double* out) const;
  DenseRows dense() const { return data_.f64 ? DenseRows(data_.f64, data_.dim) : DenseRows(data_.f32, data_.dim); }
  double scale_of(std::int64_t row) const { return data_.scale ? data_.scale[row] : 1.0; }

  PartRowsData data_;
  bool is_plain_;  // a row is a cell
};

}  // namespace casimir
