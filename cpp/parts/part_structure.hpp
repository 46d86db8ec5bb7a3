// What outputs are made of: an output of example i is a vector of labels, and its score the sum of the cells that it
// uses. The cells of an example are those of its nodes, then those of its edges.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/topk_batch.hpp"

namespace casimir {

/// The oracles of one thread over the scores of the cells of example i, all finite.
class PartOracles {
 public:
  virtual ~PartOracles() = default;

  /// Writes the best output, the first in lexicographic order of those that tie; its score is the sum of its cells.
  virtual void max(std::int64_t i, const double* cells, std::int32_t* y) = 0;
  /// mu logsumexp(score / mu), and the marginals of all cells.
  virtual double expect(std::int64_t i, const double* cells, double mu, double* marginals) = 0;
  /// Adds the k best outputs, sorted; fewer once outputs that are not listed would get no weight in l2 smoothing.
  virtual void best(std::int64_t i, const double* cells, std::int64_t k, double mu, TopKBatch& out) = 0;
};

class PartStructure {
 public:
  virtual ~PartStructure() = default;

  virtual std::int64_t size() const = 0;
  virtual std::int64_t node_cells(std::int64_t i) const = 0;
  virtual std::int64_t edge_cells(std::int64_t i) const = 0;
  /// Entries of an output, and the labels that each may have.
  virtual std::int64_t length(std::int64_t i) const = 0;
  virtual std::int64_t labels(std::int64_t i) const = 0;
  /// The numbers of the cells of an output, ascending, within the example.
  virtual void cells_of(std::int64_t i, const std::int32_t* y, std::vector<std::int64_t>& cells) const = 0;
  virtual bool has_expect() const = 0;
  virtual std::unique_ptr<PartOracles> oracles() const = 0;
};

}  // namespace casimir
