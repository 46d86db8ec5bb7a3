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

}  // namespace

void test_simplex() {
  Random random(1);
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
