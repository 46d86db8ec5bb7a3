#include <array>
#include <limits>

#include "boxes/box_search.hpp"
#include "testing.hpp"

namespace {

using namespace testing;
using Box = std::array<std::int64_t, 4>;

struct Scored {
  double value;
  Box box;
};

double score(const std::vector<double>& map, std::int64_t width, const Box& box, double weight, const Box& truth) {
  double inside = 0.0, both = 0.0, either = 0.0;
  for (std::int64_t cell = 0; cell < static_cast<std::int64_t>(map.size()); ++cell) {
    const auto holds = [&](const Box& b) {
      return b[0] <= cell / width && cell / width <= b[2] && b[1] <= cell % width && cell % width <= b[3];
    };
    if (holds(box)) inside += map[static_cast<std::size_t>(cell)];
    both += holds(box) && holds(truth);
    either += holds(box) || holds(truth);
  }
  return inside + weight * (1.0 - both / either);
}

/// All boxes of one map, best first, ties in lexicographic order.
std::vector<Scored> ranked(const std::vector<double>& map, std::int64_t height, std::int64_t width, double weight,
                           const Box& truth) {
  std::vector<Scored> all;
  for (std::int64_t t = 0; t < height; ++t)
    for (std::int64_t l = 0; l < width; ++l)
      for (std::int64_t b = t; b < height; ++b)
        for (std::int64_t r = l; r < width; ++r)
          all.push_back({score(map, width, {t, l, b, r}, weight, truth), {t, l, b, r}});
  std::stable_sort(all.begin(), all.end(), [](const Scored& x, const Scored& y) { return x.value > y.value; });
  return all;
}

void check_map(Random& random, casimir::BoxBound bound, double weight) {
  const std::int64_t height = 1 + random.below(5), width = 1 + random.below(5), k = 1 + random.below(30);
  std::vector<double> map(static_cast<std::size_t>(height * width));
  for (double& cell : map) cell = static_cast<double>(random.below(5) - 2);
  // A true box of the whole map, and a weight that is a multiple of its area: all scores are whole numbers.
  const std::vector<std::int64_t> offsets{0, height * width}, shapes{height, width}, truth{0, 0, height - 1, width - 1};
  const std::vector<double> weights{weight * static_cast<double>(height * width)};
  const casimir::BoxBatch batch{map.data(), offsets.data(), shapes.data(), 1, weights.data(), truth.data()};
  const double never = std::numeric_limits<double>::infinity();
  const auto found = casimir::box_search(batch, {k, never, 1 << 20, bound}, 1);
  const auto expected = ranked(map, height, width, weights[0], {0, 0, height - 1, width - 1});
  check_equal(found.counts[0], std::min<std::int64_t>(k, static_cast<std::int64_t>(expected.size())));
  check_equal(found.complete[0], 1);
  for (std::size_t j = 0; j < found.values.size(); ++j) {
    check_close(found.values[j], expected[j].value, 1e-12);
    if (weight == 0.0)
      for (std::size_t side = 0; side < 4; ++side) check_equal(found.boxes[4 * j + side], expected[j].box[side]);
  }
}

void check_budget() {
  Random random(2);
  const auto map = random.uniforms(400, -1.0, 1.0);
  const std::vector<std::int64_t> offsets{0, 400}, shapes{20, 20};
  const casimir::BoxBatch batch{map.data(), offsets.data(), shapes.data(), 1, nullptr, nullptr};
  for (const auto bound : {casimir::BoxBound::columns, casimir::BoxBound::corners}) {
    const auto cut = casimir::box_search(batch, {1, 1.0, 3, bound}, 1);
    const auto full = casimir::box_search(batch, {1, 1.0, 1 << 20, bound}, 1);
    check_equal(cut.complete[0], 0);
    check_equal(cut.expanded[0], 3);
    check(cut.values[0] <= full.values[0] && full.values[0] <= cut.open[0]);
  }
}

}  // namespace

void test_box_search() {
  Random random(1);
  for (int repeat = 0; repeat < 40; ++repeat)
    for (const auto bound : {casimir::BoxBound::columns, casimir::BoxBound::corners})
      for (const double weight : {0.0, 1.0, -1.0}) check_map(random, bound, weight);
  check_budget();
}
