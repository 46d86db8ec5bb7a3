// Feature name <-> number, numbered in order of first appearance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "features/hash.hpp"

namespace casimir {

/// Names lie one after another in `blob`; `slots` is an open-addressing table of (number, low half of the hash).
class FeatureTable {
 public:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  FeatureTable() : offsets_{0}, slots_(64) {}

  /// The table whose name i is blob[offsets[i]:offsets[i + 1]].
  FeatureTable(std::string_view blob, std::span<const std::int64_t> offsets) : FeatureTable() {
    if (offsets.empty() || offsets.front() != 0 || offsets.back() != static_cast<std::int64_t>(blob.size()))
      throw std::invalid_argument("vocabulary offsets must start at 0 and end at the size of the text");
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      if (offsets[i] > offsets[i + 1] || offsets[i + 1] > offsets.back())
        throw std::invalid_argument("vocabulary offsets must not decrease");
      const auto begin = static_cast<std::size_t>(offsets[i]), end = static_cast<std::size_t>(offsets[i + 1]);
      if (intern(blob.substr(begin, end - begin)) != i)
        throw std::invalid_argument("vocabulary names must be distinct; name " + std::to_string(i) + " is repeated");
    }
  }

  std::size_t size() const { return offsets_.size() - 1; }
  const std::string& blob() const { return blob_; }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }

  std::string_view name(std::size_t i) const {
    return std::string_view(blob_).substr(static_cast<std::size_t>(offsets_[i]),
                                          static_cast<std::size_t>(offsets_[i + 1] - offsets_[i]));
  }

  /// The number of `name`, or `none`.
  std::uint32_t find(std::string_view name) const { return slots_[locate(name, low_half(name))].number; }

  /// The number of `name`, a new one if it is not yet there.
  std::uint32_t intern(std::string_view name) {
    const std::uint32_t tag = low_half(name);
    std::size_t slot = locate(name, tag);
    if (slots_[slot].number != none) return slots_[slot].number;
    if (size() + 1 >= none) throw std::invalid_argument("a vocabulary holds fewer than 2^32 - 1 names");
    if (2 * (size() + 1) > slots_.size()) {
      grow();
      slot = locate(name, tag);
    }
    const auto number = static_cast<std::uint32_t>(size());
    blob_.append(name);
    offsets_.push_back(static_cast<std::int64_t>(blob_.size()));
    slots_[slot] = {number, tag};
    return number;
  }

 private:
  struct Slot {
    std::uint32_t number = none, tag = 0;
  };

  static std::uint32_t low_half(std::string_view name) { return static_cast<std::uint32_t>(hash_bytes(name)); }

  /// The slot that holds `name`, or the free one where it belongs.
  std::size_t locate(std::string_view text, std::uint32_t tag) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = tag & mask;
    while (slots_[slot].number != none && (slots_[slot].tag != tag || name(slots_[slot].number) != text))
      slot = (slot + 1) & mask;
    return slot;
  }

  void grow() {
    std::vector<Slot> old(4 * slots_.size());
    old.swap(slots_);
    const std::size_t mask = slots_.size() - 1;
    for (const Slot& entry : old) {
      if (entry.number == none) continue;
      std::size_t slot = entry.tag & mask;
      while (slots_[slot].number != none) slot = (slot + 1) & mask;
      slots_[slot] = entry;
    }
  }

  std::string blob_;
  std::vector<std::int64_t> offsets_;
  std::vector<Slot> slots_;
};

}  // namespace casimir
