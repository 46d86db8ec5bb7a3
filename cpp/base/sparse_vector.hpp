// A vector in little memory where most of its numbers are 0, as the weights of a model of text are between epochs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "base/vectors.hpp"

namespace casimir {

/// A bit for every number, and the numbers whose bit is set, in their order: those other than +0. Where these are more
/// than half of 64 neighbours, all 64 are kept, which costs little memory and is faster. Numbers are worked on by
/// chunks that fit into a first-level cache.
class SparseVector {
 public:
  SparseVector(const double* x, std::int64_t size, int threads = 1)
      : size_(size), chunks_(static_cast<std::size_t>((size + kChunk - 1) / kChunk)) {
    for_each_chunk(*this, threads,
                   [x](Chunk& chunk, std::int64_t begin, std::int64_t count) { chunk.set(x + begin, count); });
  }

  std::int64_t size() const { return size_; }

  std::int64_t bytes() const {
    std::size_t total = chunks_.size() * sizeof(Chunk);
    for (const Chunk& chunk : chunks_) total += chunk.values.size() * sizeof(double);
    return static_cast<std::int64_t>(total);
  }

  /// out = this
  void write(double* out, int threads = 1) const {
    for_each_chunk(*this, threads, [out](const Chunk& chunk, std::int64_t begin, std::int64_t count) {
      chunk.write(out + begin, count);
    });
  }

  /// this = a this + b y
  void mix(double a, double b, const double* y, int threads = 1) {
    for_each_chunk(*this, threads, [a, b, y](Chunk& chunk, std::int64_t begin, std::int64_t count) {
      std::array<double, kChunk> own;
      chunk.write(own.data(), count);
      combine(a, own.data(), b, y + begin, count, own.data());
      chunk.set(own.data(), count);
    });
  }

  /// y = a this + b y
  void add_to(double a, double b, double* y, int threads = 1) const {
    for_each_chunk(*this, threads, [a, b, y](const Chunk& chunk, std::int64_t begin, std::int64_t count) {
      std::array<double, kChunk> own;
      chunk.write(own.data(), count);
      combine(a, own.data(), b, y + begin, count, y + begin);
    });
  }

  /// (<g, g>, <g, y>) of g = a this + b y
  std::pair<double, double> products_of_sum(double a, double b, const double* y, int threads = 1) const {
    std::vector<std::pair<double, double>> parts(chunks_.size());  // added in order, whatever the threads
    for_each_chunk(*this, threads, [&, a, b, y](const Chunk& chunk, std::int64_t begin, std::int64_t count) {
      std::array<double, kChunk> own;
      chunk.write(own.data(), count);
      parts[static_cast<std::size_t>(begin / kChunk)] = casimir::products_of_sum(a, own.data(), b, y + begin, count);
    });
    double square = 0.0, product = 0.0;
    for (const auto& [of_g, with_y] : parts) square += of_g, product += with_y;
    return {square, product};
  }

 private:
  static constexpr std::int64_t kWord = 64, kWords = 64, kChunk = kWord * kWords;
  static constexpr std::int64_t kFewest = 16;  // chunks of a thread: waking it takes as long as one or two

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
    for (std::int64_t i = 0; i < count; ++i) word |= std::uint64_t{std::bit_cast<std::uint64_t>(x[i]) != 0} << i;
    return count == kWord && std::popcount(word) > kWord / 2 ? ~std::uint64_t{0} : word;
  }

  /// act(chunk, its first number, how many it has)
  template <class Self, class Act>
  static void for_each_chunk(Self& self, int threads, Act act) {
    const auto chunks = static_cast<std::int64_t>(self.chunks_.size());
    const auto most = static_cast<int>(std::min<std::int64_t>(threads, chunks / kFewest));
    parallel_chunks(chunks, std::max(most, 1), [&](std::int64_t first, std::int64_t last, int) {
      for (std::int64_t k = first; k < last; ++k)
        act(self.chunks_[static_cast<std::size_t>(k)], k * kChunk, std::min(kChunk, self.size_ - k * kChunk));
    });
  }

  std::int64_t size_;
  std::vector<Chunk> chunks_;
};

}  // namespace casimir
