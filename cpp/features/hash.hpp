// A 64-bit hash of byte strings and its reduction to buckets. Model files depend on both: a change needs a new version.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace casimir {

/// Stored in model files; raise it whenever a string may get another bucket than before.
inline constexpr int hash_version = 1;

namespace hash_detail {

// The first 64 fractional bits of sqrt(2), sqrt(3), sqrt(5) and sqrt(7), made odd where they multiply.
inline constexpr std::uint64_t root2 = 0x6a09e667f3bcc909, root3 = 0xbb67ae8584caa73b;
inline constexpr std::uint64_t root5 = 0x3c6ef372fe94f82b, root7 = 0xa54ff53a5f1d36f1;

/// Eight bytes as a little-endian number, whatever the machine.
inline std::uint64_t load_word(const char* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  if constexpr (std::endian::native == std::endian::big) {
    std::uint64_t swapped = 0;
    for (int shift = 0; shift < 64; shift += 8) swapped = (swapped << 8) | ((word >> shift) & 0xff);
    word = swapped;
  }
  return word;
}

/// The last 0 to 7 bytes, zeros above them.
inline std::uint64_t load_tail(const char* bytes, std::size_t size) {
  char padded[8] = {};
  std::memcpy(padded, bytes, size);
  return load_word(padded);
}

/// A bijection of 64 bits; each multiplication carries low bits up, each shift brings high bits down.
inline std::uint64_t scramble(std::uint64_t x) {
  x *= root3;
  x ^= x >> 32;
  x *= root5;
  x ^= x >> 29;
  return x;
}

}  // namespace hash_detail

/// h_0 = root2 ^ scramble(size), h_{j+1} = scramble(h_j ^ word_j) + root7, then one more bijection so that all bits
/// depend on all bytes. Strings of equal size that differ in one word never collide.
inline std::uint64_t hash_bytes(std::string_view text) {
  using namespace hash_detail;
  const char* bytes = text.data();
  std::size_t left = text.size();
  std::uint64_t h = root2 ^ scramble(left);
  for (; left >= 8; left -= 8, bytes += 8) h = scramble(h ^ load_word(bytes)) + root7;
  if (left > 0) h = scramble(h ^ load_tail(bytes, left)) + root7;
  return scramble(std::rotl(h, 23) ^ root7);
}

/// floor(hash * n_buckets / 2^64): unbiased to n_buckets / 2^64 for any number of buckets, a power of two or not.
inline std::uint32_t bucket_of(std::uint64_t hash, std::uint32_t n_buckets) {
  const std::uint64_t high = (hash >> 32) * n_buckets, low = (hash & 0xffffffff) * n_buckets;
  return static_cast<std::uint32_t>((high + (low >> 32)) >> 32);
}

}  // namespace casimir
