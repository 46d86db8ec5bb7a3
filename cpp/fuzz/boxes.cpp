// Search for the best boxes against all boxes of a small map.
#include "boxes/box_search.hpp"
#include "fuzz/listing.hpp"
#include "fuzz/targets.hpp"

namespace fuzz {

void boxes(Bytes input) {
  const std::int64_t height = input.between(1, 5), width = input.between(1, 5), k = input.between(1, 40);
  const auto bound = input.flag() ? casimir::BoxBound::columns : casimir::BoxBound::corners;
  const bool weighs = input.flag();
  const Scores kind = input.kind_of_scores();
  const std::vector<double> map = input.scores(height * width, kind);
  const double weight = weighs ? input.score(kind) : 0.0;
  std::int64_t truth[4] = {input.between(0, height - 1), input.between(0, width - 1), 0, 0};
  truth[2] = input.between(truth[0], height - 1), truth[3] = input.between(truth[1], width - 1);
  const auto holds = [&](const std::int64_t* box, std::int64_t row, std::int64_t column) {
    return box[0] <= row && row <= box[2] && box[1] <= column && column <= box[3];
  };
  const double unit = weighs ? unit_of(false, map, {weight, 1.0}) : unit_of(kind == Scores::whole, map, {});
  Listing listing = listing_of(4, std::max(height, width), unit, [&](const Labels& box) {
    if (box[0] > box[2] || box[1] > box[3] || box[2] >= height || box[3] >= width)
      return -std::numeric_limits<double>::infinity();
    double inside = 0.0, both = 0.0, either = 0.0;
    for (std::int64_t row = 0; row < height; ++row)
      for (std::int64_t column = 0; column < width; ++column) {
        const bool in_box = holds(box.data(), row, column), in_truth = holds(truth, row, column);
        if (in_box) inside += map[static_cast<std::size_t>(row * width + column)];
        both += in_box && in_truth;
        either += in_box || in_truth;
      }
    return inside + weight * (1.0 - both / either);
  });

  const std::int64_t offsets[] = {0, height * width}, shape[] = {height, width};
  const casimir::BoxBatch batch{map.data(), offsets, shape, 1, weighs ? &weight : nullptr, weighs ? truth : nullptr};
  const auto found = casimir::box_search(batch, {k, std::numeric_limits<double>::infinity(), 1 << 20, bound}, 1);
  testing::check_equal(found.complete[0], 1);
  listing.check_top(k, found.counts[0], found.values.data(), found.boxes.data());
}

}  // namespace fuzz
