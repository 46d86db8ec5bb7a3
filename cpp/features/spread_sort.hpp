// Sorting short lists of hash buckets, which lie evenly in 0 .. n - 1: each goes near its place at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace casimir {

/// Sorts numbers below `bound`. A count of the upper bits puts each number within a place or two of its own; one pass
/// of insertion does the rest. Right for any numbers, and quick for those that are spread evenly.
inline void spread_sort(std::span<std::uint32_t> numbers, std::uint32_t bound) {
  constexpr std::size_t n_bins = 64, most = 256;
  const std::size_t n = numbers.size();
  if (n > most) return std::sort(numbers.begin(), numbers.end());
  if (n > 12) {
    std::array<std::uint32_t, most> copy;
    std::array<std::uint8_t, most> bins;
    std::array<std::uint16_t, n_bins + 1> starts{};
    const std::uint64_t scale = (n_bins << 32) / bound;  // number * scale < n_bins 2^32
    for (std::size_t i = 0; i < n; ++i) {
      copy[i] = numbers[i];
      bins[i] = static_cast<std::uint8_t>(copy[i] * scale >> 32);
      ++starts[bins[i] + 1u];
    }
    for (std::size_t b = 1; b < n_bins; ++b) starts[b] = static_cast<std::uint16_t>(starts[b] + starts[b - 1]);
    for (std::size_t i = 0; i < n; ++i) numbers[starts[bins[i]]++] = copy[i];
  }
  for (std::size_t i = 1; i < n; ++i) {
    const std::uint32_t number = numbers[i];
    std::size_t j = i;
    for (; j > 0 && numbers[j - 1] > number; --j) numbers[j] = numbers[j - 1];
    numbers[j] = number;
  }
}

}  // namespace casimir
