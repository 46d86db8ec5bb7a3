// Inner products of the cached outputs of one example: with them a dual step between two outputs knows its curvature
// and what it does to the scores of all, without a look at weights or features.
#pragma once

#include <cstddef>
#include <vector>

namespace casimir {

/// <a_k, a_l> with a_k = A_i^T (y_k - y_0), y_0 the truth; row by row as outputs are added.
class OutputProducts {
 public:
  static constexpr std::size_t kMost = 64;  // outputs with a table; some examples have hundreds, and cells are squares

  std::size_t count() const { return count_; }
  const std::vector<double>& cells() const { return cells_; }

  double operator()(std::size_t k, std::size_t l) const { return k < l ? cells_[start(l) + k] : cells_[start(k) + l]; }

  /// Adds an output: the products with those before it and with itself, which the caller writes.
  double* add() {
    cells_.resize(start(count_ + 1));
    return cells_.data() + start(count_++);
  }

  /// |a_k - a_l|^2
  double squared_distance(std::size_t k, std::size_t l) const {
    return (*this)(k, k) + (*this)(l, l) - 2.0 * (*this)(k, l);
  }

  /// scores_m -= amount <a_m, a_to - a_from>, for all m.
  void shift(std::vector<double>& scores, std::size_t to, std::size_t from, double amount) const {
    for (std::size_t m = 0; m < scores.size(); ++m) scores[m] -= amount * ((*this)(m, to) - (*this)(m, from));
  }

  void prefetch() const {
    constexpr std::size_t line = 64 / sizeof(double);
    for (std::size_t cell = 0; cell < cells_.size(); cell += line) __builtin_prefetch(cells_.data() + cell);
  }

 private:
  static std::size_t start(std::size_t k) { return k * (k + 1) / 2; }

  std::vector<double> cells_;  // [count][up to itself]
  std::size_t count_ = 0;
};

}  // namespace casimir
