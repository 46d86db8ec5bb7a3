// Projections onto the simplex against what defines them.
#include "base/simplex.hpp"

#include "fuzz/targets.hpp"
#include "tests/testing.hpp"

namespace fuzz {

void simplex(Bytes input) {
  const std::int64_t m = input.between(1, 40);
  const Scores kind = input.kind_of_scores();
  const std::vector<double> z = input.scores(m, kind);
  std::vector<double> u = z;
  casimir::project_simplex(u.data(), u.size());
  const double top = *std::max_element(z.begin(), z.end());
  double sum = 0.0, highest_without = -INFINITY, lowest_shift = INFINITY, highest_shift = -INFINITY;
  for (std::size_t k = 0; k < z.size(); ++k) {
    testing::check(u[k] >= 0.0 && u[k] <= 1.0 + 1e-12);
    sum += u[k];
    const double relative = z[k] - top;
    if (u[k] > 0.0) {
      lowest_shift = std::min(lowest_shift, relative - u[k]);
      highest_shift = std::max(highest_shift, relative - u[k]);
    } else {
      highest_without = std::max(highest_without, relative);
    }
  }
  testing::check(std::abs(sum - 1.0) <= 1e-12);
  testing::check(highest_shift - lowest_shift <= 1e-12);     // entries with weight are all lowered by one number,
  testing::check(highest_without <= highest_shift + 1e-12);  // and that takes the others to 0 or below
  std::vector<double> sorted = z;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const std::size_t support = casimir::project_sorted_simplex(sorted.data(), sorted.size());
  std::sort(u.begin(), u.end(), std::greater<>());
  testing::check(sorted == u);
  testing::check(support ==
                 static_cast<std::size_t>(std::count_if(u.begin(), u.end(), [](double x) { return x > 0; })));
}

}  // namespace fuzz
