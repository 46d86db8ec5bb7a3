// Reads a DualState one example after another, and never beyond its ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "solve/dual.hpp"
#include "solve/output_products.hpp"

namespace casimir {

class StateReader {
 public:
  StateReader(const DualState& state, std::size_t examples) : state_(state) {
    check(state.counts.size() == examples && state.gaps.size() == examples);
  }

  static void check(bool fits) {
    if (!fits) throw std::invalid_argument("the state of dual blocks does not fit their problem.");
  }

  /// The cached outputs of example i.
  std::size_t count(std::size_t i) {
    check(state_.counts[i] >= 1);
    count_ = static_cast<std::size_t>(state_.counts[i]);
    return count_;
  }

  /// The next output, `size` labels below `labels`.
  const std::int32_t* output(std::size_t size, std::int64_t labels) {
    check(size <= state_.outputs.size() - output_);
    const std::int32_t* found = state_.outputs.data() + output_;
    check(std::all_of(found, found + size, [&](std::int32_t y) { return y >= 0 && y < labels; }));
    output_ += size;
    return found;
  }

  void take_weights(std::span<double> weight) {
    check(count_ == weight.size() && count_ <= state_.weights.size() - weight_);
    std::copy_n(state_.weights.begin() + static_cast<std::ptrdiff_t>(weight_), count_, weight.begin());
    weight_ += count_;
  }

  void take_products(std::size_t i, std::size_t outputs, OutputProducts& products) {
    check(i < state_.tabulated.size());
    const auto rows = static_cast<std::size_t>(state_.tabulated[i]);
    check(rows <= outputs);
    for (std::size_t k = 0; k < rows; ++k) {
      check(k + 1 <= state_.products.size() - product_);
      products.add(state_.products.data() + product_);
      product_ += k + 1;
    }
  }

  bool is_at_end() const {
    return output_ == state_.outputs.size() && weight_ == state_.weights.size() && product_ == state_.products.size();
  }

 private:
  const DualState& state_;
  std::size_t count_ = 0, output_ = 0, weight_ = 0, product_ = 0;
};

}  // namespace casimir
