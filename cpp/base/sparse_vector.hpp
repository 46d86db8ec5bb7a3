// A vector in little memory where most of its numbers are 0, as the weights of a model of text are between epochs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/vectors.hpp"

namespace casimir {

/// A bit for every number, and the numbers whose bit is set, in their order: those other than +0. Where these are more
/// than half of 64 neighbours, all 64 are kept, which costs little memory and is faster. Numbers are worked on by
/// chunks that fit into a first-level cache.
class SparseVector {
 public:
  SparseVector(const double* x, std::int64_t size)
      : size_(size), chunks_(static_cast<std::size_t>((size + kChunk - 1) / kChunk)) {
    for_each_chunk(*this, [x](Chunk& chunk, std::int64_t begin, std::int64_t count) { chunk.set(x + begin, count); });
  }

  std::int64_t size() const { return size_; }

  std::int64_t bytes() const {
    std::size_t total = chunks_.size() * sizeof(Chunk);
    for (const Chunk& chunk : chunks_) total += chunk.values.size() * sizeof(double);
    return static_cast<std::int64_t>(total);
  }

  /// out = this
  void write(double* out) const {
    for_each_chunk(*this, [out](const Chunk& chunk, std::int64_t begin, std::int64_t count) {
      chunk.write(out + begin, count);
    });
  }

  /// this = a this + b y
  void mix(double a, double b, const double* y) {
    std::array<double, kChunk> own;
    for_each_chunk(*this, [&, a, b, y](Chunk& chunk, std::int64_t begin, std::int64_t count) {
      chunk.write(own.data(), count);
      combine(a, own.data(), b, y + begin, count, own.data());
      chunk.set(own.data(), count);
    });
  }

  /// y = a this + b y
  void add_to(double a, double b, double* y) const {
    std::array<double, kChunk> own;
    for_each_chunk(*this, [&, a, b, y](const Chunk& chunk, std::int64_t begin, std::int64_t count) {
      chunk.write(own.data(), count);
      combine(a, own.data(), b, y + begin, count, y + begin);
    });
  }

  /// (<g, g>, <g, y>) of g = a this + b y
  std::pair<double, double> products_of_sum(double a, double b, const double* y) const {
    std::array<double, kChunk> own;
    double square = 0.0, product = 0.0;
    for_each_chunk(*this, [&, a, b, y](const Chunk& chunk, std::int64_t begin, std::int64_t count) {
      chunk.write(own.data(), count);
      const auto [of_g, with_y] = casimir::products_of_sum(a, own.data(), b, y + begin, count);
      square += of_g;
      product += with_y;
    });
    return {square, product};
  }

 private:
  static constexpr std::int64_t kWord = 64, kWords = 64, kChunk = kWord * kWords;

  struct Chunk {
    std::array<std::uint64_t, kWords> bits{};
    std::vector<double> values;

    void set(const double* x, std::int64_t count) {
      std::size_t kept = 0;
      for (std::int64_t first = 0; first < count; first += kWord) {
        const std::uint64_t word = bits_of(x + first, std::min(kWord, count - first));
        bits[static_cast<std::size_t>(first / kWord)] = word;
        kept += static_cast<std::size_t>(std::popcount(word));
      }
      if (kept != values.size()) values = std::vector<double>(kept);
      double* next = values.data();
      for_each_kept(count, [&](std::int64_t i) { *next++ = x[i]; });
    }

    void write(double* out, std::int64_t count) const {
      std::fill_n(out, count, 0.0);
      const double* next = values.data();
      for_each_kept(count, [&](std::int64_t i) { out[i] = *next++; });
    }

    template <class See>
    void for_each_kept(std::int64_t count, See see) const {
      for (std::int64_t first = 0; first < count; first += kWord) {
        std::uint64_t word = bits[static_cast<std::size_t>(first / kWord)];
        if (~word == 0)
          for (std::int64_t i = 0; i < kWord; ++i) see(first + i);
        else
          for (; word; word &= word - 1) see(first + std::countr_zero(word));
      }
    }
  };

  static std::uint64_t bits_of(const double* x, std::int64_t count) {
    std::uint64_t word = 0;
    for (std::int64_t i = 0; i < count; ++i)
      word |= std::uint64_t{std::bit_cast<std::uint64_t>(x[i]) != 0} << i;
    return count == kWord && std::popcount(word) > kWord / 2 ? ~std::uint64_t{0} : word;
  }

  /// act(chunk, its first number, how many it has)
  template <class Self, class Act>
  static void for_each_chunk(Self& self, Act act) {
    for (std::int64_t begin = 0; begin < self.size_; begin += kChunk)
      act(self.chunks_[static_cast<std::size_t>(begin / kChunk)], begin, std::min(kChunk, self.size_ - begin));
  }

  std::int64_t size_;
  std::vector<Chunk> chunks_;
};

}  // namespace casimir
