#include <limits>

#include "problems.hpp"
#include "weights/fixed_rows.hpp"

using namespace testing;
using casimir::FixedRows;

/// Every token finds its own scores, padded with 0; equal rows are one.
void test_fixed_rows() {
  Random random(14);
  check(FixedRows().empty());
  check(FixedRows(nullptr, 10, {3, 4}).empty());
  for (const int labels : {1, 3, 8, 9}) {
    const int stride = (labels + 7) / 8 * 8;
    const std::int64_t tokens = 200;
    std::vector<double> scores(static_cast<std::size_t>(tokens * labels));
    for (double& score : scores)
      score = random.below(4) == 0 ? -std::numeric_limits<double>::infinity() : random.below(2) * 0.5;
    const FixedRows rows(scores.data(), tokens, {labels, stride});
    check(!rows.empty());
    for (std::int64_t t = 0; t < tokens; ++t) {
      const double* own = scores.data() + t * labels;
      check(std::equal(own, own + labels, rows.row(t)));
      for (int l = labels; l < stride; ++l) check(rows.row(t)[l] == 0.0);
      for (std::int64_t s = 0; s < t; ++s)
        check((rows.row(s) == rows.row(t)) == std::equal(own, own + labels, scores.data() + s * labels));
    }
  }
}
