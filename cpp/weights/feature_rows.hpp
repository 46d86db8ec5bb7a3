// One vector of features per example, sparse or dense, whose product with the weights is a row of scores:
//
//     u_i = x_i W,   W a row of `stride` doubles per feature.
//
// With a bias b != 0 every example has one more feature, the last, of value b: its row of W is an intercept.
#pragma once

#include <cstdint>
#include <vector>

#include "chain/chain_ops.hpp"
#include "solve/problem.hpp"

namespace casimir {

/// The inner loops over a dense vector x of `count` features, chosen by the row width.
template <class T>
struct DenseOps {
  /// u (+)= scale x W: with `add` false the old u is overwritten.
  void (*score)(int stride, const T* x, std::int64_t count, const double* w, double scale, bool add, double* u);
  /// W[j] += scale x[j] row
  void (*scatter)(int stride, const T* x, std::int64_t count, const double* row, double scale, double* w);
};

class FeatureRows {
 public:
  FeatureRows(const TokenFeatures& x, std::int64_t n_features, double bias, RowShape shape)
      : sparse_(x), n_features_(n_features), bias_(bias), shape_(shape), ops_(chain_ops(shape.stride)) {}
  FeatureRows(const double* x, std::int64_t n_features, double bias, RowShape shape)
      : f64_(x), n_features_(n_features), bias_(bias), shape_(shape), ops_(chain_ops(shape.stride)) {}
  FeatureRows(const float* x, std::int64_t n_features, double bias, RowShape shape)
      : f32_(x), n_features_(n_features), bias_(bias), shape_(shape), ops_(chain_ops(shape.stride)) {}

  RowShape shape() const { return shape_; }
  /// Rows of weights.
  std::int64_t rows() const { return n_features_ + (bias_ != 0.0 ? 1 : 0); }
  /// u = x_i W; its padding becomes -inf.
  void score(std::int64_t i, const WeightView& w, double* u) const;
  /// Row j of the target += x_i[j] row.
  void scatter(std::int64_t i, const double* row, const ScatterTarget& target) const;
  /// |x_i|^2
  double squared(std::int64_t i) const;
  /// Appends the rows of weights of the features of example i.
  void touched(std::int64_t i, std::vector<RowRange>& ranges) const;
  /// Asks the memory for the features of example i, and for their weights; features first.
  void prefetch_features(std::int64_t i) const;
  void prefetch(std::int64_t i, const WeightView& w) const;

 private:
  template <class T>
  void scatter_dense(const T* x, const double* row, const ScatterTarget& target) const;
  void scatter_bias(const double* row, const ScatterTarget& target) const;
  bool is_sparse() const { return sparse_.indptr; }

  TokenFeatures sparse_{nullptr, nullptr, nullptr};
  const double* f64_ = nullptr;
  const float* f32_ = nullptr;
  std::int64_t n_features_;
  double bias_;
  RowShape shape_;
  const ChainOps& ops_;
};

}  // namespace casimir
