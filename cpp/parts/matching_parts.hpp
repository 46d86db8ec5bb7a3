// Matchings: the cells of an example are a table of weights, and there are no edges. There is no expect.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "matching/assignment.hpp"
#include "parts/part_structure.hpp"

namespace casimir {

class MatchingParts final : public PartStructure {
 public:
  /// shapes: [size][2], rows and columns of every table; with `null` the last column is the weight of staying
  /// unmatched.
  MatchingParts(const std::int64_t* shapes, std::int64_t size, bool null) : shapes_(shapes), size_(size), null_(null) {}

  std::int64_t size() const override { return size_; }
  std::int64_t node_cells(std::int64_t i) const override { return shapes_[2 * i] * shapes_[2 * i + 1]; }
  std::int64_t edge_cells(std::int64_t) const override { return 0; }
  std::int64_t length(std::int64_t i) const override { return shapes_[2 * i]; }
  std::int64_t labels(std::int64_t i) const override { return shapes_[2 * i + 1]; }
  void cells_of(std::int64_t i, const std::int32_t* y, std::vector<std::int64_t>& cells) const override;
  bool has_expect() const override { return false; }
  std::unique_ptr<PartOracles> oracles() const override;

  WeightTable table(std::int64_t i, const double* cells) const {
    return {cells, static_cast<std::int32_t>(length(i)), static_cast<std::int32_t>(labels(i) - (null_ ? 1 : 0)), null_};
  }

 private:
  const std::int64_t* shapes_;
  std::int64_t size_;
  bool null_;
};

}  // namespace casimir
