// Features of edges: what a pair of neighbouring labels scores besides its transition.
//
//     T_t(y, z) = T(y, z) + sum over the features f of the edge that ends in token t of value V_f(y, z)
//
// Each feature has `labels` rows of w, [from][to], behind the other rows of a chain. What a first token has is not
// read.
#pragma once

#include <cstdint>
#include <vector>

#include "solve/problem.hpp"

namespace casimir {

struct EdgeFeatureData {
  TokenFeatures features{nullptr, nullptr, nullptr};  // by the token in which the edge ends; indptr null: none
  std::int64_t n_features = 0;
};

class EdgeFeatures {
 public:
  /// first_row: the first row of w that belongs to them.
  EdgeFeatures(const EdgeFeatureData& data, RowShape shape, std::int64_t first_row)
      : x_(data.features), n_features_(data.n_features), shape_(shape), first_row_(first_row) {}

  explicit operator bool() const { return x_.indptr != nullptr; }
  /// Of w.
  std::int64_t rows() const { return n_features_ * shape_.labels; }
  /// The row of w with the scores of a feature's pairs that begin with a label.
  std::int64_t row(std::int64_t feature, std::int64_t from) const {
    return first_row_ + feature * shape_.labels + from;
  }
  const TokenFeatures& data() const { return x_; }

  /// Adds the scores of the edge that ends in a token, counted over all examples, to rows [from][to].
  void add_scores(std::int64_t token, const WeightView& w, double* to) const;
  /// Adds marginals of pairs that begin with a label to the rows of all features of the edge.
  void scatter(std::int64_t token, std::int64_t from, const double* marginals, const ScatterTarget& target) const;
  /// Appends the rows of all features of the edge.
  void touched(std::int64_t token, std::vector<RowRange>& ranges) const;

 private:
  TokenFeatures x_;
  std::int64_t n_features_;
  RowShape shape_;
  std::int64_t first_row_;
};

}  // namespace casimir
