// The check of edge scores, which are one matrix for all edges or one per edge.
#pragma once

#include <string>

#include "bind.hpp"

using EdgeScores = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

/// Whether one matrix is shared by all edges; throws unless `edges` is [labels, labels] or [count, labels, labels].
inline bool checked_shared(const EdgeScores& edges, std::size_t count, std::size_t labels, const char* count_name) {
  const std::size_t ndim = edges.ndim();
  const bool matrices = (ndim == 2 || ndim == 3) && edges.shape(ndim - 2) == labels && edges.shape(ndim - 1) == labels;
  if (!matrices || (ndim == 3 && edges.shape(0) != count))
    throw std::invalid_argument(std::string("edges must be [labels, labels] or [") + count_name +
                                ", labels, labels], with " + std::to_string(labels) + " labels and " +
                                std::to_string(count) + " " + count_name + ".");
  return ndim == 2;
}
