// Arrays that are many and grow by a little: a quarter of what they hold is the most that they waste.
#pragma once

#include <cstddef>

namespace casimir {

/// Makes room for `more` numbers.
template <class Numbers>
void reserve_more(Numbers& numbers, std::size_t more) {
  const std::size_t needed = numbers.size() + more;
  if (needed > numbers.capacity()) numbers.reserve(needed + numbers.size() / 4);
}

}  // namespace casimir
