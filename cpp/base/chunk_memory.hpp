// Memory in small pieces, cut from chunks that somebody else provides, such as parts of a mapped file.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory_resource>

namespace casimir {

/// Pieces that are given back are used again for pieces of about that size. One thread at a time.
class ChunkMemory final : public std::pmr::memory_resource {
 public:
  /// A chunk of so many bytes, at a multiple of 64, that stays as long as this object.
  using Source = std::function<std::byte*(std::size_t)>;

  explicit ChunkMemory(Source more) : more_(std::move(more)) {}
  ChunkMemory(const ChunkMemory&) = delete;
  ChunkMemory& operator=(const ChunkMemory&) = delete;

  /// Bytes of all chunks so far.
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 20, kLarge = kChunk / 4;
  static constexpr std::size_t kUnit = 16, kSmall = 256, kClasses = kSmall / kUnit + 4 * 56;

  struct Piece {
    Piece* next;
  };
  struct Size {
    std::size_t bytes;  // rounded up
    std::size_t kind;   // the number of pieces of that size
  };

  static Size rounded(std::size_t bytes);
  std::byte* chunk(std::size_t bytes);
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* place, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  Source more_;
  std::array<Piece*, kClasses> free_{};
  std::byte *next_ = nullptr, *end_ = nullptr;  // what is left of the last chunk
  std::size_t size_ = 0;
};

}  // namespace casimir
