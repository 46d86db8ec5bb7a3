// One chain of a batch, as the inner loops read it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/numbers.hpp"
#include "chain/allowed_sums.hpp"
#include "chain/chain_batch.hpp"
#include "chain/chain_ops.hpp"

namespace casimir {

/// Padded copies of one chain's scores, and room for the tables of its oracles.
class PaddedChain {
 public:
  explicit PaddedChain(const ChainBatch& batch)
      : batch_(batch), shape_{batch.labels, stride_of(batch.labels)}, ops_(chain_ops(shape_.stride)) {
    if (!batch.shared_edges) return;
    allowed_ = AllowedPairs(batch.labels, batch.edges, batch.labels);
    if (allowed_) scores_.load(allowed_, batch.edges, batch.labels);
    pad_edges(batch.edges, 1);
  }

  void load(std::int64_t i) {
    p_ = batch_.length(i);
    const std::int64_t stride = shape_.stride, labels = shape_.labels;
    u_.assign(static_cast<std::size_t>(p_ * stride), -kInf);
    const double* nodes = batch_.nodes + batch_.offsets[i] * labels;
    for (std::int64_t t = 0; t < p_; ++t)
      std::copy(nodes + t * labels, nodes + (t + 1) * labels, u_.begin() + t * stride);
    // Example i has one edge less than nodes, so its first edge is number offsets[i] - i.
    if (!batch_.shared_edges) pad_edges(batch_.edges + (batch_.offsets[i] - i) * labels * labels, p_ - 1);
  }

  void max_tables() {
    beta_.resize(u_.size());
    best_.resize(u_.size());
    ops_.backward_max(shape_, p_, u_.data(), transitions(), beta_.data(), best_.data());
  }

  /// The best labels, and their score.
  double best_path(std::vector<std::int32_t>& path) {
    max_tables();
    path.resize(static_cast<std::size_t>(p_));
    const double* first = std::max_element(beta_.data(), beta_.data() + shape_.labels);
    path[0] = static_cast<std::int32_t>(first - beta_.data());
    ops_.follow(shape_, p_, 0, transitions(), beta_.data(), best_.data(), nullptr, path.data(), nullptr);
    return *first;
  }

  /// mu logsumexp(score / mu)
  double log_sum(double mu) {
    work_.resize(static_cast<std::size_t>(3 * p_ * shape_.stride));
    const double value = forbids() ? std::numeric_limits<double>::quiet_NaN()
                                   : ops_.log_sum(shape_, p_, u_.data(), transitions(), potentials_, mu, work_.data());
    return std::isnan(value) ? expect(mu) : value;
  }

  /// The same, and marginals with padded rows.
  double expect(double mu) {
    const std::int64_t block = shape_.labels * shape_.stride;
    nodes_.resize(static_cast<std::size_t>(p_ * shape_.stride));
    edges_.resize(static_cast<std::size_t>(p_ * block));
    return expect(mu, nodes_.data(), edges_.data(), block);
  }
  /// The same, with the marginals as ChainOps::expect writes them.
  double expect(double mu, double* nodes, double* edges, std::int64_t edge_step) {
    work_.resize(static_cast<std::size_t>(3 * p_ * shape_.stride));
    if (allowed_) return sums_.expect(shape_, p_, u(), transitions(), mu, nodes, edges, edge_step, work_.data());
    return ops_.expect(shape_, p_, u(), transitions(), potentials_, mu, nodes, edges, edge_step, work_.data());
  }

  /// mu logsumexp(score / mu), and marginals of which those of pairs are added up.
  double expect_of_sums(double mu) {
    nodes_.resize(static_cast<std::size_t>(p_ * shape_.stride));
    edges_.assign(static_cast<std::size_t>(shape_.labels * shape_.stride), 0.0);
    return expect(mu, nodes_.data(), edges_.data(), 0);
  }

  const double* node_marginals() const { return nodes_.data(); }
  const double* edge_marginals() const { return edges_.data(); }

  Transitions transitions() const {
    return {to_.data(), from_.data(),
            batch_.shared_edges ? 0 : static_cast<std::int64_t>(shape_.labels) * shape_.stride,
            allowed_ ? &scores_ : nullptr};
  }

  const ChainOps& ops() const { return ops_; }
  RowShape shape() const { return shape_; }
  std::int64_t length() const { return p_; }
  const double* u() const { return u_.data(); }
  const double* beta() const { return beta_.data(); }
  const double* best() const { return best_.data(); }

 private:
  /// Whether a score is -inf; the padding is, and does not count.
  bool forbids() const {
    const auto has = [&](const std::vector<double>& rows) {
      for (std::size_t row = 0; row < rows.size(); row += static_cast<std::size_t>(shape_.stride))
        if (std::find(&rows[row], &rows[row] + shape_.labels, -kInf) != &rows[row] + shape_.labels) return true;
      return false;
    };
    return allowed_ || has(u_) || has(to_);
  }

  void pad_edges(const double* edges, std::int64_t count) {
    const std::int64_t stride = shape_.stride, labels = shape_.labels, block = labels * stride;
    to_.assign(static_cast<std::size_t>(std::max<std::int64_t>(count, 0) * block), -kInf);
    for (std::int64_t y = 0; y < count * labels; ++y) std::copy_n(edges + y * labels, labels, to_.data() + y * stride);
    if (allowed_) return;
    from_.assign(to_.size(), -kInf);
    for (std::int64_t e = 0; e < count; ++e)
      for (std::int64_t y = 0; y < labels; ++y)
        for (std::int64_t z = 0; z < labels; ++z)
          from_[static_cast<std::size_t>(e * block + z * stride + y)] = edges[(e * labels + y) * labels + z];
  }

  const ChainBatch& batch_;
  RowShape shape_;
  const ChainOps& ops_;
  std::int64_t p_ = 0;
  std::vector<double> u_, to_, from_, beta_, best_, work_, nodes_, edges_;
  Potentials potentials_;
  AllowedPairs allowed_;  // of pairs that all chains share, where few are allowed
  AllowedScores scores_;
  AllowedSums sums_;
};

/// Rows without their padding. Whole vectors are written, whose last entries the next row covers.
inline void unpad(RowShape shape, const double* padded, std::int64_t rows, double* out) {
  const std::int64_t labels = shape.labels, stride = shape.stride;
  std::int64_t row = 0;
  for (; row * labels + stride <= rows * labels; ++row)
    for (std::int64_t j = 0; j < stride; j += 4)
      std::memcpy(out + row * labels + j, padded + row * stride + j, 4 * sizeof(double));
  for (; row < rows; ++row) std::copy_n(padded + row * stride, labels, out + row * labels);
}

}  // namespace casimir
