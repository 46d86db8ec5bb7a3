// Three numbers -> one, in a table that is emptied at once: for what is counted anew in every document.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "features/hash.hpp"

namespace casimir::text {

using Triple = std::array<std::uint32_t, 3>;

/// a == b, without the call of memcmp that the operator makes.
inline bool same(const Triple& a, const Triple& b) { return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2])) == 0; }

class RoundMap {
 public:
  using Key = Triple;

  RoundMap() : slots_(64) {}

  /// The value of a key, and whether the key is new; its value is `fresh` then.
  std::pair<std::uint32_t, bool> try_emplace(const Key& key, std::uint32_t fresh) {
    std::size_t slot = locate(key);
    if (slots_[slot].round == round_) return {slots_[slot].value, false};
    if (2 * (size_ + 1) > slots_.size()) {
      grow();
      slot = locate(key);
    }
    slots_[slot] = {key, fresh, round_};
    ++size_;
    return {fresh, true};
  }

  void clear() {
    size_ = 0;
    if (++round_ != 0) return;
    slots_.assign(slots_.size(), {});  // after 2^32 rounds
    round_ = 1;
  }

  std::size_t size() const { return size_; }

 private:
  struct Slot {
    Key key{};
    std::uint32_t value = 0, round = 0;  // a slot of another round is free
  };

  std::size_t locate(const Key& key) const {
    const std::uint64_t hash = hash_detail::scramble((std::uint64_t{key[0]} << 32 | key[1]) + key[2]);
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = hash & mask;
    while (slots_[slot].round == round_ && !same(slots_[slot].key, key)) slot = (slot + 1) & mask;
    return slot;
  }

  void grow() {
    std::vector<Slot> old(4 * slots_.size());
    old.swap(slots_);
    for (const Slot& entry : old)
      if (entry.round == round_) slots_[locate(entry.key)] = entry;
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  std::uint32_t round_ = 1;
};

}  // namespace casimir::text
