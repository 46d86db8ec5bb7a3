// The check of offsets, which divide the rows of an array among the examples of a batch.
#pragma once

#include <string>

#include "bind.hpp"

/// Throws unless offsets[count] divides `total` items among examples.
inline void check_offsets(const std::int64_t* offsets, std::size_t count, std::int64_t total, bool allow_empty,
                          const char* name) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(std::string(name) +
                                " must rise, start at 0 and end at the number of items it divides, " +
                                std::to_string(total) + ": " + why);
  };
  if (count < 1) refuse("it has no entry, and needs one more than there are examples.");
  if (offsets[0] != 0 || offsets[count - 1] != total)
    refuse("it goes from " + std::to_string(offsets[0]) + " to " + std::to_string(offsets[count - 1]) + ".");
  for (std::size_t i = 0; i + 1 < count; ++i) {
    if (offsets[i + 1] < offsets[i]) refuse("it falls after entry " + std::to_string(i) + ".");
    if (!allow_empty && offsets[i + 1] == offsets[i])
      refuse("an example has no items, number " + std::to_string(i) + ".");
  }
}

/// The number of examples among which the array divides `total` items.
inline std::int64_t checked_examples(const InArray<std::int64_t, nb::ndim<1>>& offsets, std::size_t total,
                                     bool allow_empty, const char* name) {
  check_offsets(offsets.data(), offsets.size(), static_cast<std::int64_t>(total), allow_empty, name);
  return static_cast<std::int64_t>(offsets.size()) - 1;
}
