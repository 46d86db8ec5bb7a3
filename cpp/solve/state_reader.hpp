// Reads a DualState one example after another, and never beyond its ends.
#pragma once

#include <algorithm>
#include <cmath>
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
  /// has_products: whether the blocks keep inner products.
  StateReader(const DualState& state, std::size_t examples, bool has_products) : state_(state) {
    check(state.counts.size() == examples && state.gaps.size() == examples);
    check(state.tabulated.size() == (has_products ? examples : 0));
    check(std::isfinite(state.ell));
    check(std::all_of(state.gaps.begin(), state.gaps.end(), [](double gap) { return gap >= 0.0; }));
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

  /// Those of a distribution, but for rounding: with others the dual value would be none.
  void take_weights(std::span<double> weight) {
    check(count_ == weight.size() && count_ <= state_.weights.size() - weight_);
    double sum = 0.0;
    for (double& value : weight) {
      value = state_.weights[weight_++];
      check(value >= 0.0);
      sum += value;
    }
    check(std::abs(sum - 1.0) <= kRounding);
  }

  void take_products(std::size_t i, std::size_t outputs, OutputProducts& products) {
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
  static constexpr double kRounding = 1e-6;

  const DualState& state_;
  std::size_t count_ = 0, output_ = 0, weight_ = 0, product_ = 0;
};

}  // namespace casimir
