// Vector loops over a row of a weight table.
#pragma once

#include <cstdint>
#include <limits>

#include "base/lanes.hpp"

namespace casimir::gains {

using L = Lanes<8>;
constexpr double kNever = -std::numeric_limits<double>::infinity();

/// gain[z] <- max(gain[z], base + w[z] - price[z]), from[z] <- row where that is larger. Returns the largest gain.
/// A price of +inf takes a column out.
inline double relax(const double* w, const double* price, double base, std::int64_t row, std::int64_t size,
                    double* gain, std::int64_t* from) {
  L::V top = L::all(kNever);
  std::int64_t z = 0;
  const L::I name = row - L::I{};
  for (; z + 8 <= size; z += 8) {
    const L::V old = L::load(gain + z), now = (base + L::load(w + z)) - L::load(price + z);
    const L::I better = now > old;
    L::I source;
    std::memcpy(&source, from + z, sizeof source);
    source = better ? name : source;
    std::memcpy(from + z, &source, sizeof source);
    const L::V kept = L::max(now, old);
    L::store(gain + z, kept);
    top = L::max(top, kept);
  }
  double best = L::highest(top);
  for (; z < size; ++z) {
    const double now = (base + w[z]) - price[z];
    if (now > gain[z]) gain[z] = now, from[z] = row;
    if (gain[z] > best) best = gain[z];
  }
  return best;
}

/// Calls each(z) for every z with x[z] - y[z] >= level, in order, until it returns false.
template <class Each>
void for_each_at_least(const double* x, const double* y, double level, std::int64_t size, Each&& each) {
  std::int64_t z = 0;
  const L::V bound = L::all(level);
  for (; z + 8 <= size; z += 8)
    for (unsigned bits = L::at_most_bits(bound, L::load(x + z) - L::load(y + z)); bits != 0; bits &= bits - 1)
      if (!each(z + __builtin_ctz(bits))) return;
  for (; z < size; ++z)
    if (x[z] - y[z] >= level && !each(z)) return;
}

/// Calls each(z) for every z with x[z] == value, in order, until it returns false.
template <class Each>
void for_each_equal(const double* x, double value, std::int64_t size, Each&& each) {
  std::int64_t z = 0;
  const L::V sought = L::all(value);
  for (; z + 8 <= size; z += 8)
    for (unsigned bits = L::equal_bits(sought, L::load(x + z)); bits != 0; bits &= bits - 1)
      if (!each(z + __builtin_ctz(bits))) return;
  for (; z < size; ++z)
    if (x[z] == value && !each(z)) return;
}

/// The best and the second best of w[z] - price[z], equal when two columns are; -inf where there are too few columns.
struct TopTwo {
  double best = kNever, second = kNever;

  void offer(double x) {
    second = x > second ? (x < best ? x : best) : second;
    best = x > best ? x : best;
  }
};

inline TopTwo top_two(const double* w, const double* price, std::int64_t size) {
  L::V first = L::all(kNever), second = L::all(kNever);
  std::int64_t z = 0;
  for (; z + 8 <= size; z += 8) {
    const L::V x = L::load(w + z) - L::load(price + z);
    second = L::max(second, x < first ? x : first);
    first = L::max(first, x);
  }
  TopTwo top;
  for (int j = 0; j < 8; ++j) top.offer(first[j]);
  for (int j = 0; j < 8; ++j) top.offer(second[j]);
  for (; z < size; ++z) top.offer(w[z] - price[z]);
  return top;
}

}  // namespace casimir::gains
