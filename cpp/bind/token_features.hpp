// Checks of what problems with sparse token features take: features, labels and fixed scores.
#pragma once

#include "problem.hpp"
#include "weights/linear_tokens.hpp"

using Ints = InArray<std::int64_t, nb::ndim<1>>;
using Indices = InArray<std::uint32_t, nb::ndim<1>>;

/// Throws unless indptr and indices describe rows of sorted features below n_features.
inline void check_features(const Ints& indptr, const Indices& indices, std::int64_t n_features) {
  if (n_features < 1 || n_features > 0xffffffff)
    throw std::invalid_argument("n_features must be 1 or larger and below 2^32.");
  if (indptr.size() < 1) throw std::invalid_argument("indptr needs at least one entry.");
  check_offsets(indptr.data(), indptr.size(), static_cast<std::int64_t>(indices.size()), true, "indptr");
  for (std::size_t t = 0; t + 1 < indptr.size(); ++t)
    for (std::int64_t f = indptr.data()[t]; f < indptr.data()[t + 1]; ++f) {
      if (static_cast<std::int64_t>(indices.data()[f]) >= n_features)
        throw std::invalid_argument("a feature index is not below n_features.");
      if (f > indptr.data()[t] && indices.data()[f] < indices.data()[f - 1])
        throw std::invalid_argument("the feature indices of a token must be sorted.");
    }
}

/// Throws unless the arrays describe sequences of tokens with sorted features below n_features.
inline void check_token_features(const Ints& offsets, const Ints& indptr, const Indices& indices,
                                 std::int64_t n_features) {
  check_features(indptr, indices, n_features);
  check_offsets(offsets.data(), offsets.size(), static_cast<std::int64_t>(indptr.size()) - 1, false, "offsets");
}

/// The values of the features, float64 or float32; null when all are 1.
inline casimir::TokenValues checked_values(const nb::object& values, std::size_t count) {
  if (values.is_none()) return static_cast<const double*>(nullptr);
  const auto checked = [count](const auto& array) -> casimir::TokenValues {
    if (array.size() != count) throw std::invalid_argument("values must have one entry per feature index.");
    return array.data();
  };
  InArray<float, nb::ndim<1>> narrow;
  if (nb::try_cast(values, narrow, false)) return checked(narrow);
  return checked(array_of<InArray<double, nb::ndim<1>>>(values, "values"));
}

/// The true labels of all tokens, or null.
inline const std::int32_t* checked_labels(const nb::object& y, std::size_t tokens, int n_labels) {
  if (y.is_none()) return nullptr;
  const auto array = array_of<InArray<std::int32_t, nb::ndim<1>>>(y, "y");
  if (array.size() != tokens) throw std::invalid_argument("y must have one label per token.");
  for (std::size_t t = 0; t < array.size(); ++t)
    if (array.data()[t] < 0 || array.data()[t] >= n_labels) throw std::invalid_argument("a label is out of range.");
  return array.data();
}

/// The marginals of the truth, `labels` rows more per example than it has tokens, or null.
inline const double* checked_truth(const nb::object& truth, std::size_t rows, int n_labels) {
  if (truth.is_none()) return nullptr;
  const auto array = array_of<InArray<double, nb::ndim<1>>>(truth, "truth");
  if (array.size() != rows * static_cast<std::size_t>(casimir::stride_of(n_labels)))
    throw std::invalid_argument("truth has the wrong size.");
  return array.data();
}

/// A matrix [rows, labels], or null.
inline const double* checked_scores(const nb::object& scores, std::size_t rows, int n_labels, const char* name) {
  if (scores.is_none()) return nullptr;
  const auto array = array_of<InArray<double, nb::ndim<2>>>(scores, name);
  if (array.shape(0) != rows || array.shape(1) != static_cast<std::size_t>(n_labels))
    throw std::invalid_argument(std::string(name) + " has the wrong shape.");
  return array.data();
}

/// The numbers of the weights of all cells [rows, labels], below n_weights; none where every cell has its own.
inline casimir::SharedWeights checked_cells(const nb::object& cells, std::int64_t rows, int n_labels,
                                            std::int64_t n_weights) {
  if (cells.is_none()) return {};
  const auto array = array_of<InArray<std::uint32_t, nb::ndim<2>>>(cells, "cells");
  if (static_cast<std::int64_t>(array.shape(0)) != rows || array.shape(1) != static_cast<std::size_t>(n_labels))
    throw std::invalid_argument("cells needs a row for every feature and every label, with a number for every label.");
  for (std::size_t j = 0; j < array.size(); ++j)
    if (static_cast<std::int64_t>(array.data()[j]) >= n_weights)
      throw std::invalid_argument("a number in cells is not below n_weights.");
  return {array.data(), n_weights};
}

/// Checks that the arrays fit together. The problem looks into all of them but fixed_nodes.
inline casimir::LinearTokensData checked_tokens(const Ints& offsets, const Ints& indptr, const Indices& indices,
                                                const nb::object& values, std::int64_t n_features, int n_labels,
                                                const nb::object& y, const nb::object& truth,
                                                const nb::object& fixed_nodes, const nb::object& fixed_pairs,
                                                bool pairs_apart = false) {
  checked_label_count(n_labels);
  check_token_features(offsets, indptr, indices, n_features);
  const std::size_t tokens = indptr.size() - 1, sequences = offsets.size() - 1;
  const std::size_t pairs = (pairs_apart ? tokens - sequences : sequences) * static_cast<std::size_t>(n_labels);
  return {offsets.data(),
          static_cast<std::int64_t>(sequences),
          {indptr.data(), indices.data(), checked_values(values, indices.size())},
          n_features,
          n_labels,
          checked_labels(y, tokens, n_labels),
          checked_truth(truth, tokens + pairs, n_labels),
          checked_scores(fixed_nodes, tokens, n_labels, "fixed_nodes"),
          checked_scores(fixed_pairs, static_cast<std::size_t>(n_labels), n_labels, "fixed_pairs"),
          pairs_apart};
}
