// Scores of the labels of every token that do not depend on the weights, such as costs. Equal rows are kept once: for
// most costs there are as many different ones as labels.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "weights/weight_view.hpp"

namespace casimir {

class FixedRows {
 public:
  FixedRows() = default;
  /// scores: [tokens][labels], or null: none. -inf is a score as well.
  FixedRows(const double* scores, std::int64_t tokens, RowShape shape,
            std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  bool empty() const { return of_token_.empty(); }
  /// The row of `stride` doubles of a token; its padding is 0.
  const double* row(std::int64_t token) const {
    return rows_.data() + static_cast<std::int64_t>(of_token_[static_cast<std::size_t>(token)]) * stride_;
  }
  /// Asks the memory for what row(token) reads first.
  void prefetch(std::int64_t token) const {
    if (!empty()) __builtin_prefetch(of_token_.data() + token);
  }

 private:
  std::int64_t stride_ = 0;
  std::pmr::vector<std::int32_t> of_token_;
  std::vector<double> rows_;
};

}  // namespace casimir
