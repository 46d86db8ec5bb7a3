// Checks of one vector of features per example, sparse or dense, and of what is shared by problems that have them.
#pragma once

#include "token_features.hpp"
#include "weights/feature_rows.hpp"

inline casimir::RowShape shape_of(int n_labels) {
  checked_label_count(n_labels);
  return {n_labels, casimir::stride_of(n_labels)};
}

inline casimir::FeatureRows sparse_rows(const Ints& indptr, const Indices& indices, const nb::object& values,
                                        std::int64_t n_features, double bias, int n_labels) {
  if (indptr.size() < 2) throw std::invalid_argument("there must be at least one example.");
  check_features(indptr, indices, n_features);
  const casimir::TokenFeatures x{indptr.data(), indices.data(), checked_values(values, indices.size())};
  return {x, n_features, bias, shape_of(n_labels)};
}

template <class T>
casimir::FeatureRows dense_rows(const InArray<T, nb::ndim<2>>& x, double bias, int n_labels) {
  if (x.shape(1) < 1) throw std::invalid_argument("features needs at least one column.");
  if (x.shape(0) < 1) throw std::invalid_argument("there must be at least one example.");
  return {x.data(), static_cast<std::int64_t>(x.shape(1)), bias, shape_of(n_labels)};
}

/// The marginals of the truth of all examples, or null.
inline const double* checked_marginals(const nb::object& truth, std::size_t count) {
  if (truth.is_none()) return nullptr;
  const auto array = array_of<InArray<double, nb::ndim<1>>>(truth, "truth");
  if (array.size() != count) throw std::invalid_argument("truth has the wrong size.");
  return array.data();
}
