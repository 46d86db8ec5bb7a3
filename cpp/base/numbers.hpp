// Small words that every kernel uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace casimir {

inline constexpr double kInf = std::numeric_limits<double>::infinity();

// An index of a standard container.
constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace casimir
