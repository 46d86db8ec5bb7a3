// Memory of new arrays that the core writes.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "bind.hpp"

/// Memory, and where it is one of the large blocks that are kept, its size.
struct Block {
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> data;
  std::size_t bytes = 0;
};

/// The largest block that arrays gave back, up to kMost bytes, for the next array: the system clears new pages, which
/// takes longer than to write them. While nobody has the block, the system may take its pages.
class SpareBlock {
 public:
  static constexpr std::size_t kPage = std::size_t{1} << 21, kLeast = 2 * kPage, kMost = std::size_t{1} << 26;

  /// At least as many bytes.
  Block take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      if (kept_.bytes >= bytes && kept_.bytes / 2 <= bytes) return std::exchange(kept_, Block{});
    }
    const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
#if defined(__linux__)
    Block block{std::unique_ptr<void, Block::Free>(std::aligned_alloc(kPage, whole)), whole};
    if (block.data) ::madvise(block.data.get(), whole, MADV_HUGEPAGE);  // advice: nothing is lost where it is not taken
#else
    Block block{std::unique_ptr<void, Block::Free>(std::malloc(whole)), whole};
#endif
    return block;
  }

  void give(Block block) {
    if (block.bytes == 0 || block.bytes > kMost) return;
#if defined(__linux__) && defined(MADV_FREE)
    ::madvise(block.data.get(), block.bytes, MADV_FREE);
#endif
    const std::lock_guard lock(mutex_);
    if (block.bytes >= kept_.bytes) std::swap(kept_, block);
  }

 private:
  std::mutex mutex_;
  Block kept_;
};

/// It is never taken down: arrays may outlive whatever a module leaves behind.
inline SpareBlock& spare_block() {
  static auto* const spare = new SpareBlock;
  return *spare;
}

/// Memory of a new array. Large ones are in large pages: touching them for the first time costs less.
template <class T>
class Room {
 public:
  Room(std::size_t size, bool zeros) {
    const std::size_t bytes = size * sizeof(T);
    if (bytes >= SpareBlock::kLeast)
      block_ = spare_block().take(bytes);
    else
      block_.data.reset(std::malloc(bytes > 0 ? bytes : 1));
    if (!block_.data) throw std::bad_alloc();
    if (zeros) std::memset(block_.data.get(), 0, bytes);
  }
  T* data() { return static_cast<T*>(block_.data.get()); }

  /// A NumPy array of the given shape that owns the memory.
  nb::object array(const Shape& shape) && {
    T* values = data();
    nb::capsule owner(new Block(std::move(block_)), [](void* p) noexcept {
      const std::unique_ptr<Block> block(static_cast<Block*>(p));
      spare_block().give(std::move(*block));
    });
    return nb::cast(nb::ndarray<nb::numpy, T>(values, shape.size(), shape.data(), owner));
  }

 private:
  Block block_;
};
