// Inner products of the cached outputs of one example: with them a dual step between two outputs knows its curvature
// and what it does to the scores of all, without a look at weights or features.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <vector>

#include "base/reserve.hpp"

namespace casimir {

/// <a_k, a_l> with a_k = A_i^T (y_k - y_0), y_0 the truth; row by row as outputs are added.
class OutputProducts {
 public:
  explicit OutputProducts(std::pmr::polymorphic_allocator<> memory = {}) : narrow_(memory), wide_(memory) {}

  static constexpr std::size_t kMost = 64;  // outputs with a table; some examples have hundreds, and cells are squares

  std::size_t count() const { return count_; }

  double operator()(std::size_t k, std::size_t l) const {
    const std::size_t cell = k < l ? start(l) + k : start(k) + l;
    return wide_.empty() ? narrow_[cell] : wide_[cell];
  }

  /// Adds an output: the products with those before it and with itself.
  void add(const double* products) {
    const double* end = products + ++count_;
    if (wide_.empty() && std::all_of(products, end, [](double x) { return static_cast<float>(x) == x; }))
      return append(narrow_, products, end);
    if (wide_.empty()) wide_.assign(narrow_.begin(), narrow_.end());
    narrow_.clear();
    narrow_.shrink_to_fit();
    append(wide_, products, end);
  }

  /// |a_k - a_l|^2
  double squared_distance(std::size_t k, std::size_t l) const {
    return (*this)(k, k) + (*this)(l, l) - 2.0 * (*this)(k, l);
  }

  /// scores_m -= amount <a_m, a_to - a_from>, for all m.
  void shift(std::vector<double>& scores, std::size_t to, std::size_t from, double amount) const {
    for (std::size_t m = 0; m < scores.size(); ++m) scores[m] -= amount * ((*this)(m, to) - (*this)(m, from));
  }

  /// Appends all rows to `found`.
  void copy_to(std::vector<double>& found) const {
    found.insert(found.end(), narrow_.begin(), narrow_.end());
    found.insert(found.end(), wide_.begin(), wide_.end());
  }

  void prefetch() const {
    constexpr std::size_t line = 64 / sizeof(float);
    for (std::size_t cell = 0; cell < narrow_.size(); cell += line) __builtin_prefetch(narrow_.data() + cell);
    for (std::size_t cell = 0; cell < wide_.size(); cell += line / 2) __builtin_prefetch(wide_.data() + cell);
  }

 private:
  static std::size_t start(std::size_t k) { return k * (k + 1) / 2; }

  template <class Cells>
  static void append(Cells& cells, const double* begin, const double* end) {
    reserve_more(cells, static_cast<std::size_t>(end - begin));
    for (; begin != end; ++begin) cells.push_back(static_cast<typename Cells::value_type>(*begin));
  }

  // [count][up to itself], in one of these:
  std::pmr::vector<float> narrow_;  // as long as no product is rounded, as those of features without values
  std::pmr::vector<double> wide_;
  std::size_t count_ = 0;
};

}  // namespace casimir
