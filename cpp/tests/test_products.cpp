// Blocked products against three plain loops.
#include <algorithm>
#include <limits>

#include "base/products.hpp"
#include "testing.hpp"

using namespace testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::size_t at(std::int64_t j) { return static_cast<std::size_t>(j); }

/// Of any shape, written into rows that are wider than the product; nothing is written beyond it.
void check_product(std::int64_t rows, std::int64_t depth, std::int64_t width, Random& random) {
  const std::int64_t left_stride = depth + 3, stride = width + 5;
  const std::vector<double> left = random.uniforms(rows * left_stride, -1.0, 1.0),
                            right = random.uniforms(depth * width, -1.0, 1.0);
  std::vector<double> transposed(right.size());
  for (std::int64_t k = 0; k < depth; ++k)
    for (std::int64_t j = 0; j < width; ++j) transposed[at(j * depth + k)] = right[at(k * width + j)];
  casimir::Panels panels, same;
  panels.pack(depth, width, right.data(), width);
  same.pack_transposed(depth, width, transposed.data(), depth);
  std::vector<double> sums(at(rows * stride), 7.0), again(sums), maxima(sums);
  casimir::multiply(rows, left.data(), left_stride, panels, sums.data(), stride);
  casimir::multiply(rows, left.data(), left_stride, same, again.data(), stride);
  casimir::max_plus(rows, left.data(), left_stride, panels, maxima.data(), stride);
  check(sums == again);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < stride; ++j) {
      double sum = 0.0, best = -kInf;
      for (std::int64_t k = 0; k < depth && j < width; ++k) {
        sum += left[at(r * left_stride + k)] * right[at(k * width + j)];
        best = std::max(best, left[at(r * left_stride + k)] + right[at(k * width + j)]);
      }
      check_close(sums[at(r * stride + j)], j < width ? sum : 7.0, 1e-13 * static_cast<double>(depth));
      check(maxima[at(r * stride + j)] == (j < width ? best : 7.0));
    }
  // a row has the same bits alone
  std::vector<double> alone(at(stride), 7.0);
  casimir::multiply(1, left.data() + (rows - 1) * left_stride, left_stride, panels, alone.data(), stride);
  check(std::equal(alone.begin(), alone.end(), sums.begin() + (rows - 1) * stride));
}

void check_outer_products(std::int64_t depth, std::int64_t width, Random& random) {
  const std::vector<double> left = random.uniforms(depth * width, -1.0, 1.0),
                            right = random.uniforms(depth * width, -1.0, 1.0);
  casimir::OuterProducts products;
  products.pack(2 * width, width, std::vector<double>(at(2 * width * width), 9.0).data(),
                std::vector<double>(at(2 * width * width), 9.0).data());  // leaves nothing behind
  products.pack(depth, width, left.data(), right.data());
  std::vector<double> out(at(width * width), 1.0), in_parts(out);
  products.add_to(0, width, out.data());
  for (std::int64_t row = 0; row < width; row += casimir::kProductWidth)
    products.add_to(row, row + casimir::kProductWidth, in_parts.data());
  check(out == in_parts);
  for (std::int64_t a = 0; a < width; ++a)
    for (std::int64_t b = 0; b < width; ++b) {
      double sum = 1.0;
      for (std::int64_t k = 0; k < depth; ++k) sum += left[at(k * width + a)] * right[at(k * width + b)];
      check_close(out[at(a * width + b)], sum, 1e-13 * static_cast<double>(depth + 1));
    }
}

}  // namespace

void test_products() {
  Random random(21);
  for (const std::int64_t rows : {1, 2, 3, 7, 8, 9, 24, 29})
    for (const std::int64_t width : {8, 16, 24, 32, 40, 56}) check_product(rows, 1 + random.below(70), width, random);
  for (const std::int64_t depth : {0, 1, 5, 191, 192, 193, 400})
    for (const std::int64_t width : {8, 32, 40}) check_outer_products(depth, width, random);
}
