#include <functional>

#include "base/simplex.hpp"
#include "testing.hpp"

using namespace testing;

namespace {

/// u is the projection iff u >= 0, sum u = 1, z_i - u_i equals one number where u_i > 0 and is not larger elsewhere.
void check_projection(const std::vector<double>& z, const std::vector<double>& u) {
  double sum = 0.0, shift = -INFINITY;
  for (std::size_t i = 0; i < u.size(); ++i) {
    check(u[i] >= 0.0);
    sum += u[i];
    if (u[i] > 0.0) shift = z[i] - u[i];
  }
  check_close(sum, 1.0, 1e-14);
  for (std::size_t i = 0; i < u.size(); ++i) {
    if (u[i] > 0.0)
      check_close(z[i] - u[i], shift, 1e-13);
    else
      check(z[i] <= shift + 1e-13 * (1.0 + std::abs(shift)));
  }
}

/// value of the listed entries <= that of all <= the bound from the listed ones; exact where the rest has no weight.
void check_upper_bound(std::int64_t m, double mu, Random& random) {
  std::vector<double> z = random.uniforms(m, -1.0, 1.0), weights;
  if (random.below(3) == 0)
    for (double& value : z) value = std::round(2.0 * value);  // ties
  std::sort(z.begin(), z.end(), std::greater<>());
  const auto ignore = [](std::int64_t, double) {};
  const double all = casimir::l2_smoothed(z.data(), m, mu, weights, ignore);
  const auto support = std::count_if(weights.begin(), weights.end(), [](double u) { return u > 0.0; });
  for (std::int64_t count = 1; count <= m; ++count) {
    const double listed = casimir::l2_smoothed(z.data(), count, mu, weights, ignore);
    const double bound = casimir::l2_upper_bound(z.data(), count, mu);
    check(listed <= all + 1e-13 && all <= bound + 1e-13 && bound <= z[0] + 0.5 * mu + 1e-13);
    if (support <= count) check_close(listed, all, 1e-13);
  }
  // As many other outputs as one likes, none above the last listed: their value comes as near as one likes.
  if (m < 2 || z[0] - z[1] > mu) return;
  z.resize(2);
  const double bound = casimir::l2_upper_bound(z.data(), 2, mu);
  z.resize(20000, z[1]);
  check(casimir::l2_smoothed(z.data(), 20000, mu, weights, ignore) >= bound - 1e-4 * mu);
}

}  // namespace

void test_simplex() {
  Random random(1);
  for (int trial = 0; trial < 200; ++trial) check_upper_bound(1 + random.below(8), trial % 2 ? 0.3 : 3.0, random);
  for (int trial = 0; trial < 300; ++trial) {
    const std::int64_t m = 1 + random.below(trial % 2 ? 4 : 60);
    std::vector<double> z = random.uniforms(m, -1.0, 1.0);
    if (trial % 3 == 0)
      for (double& value : z) value = std::round(2.0 * value);  // ties
    if (trial % 5 == 0)
      for (double& value : z) value += 1e3;
    std::vector<double> u = z;
    casimir::project_simplex(u.data(), u.size());
    check_projection(z, u);

    std::vector<double> sorted = z;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    std::vector<double> v = sorted;
    const std::size_t support = casimir::project_sorted_simplex(v.data(), v.size());
    check_projection(sorted, v);
    for (std::size_t i = 0; i < v.size(); ++i) check((v[i] > 0.0) == (i < support));
  }
  std::vector<double> none;
  casimir::project_simplex(none.data(), 0);
  check_equal(static_cast<std::int64_t>(casimir::project_sorted_simplex(none.data(), 0)), 0);
}
