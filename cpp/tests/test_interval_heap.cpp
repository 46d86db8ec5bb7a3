// An interval heap against a sorted list.
#include <functional>
#include <set>

#include "base/interval_heap.hpp"
#include "testing.hpp"

using namespace testing;

namespace {

void check_both_ends(const casimir::IntervalHeap<std::int64_t>& heap, const std::multiset<std::int64_t>& sorted) {
  check_equal(static_cast<std::int64_t>(heap.size()), static_cast<std::int64_t>(sorted.size()));
  check(heap.empty() == sorted.empty());
  if (sorted.empty()) return;
  check_equal(heap.best(), *sorted.begin());
  check_equal(heap.worst(), *sorted.rbegin());
}

/// Offers and pops in random order; room falls by one with every pop.
void check_random_calls(std::size_t room, std::int64_t values, Random& random) {
  casimir::IntervalHeap<std::int64_t> heap;
  std::multiset<std::int64_t> sorted;
  while (room > 0 || !sorted.empty()) {
    if (!sorted.empty() && random.below(4) == 0) {
      check_equal(heap.pop_best(std::less<>{}), *sorted.begin());
      sorted.erase(sorted.begin());
      --room;
    } else {
      const std::int64_t value = random.below(values);
      heap.offer(value, room, std::less<>{});
      sorted.insert(value);
      if (sorted.size() > room) sorted.erase(std::prev(sorted.end()));
    }
    check_both_ends(heap, sorted);
  }
  heap.offer(1, 0, std::less<>{});
  check(heap.empty());
}

}  // namespace

void test_interval_heap() {
  Random random(17);
  for (const std::int64_t values : {1, 5, 1000000})
    for (const std::size_t room : {1, 2, 3, 4, 5, 6, 7, 8, 30, 200}) check_random_calls(room, values, random);
}
