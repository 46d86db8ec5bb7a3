// The length of what a block of marginals does to the weights.
#pragma once

#include <cstdint>

namespace casimir {

class BlockNorm {
 public:
  virtual ~BlockNorm() = default;
  /// |J_i^T x|^2, x a block of marginals of example i.
  virtual double squared(std::int64_t i, const double* x) = 0;
};

}  // namespace casimir
