#include "base/chunk_memory.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace casimir {

/// Multiples of 16 bytes, and above 256 four sizes from one power of two to the next.
ChunkMemory::Size ChunkMemory::rounded(std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes, 1);
  if (bytes <= kSmall) {
    const std::size_t units = (bytes + kUnit - 1) / kUnit;
    return {units * kUnit, units - 1};
  }
  const auto width = static_cast<std::size_t>(std::bit_width(bytes - 1));  // 2^(width - 1) < bytes <= 2^width
  const std::size_t step = std::size_t{1} << (width - 3), below = std::size_t{1} << (width - 1);
  const std::size_t quarter = (bytes - below + step - 1) / step;  // 1 to 4
  return {below + quarter * step, kSmall / kUnit + 4 * (width - 9) + quarter - 1};
}

std::byte* ChunkMemory::chunk(std::size_t bytes) {
  std::byte* found = more_(bytes);
  size_ += bytes;
  return found;
}

void* ChunkMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (alignment > kUnit) throw std::bad_alloc();
  const auto [size, kind] = rounded(bytes);
  if (Piece* known = free_[kind]) {
    free_[kind] = known->next;
    return known;
  }
  if (size >= kLarge) return chunk(size);
  if (static_cast<std::size_t>(end_ - next_) < size) {
    next_ = chunk(kChunk);
    end_ = next_ + kChunk;
  }
  return std::exchange(next_, next_ + size);
}

void ChunkMemory::do_deallocate(void* place, std::size_t bytes, std::size_t) {
  Piece*& first = free_[rounded(bytes).kind];
  first = new (place) Piece{first};
}

}  // namespace casimir
