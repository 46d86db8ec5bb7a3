#include <limits>

#include "base/lanes.hpp"
#include "testing.hpp"

using namespace testing;

namespace {

template <int W>
void check_exp(const std::vector<double>& x) {
  using L = casimir::Lanes<W>;
  for (std::size_t j = 0; j + W <= x.size(); j += W) {
    double out[W];
    L::store(out, L::exp(L::load(x.data() + j)));
    for (int k = 0; k < W; ++k) {
      const double expected = std::exp(x[j + static_cast<std::size_t>(k)]);
      // Subnormal results have fewer digits.
      check(std::abs(out[k] - expected) <= 2e-15 * expected + 2.0 * std::numeric_limits<double>::denorm_min());
    }
  }
}

template <int W>
void check_comparisons(Random& random) {
  using L = casimir::Lanes<W>;
  for (int trial = 0; trial < 200; ++trial) {
    double a[W], b[W], most[W];
    for (int k = 0; k < W; ++k)
      a[k] = std::round(random.uniform(-3.0, 3.0)), b[k] = std::round(random.uniform(-3.0, 3.0));
    if (trial % 4 == 0) a[trial % W] = -INFINITY;
    const auto va = L::load(a), vb = L::load(b);
    L::store(most, L::max(va, vb));
    double sum = 0.0;
    for (int k = 0; k < W; ++k) {
      check(most[k] == std::max(a[k], b[k]));
      check((L::equal_bits(va, vb) >> k & 1u) == (a[k] == b[k]));
      check((L::at_most_bits(va, vb) >> k & 1u) == (a[k] <= b[k]));
      sum += b[k];
    }
    check_close(L::sum(vb), sum, 1e-15);
    check((L::equal_bits(va, vb) >> W) == 0);
  }
}

template <int W>
void check_transpose() {
  using L = casimir::Lanes<W>;
  typename L::V rows[W];
  for (int i = 0; i < W; ++i)
    for (int j = 0; j < W; ++j) rows[i][j] = 10 * i + j;
  L::transpose(rows);
  for (int i = 0; i < W; ++i)
    for (int j = 0; j < W; ++j) check(rows[i][j] == 10 * j + i);
}

}  // namespace

void test_lanes() {
  std::vector<double> x;
  for (int j = 0; j < 80000; ++j) x.push_back(-760.0 + 1469.0 * j / 80000.0);
  for (int j = 0; j < 16000; ++j) x.push_back(std::ldexp(j % 2 ? 1.0 : -1.0, -j / 200));
  const double special[] = {0.0, -0.0, -INFINITY, -1e300, -745.0, -745.13, -745.6, -708.4};
  for (const double value : special) x.push_back(value);
  check_exp<4>(x);
  check_exp<8>(x);
  double out[8];
  casimir::Lanes<8>::store(out, casimir::Lanes<8>::exp(casimir::Lanes<8>::load(special)));
  check(out[0] == 1.0 && out[1] == 1.0 && out[2] == 0.0 && out[3] == 0.0 && out[6] == 0.0);
  Random random(2);
  check_transpose<4>();
  check_transpose<8>();
  check_comparisons<4>(random);
  check_comparisons<8>(random);
}
