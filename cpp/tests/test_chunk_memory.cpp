#include <cstring>
#include <memory>
#include <memory_resource>

#include "base/chunk_memory.hpp"
#include "testing.hpp"

using namespace testing;
using casimir::ChunkMemory;

namespace {

/// Chunks of the heap, counted.
struct Chunks {
  std::vector<std::unique_ptr<std::byte[]>> held;
  std::size_t bytes = 0;

  std::byte* more(std::size_t size) {
    held.push_back(std::make_unique<std::byte[]>(size + 64));
    bytes += size;
    const auto place = reinterpret_cast<std::uintptr_t>(held.back().get());
    return held.back().get() + (64 - place % 64) % 64;
  }
  ChunkMemory memory() {
    return ChunkMemory([this](std::size_t size) { return more(size); });
  }
};

struct Piece {
  unsigned char* place;
  std::size_t bytes;
  unsigned char mark;
};

void check_marks(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces)
    check(std::all_of(piece.place, piece.place + piece.bytes, [&](unsigned char c) { return c == piece.mark; }));
}

/// Pieces of all sizes, given back at random, never share a byte.
void check_pieces() {
  Random random(3);
  Chunks chunks;
  ChunkMemory memory = chunks.memory();
  std::vector<Piece> pieces;
  for (int turn = 0; turn < 3000; ++turn) {
    if (!pieces.empty() && random.below(2) == 0) {
      const auto k = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(pieces.size())));
      memory.deallocate(pieces[k].place, pieces[k].bytes, 8);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(k));
    } else {
      const std::int64_t most = random.below(50) == 0 ? 900000 : random.below(5) == 0 ? 5000 : 300;
      const auto bytes = static_cast<std::size_t>(random.below(most) + 1);
      auto* place = static_cast<unsigned char*>(memory.allocate(bytes, 16));
      check(reinterpret_cast<std::uintptr_t>(place) % 16 == 0);
      pieces.push_back({place, bytes, static_cast<unsigned char>(turn)});
      std::memset(place, turn & 255, bytes);
    }
    if (turn % 100 == 0) check_marks(pieces);
  }
  check_marks(pieces);
  check(memory.size() == chunks.bytes);
}

/// What is given back is used again, so that a vector that grows and shrinks takes no more chunks.
void check_reuse() {
  Chunks chunks;
  ChunkMemory memory = chunks.memory();
  std::size_t first = 0;
  for (int turn = 0; turn < 50; ++turn) {
    std::pmr::vector<double> grown(&memory);
    for (int k = 0; k < 20000; ++k) grown.push_back(k);
    for (int k = 0; k < 20000; ++k) check(grown[static_cast<std::size_t>(k)] == k);
    if (turn == 0) first = chunks.bytes;
  }
  check(chunks.bytes == first);
}

}  // namespace

void test_chunk_memory() {
  check_pieces();
  check_reuse();
}
