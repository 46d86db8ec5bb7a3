#include "base/vectors.hpp"

#include "base/lanes.hpp"

namespace casimir {

double dot(const double* a, const double* b, std::int64_t size) {
  using L = Lanes<8>;
  L::V sums[4]{};
  std::int64_t i = 0;
  for (; i + 32 <= size; i += 32)
    for (int j = 0; j < 4; ++j) sums[j] += L::load(a + i + 8 * j) * L::load(b + i + 8 * j);
  double total = L::sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < size; ++i) total += a[i] * b[i];
  return total;
}

std::pair<double, double> products_of_sum(double a, const double* x, double b, const double* y, std::int64_t size) {
  using L = Lanes<8>;
  L::V squares[4]{}, products[4]{};
  std::int64_t i = 0;
  for (; i + 32 <= size; i += 32)
    for (int j = 0; j < 4; ++j) {
      const L::V of_y = L::load(y + i + 8 * j), g = L::load(x + i + 8 * j) * a + of_y * b;
      squares[j] += g * g;
      products[j] += g * of_y;
    }
  double square = L::sum((squares[0] + squares[1]) + (squares[2] + squares[3]));
  double product = L::sum((products[0] + products[1]) + (products[2] + products[3]));
  for (; i < size; ++i) {
    const double g = a * x[i] + b * y[i];
    square += g * g;
    product += g * y[i];
  }
  return {square, product};
}

void combine(double a, const double* x, double b, const double* y, std::int64_t size, double* out) {
  for (std::int64_t i = 0; i < size; ++i) out[i] = a * x[i] + b * y[i];
}

}  // namespace casimir
