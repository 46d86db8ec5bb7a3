// IEEE half precision, for storage alone: sums are taken in double.
#pragma once

#include <cstdint>
#include <cstring>

namespace casimir {

struct Half {
  std::uint16_t bits;

  /// Exact for finite numbers. The exponent's bias is 15 in the one and 127 in the other format; a product with 2^112
  /// makes up for it, and makes numbers below 2^-14, which have no leading bit, right too.
  operator float() const {
    const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fff) << 13;
    float shifted;
    std::memcpy(&shifted, &magnitude, sizeof shifted);
    const float value = shifted * 5.192296858534828e33f;
    return bits & 0x8000 ? -value : value;
  }
};

}  // namespace casimir
