// Blocked products against three plain loops.
#include <algorithm>
#include <limits>

#include "base/products.hpp"
#include "base/sparse_products.hpp"
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
  same.pack_transposed(depth, width, transposed.data(), depth, 0.0);
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

/// A share of the cells of a matrix against the whole matrix, whose other cells are 0 in sums and -inf in maxima.
void check_sparse(std::int64_t rows, std::int64_t depth, double share, Random& random) {
  const std::int64_t width = casimir::product_width(depth), left_stride = width + 3, stride = width + 5;
  std::vector<double> zeros(at(width * width), 0.0), infinities(at(width * width), -kInf), values;
  std::vector<std::int64_t> begin{0};
  std::vector<std::int32_t> row;
  for (std::int64_t j = 0; j < depth; ++j, begin.push_back(static_cast<std::int64_t>(row.size())))
    for (std::int64_t k = 0; k < depth; ++k) {
      if (random.uniform(0.0, 1.0) >= share) continue;
      row.push_back(static_cast<std::int32_t>(k));
      values.push_back(random.uniform(-1.0, 1.0));
      zeros[at(k * width + j)] = infinities[at(k * width + j)] = values.back();
    }
  const casimir::SparseColumns cells{depth, begin.data(), row.data(), values.data()};
  const std::vector<double> left = random.uniforms(rows * left_stride, -1.0, 1.0);
  std::vector<double> sums(at(rows * stride), 7.0), expected_sums(sums), maxima(sums), expected_maxima(sums);
  casimir::Panels panels;
  panels.pack(depth, width, zeros.data(), width);
  casimir::multiply(rows, left.data(), left_stride, panels, expected_sums.data(), stride);
  panels.leave_out(0.0);
  casimir::multiply(rows, left.data(), left_stride, panels, sums.data(), stride);
  check(sums == expected_sums);
  panels.pack(depth, width, infinities.data(), width);
  casimir::max_plus(rows, left.data(), left_stride, panels, expected_maxima.data(), stride);
  panels.leave_out(-kInf);
  casimir::max_plus(rows, left.data(), left_stride, panels, maxima.data(), stride);
  check(maxima == expected_maxima);
  std::fill(sums.begin(), sums.end(), 7.0), std::fill(maxima.begin(), maxima.end(), 7.0);
  casimir::multiply(rows, left.data(), left_stride, cells, sums.data(), stride, width);
  casimir::max_plus(rows, left.data(), left_stride, cells, maxima.data(), stride, width);
  check(maxima == expected_maxima);
  for (std::size_t j = 0; j < sums.size(); ++j)
    check_close(sums[j], expected_sums[j], 1e-13 * static_cast<double>(depth));

  // outer products of `rows` pairs, at these cells alone
  const std::vector<double> a = random.uniforms(rows * width, -1.0, 1.0), b = random.uniforms(rows * width, -1.0, 1.0),
                            weights = random.uniforms(rows, -1.0, 1.0);
  casimir::SampledProducts some;
  casimir::OuterProducts all;
  some.pack(rows, width, a.data(), b.data());
  all.pack(rows, width, a.data(), b.data());
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<double> found(values.size(), 1.0), whole(at(width * width), 1.0);
    some.add_to(cells, 0, depth / 2, found.data());
    some.add_to(cells, depth / 2, depth, found.data());
    all.add_to(0, width, whole.data());
    std::vector<double> in_tiles(whole.size(), 1.0);
    all.add_to(0, width, in_tiles.data(), zeros.data());
    for (std::size_t cell = 0; cell < whole.size(); ++cell)
      check(in_tiles[cell] == whole[cell] || (zeros[cell] == 0.0 && in_tiles[cell] == 1.0));
    for (std::int64_t j = 0; j < depth; ++j)
      for (std::int64_t k = begin[at(j)]; k < begin[at(j + 1)]; ++k)
        check_close(found[at(k)], whole[at(j * width + row[at(k)])], 1e-13 * static_cast<double>(rows + 1));
    if (turn == 1) {
      std::vector<double> own(at(width * width), 1.0);
      for (std::int64_t t = 0; t < rows; ++t)
        for (std::int64_t cell = 0; cell < width * width; ++cell)
          own[at(cell)] += weights[at(t)] * a[at(t * width + cell / width)] * b[at(t * width + cell % width)];
      for (std::size_t cell = 0; cell < own.size(); ++cell) check_close(whole[cell], own[cell], 1e-12);
    }
    some.scale(weights.data());
    all.scale(weights.data());
  }
}

}  // namespace

void test_products() {
  Random random(21);
  for (const std::int64_t rows : {1, 2, 3, 7, 8, 9, 24, 29})
    for (const std::int64_t width : {8, 16, 24, 32, 40, 56}) check_product(rows, 1 + random.below(70), width, random);
  for (const std::int64_t depth : {0, 1, 5, 191, 192, 193, 400})
    for (const std::int64_t width : {8, 32, 40}) check_outer_products(depth, width, random);
  for (const std::int64_t rows : {1, 2, 5, 8, 12, 13, 24, 25, 50, 300})
    for (const double share : {0.0, 0.01, 0.1, 0.5, 1.0}) check_sparse(rows, 1 + random.below(50), share, random);
}
