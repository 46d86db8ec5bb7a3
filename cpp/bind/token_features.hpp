// Checks of what problems with sparse token features take: features, labels and costs of labels.
#pragma once

#include "problem.hpp"
#include "weights/linear_tokens.hpp"

using Ints = InArray<std::int64_t, nb::ndim<1>>;
using Indices = InArray<std::uint32_t, nb::ndim<1>>;

/// Throws unless the arrays describe sequences of tokens with sorted features below n_features.
inline void check_token_features(const Ints& offsets, const Ints& indptr, const Indices& indices,
                                 std::int64_t n_features) {
  if (n_features < 1 || n_features > 0xffffffff)
    throw std::invalid_argument("n_features must be 1 or larger and below 2^32.");
  if (indptr.size() < 1) throw std::invalid_argument("indptr needs at least one entry.");
  const auto tokens = static_cast<std::int64_t>(indptr.size()) - 1;
  check_offsets(offsets.data(), offsets.size(), tokens, false, "offsets");
  check_offsets(indptr.data(), indptr.size(), static_cast<std::int64_t>(indices.size()), true, "indptr");
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t f = indptr.data()[t]; f < indptr.data()[t + 1]; ++f) {
      if (static_cast<std::int64_t>(indices.data()[f]) >= n_features)
        throw std::invalid_argument("a feature index is not below n_features.");
      if (f > indptr.data()[t] && indices.data()[f] < indices.data()[f - 1])
        throw std::invalid_argument("the feature indices of a token must be sorted.");
    }
}

/// The values of the features, kept alive by the handle; null when all are 1.
inline const double* take_values(const nb::object& values, std::size_t count, ProblemHandle& handle) {
  if (values.is_none()) return nullptr;
  const auto array = array_of<InArray<double, nb::ndim<1>>>(values, "values");
  if (array.size() != count) throw std::invalid_argument("values must have one entry per feature index.");
  handle.owners.push_back(nb::cast(array));
  return array.data();
}

/// The true labels of all tokens, or null; the handle knows whether there are any.
inline const std::int32_t* take_labels(const nb::object& y, std::size_t tokens, int n_labels, ProblemHandle& handle) {
  if (y.is_none()) return nullptr;
  const auto array = array_of<InArray<std::int32_t, nb::ndim<1>>>(y, "y");
  if (array.size() != tokens) throw std::invalid_argument("y must have one label per token.");
  for (std::size_t t = 0; t < array.size(); ++t)
    if (array.data()[t] < 0 || array.data()[t] >= n_labels) throw std::invalid_argument("a label is out of range.");
  handle.labelled = true;
  handle.owners.push_back(nb::cast(array));
  return array.data();
}

/// The costs of labels, [labels, labels], or null.
inline const double* take_cost(const nb::object& cost, int n_labels, ProblemHandle& handle) {
  if (cost.is_none()) return nullptr;
  const auto array = array_of<InArray<double, nb::ndim<2>>>(cost, "cost");
  if (array.shape(0) != static_cast<std::size_t>(n_labels) || array.shape(1) != static_cast<std::size_t>(n_labels))
    throw std::invalid_argument("cost must be [labels, labels].");
  handle.owners.push_back(nb::cast(array));
  return array.data();
}

/// Checks that the arrays fit together; the handle keeps them alive.
inline casimir::LinearTokensData make_tokens(const Ints& offsets, const Ints& indptr, const Indices& indices,
                                             const nb::object& values, std::int64_t n_features, int n_labels,
                                             const nb::object& y, const nb::object& cost, ProblemHandle& handle) {
  if (n_labels < 1) throw std::invalid_argument("there must be at least one label.");
  check_token_features(offsets, indptr, indices, n_features);
  for (const nb::object& owner : {nb::cast(offsets), nb::cast(indptr), nb::cast(indices)})
    handle.owners.push_back(owner);
  return {offsets.data(),
          static_cast<std::int64_t>(offsets.size()) - 1,
          {indptr.data(), indices.data(), take_values(values, indices.size(), handle)},
          n_features,
          n_labels,
          take_labels(y, indptr.size() - 1, n_labels, handle),
          take_cost(cost, n_labels, handle)};
}
