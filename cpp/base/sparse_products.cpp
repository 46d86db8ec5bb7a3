#include "base/sparse_products.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/lanes.hpp"
#include "base/numbers.hpp"

namespace casimir {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
constexpr int kMostVectors = 3;
constexpr std::int64_t kDeep = 256;   // rows of a matrix from which on messages of more than kLanes leave the cache
constexpr std::int64_t kDepth = 128;  // rows of outer products
using Vec = Lanes<kLanes>;

/// out[j][i] = in[i][j] of a square of kLanes rows.
void turn_square(const double* const* rows, std::int64_t column, double* out, std::int64_t stride) {
#if defined(__clang__)
  for (int j = 0; j < kLanes; ++j)
    for (int i = 0; i < kLanes; ++i) out[j * stride + i] = rows[i][column + j];
#else
  Vec::V square[kLanes];
  for (int i = 0; i < kLanes; ++i) square[i] = Vec::load(rows[i] + column);
  for (int half = 1; half < kLanes; half *= 2) {
    Vec::I first, second;
    for (int lane = 0; lane < kLanes; ++lane) {
      first[lane] = lane & half ? kLanes + lane - half : lane;
      second[lane] = lane & half ? kLanes + lane : lane + half;
    }
    for (int i = 0; i < kLanes; ++i) {
      if (i & half) continue;
      const Vec::V a = square[i], b = square[i + half];
      square[i] = __builtin_shuffle(a, b, first);
      square[i + half] = __builtin_shuffle(a, b, second);
    }
  }
  for (int j = 0; j < kLanes; ++j) Vec::store(out + j * stride, square[j]);
#endif
}

/// out[columns][count] = the transpose of `count` rows, a multiple of kLanes.
void turn(std::int64_t count, const double* const* rows, std::int64_t columns, double* out) {
  std::int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes)
    for (std::int64_t r = 0; r < count; r += kLanes) turn_square(rows + r, j, out + j * count + r, count);
  for (; j < columns; ++j)
    for (std::int64_t r = 0; r < count; ++r) out[j * count + r] = rows[r][j];
}

/// Rows of `left` are the lanes: every cell of the matrix meets them all at once.
template <int kVectors, bool kMax>
void rows_together(std::int64_t rows, const double* left, std::int64_t left_stride, const SparseColumns& right,
                   double* out, std::int64_t out_stride) {
  constexpr std::int64_t kRows = kVectors * kLanes;
  thread_local Scratch scratch;
  const std::int64_t whole = (right.columns + kLanes - 1) / kLanes * kLanes;  // of columns
  scratch.make_room(at((right.columns + whole) * kRows));
  double *turned = scratch.data(), *found = turned + right.columns * kRows;
  const double* starts[kRows];  // where there are fewer rows, the first fills their lanes
  for (std::int64_t r = 0; r < kRows; ++r) starts[r] = left + (r < rows ? r : 0) * left_stride;
  turn(kRows, starts, right.columns, turned);
  for (std::int64_t j = 0; j < right.columns; ++j) {
    Vec::V sums[kVectors];
    for (Vec::V& sum : sums) sum = kMax ? Vec::all(-kInf) : Vec::V{};
    for (std::int64_t k = right.begin[j]; k < right.begin[j + 1]; ++k) {
      const double* row = turned + right.row[k] * kRows;
      const double value = right.value[k];
      for (int v = 0; v < kVectors; ++v) {
        const Vec::V here = Vec::load(row + v * kLanes);
        if constexpr (kMax)
          sums[v] = Vec::max(sums[v], here + value);
        else
          sums[v] += here * value;
      }
    }
    for (int v = 0; v < kVectors; ++v) Vec::store(found + j * kRows + v * kLanes, sums[v]);
  }
  double back[kLanes * kLanes];
  for (std::int64_t j = 0; j < right.columns; j += kLanes)
    for (std::int64_t first = 0; first < rows; first += kLanes) {
      const double* columns[kLanes];
      for (int i = 0; i < kLanes; ++i) columns[i] = found + (j + i) * kRows;
      turn_square(columns, first, back, kLanes);
      const auto count = static_cast<std::size_t>(std::min<std::int64_t>(kLanes, right.columns - j));
      for (std::int64_t r = first; r < std::min(rows, first + kLanes); ++r)
        std::memcpy(out + r * out_stride + j, back + (r - first) * kLanes, count * sizeof(double));
    }
}

/// One row of maxima, whose order does not matter: four of a column at a time do not wait for each other, and rows that
/// follow one another are vectors.
void max_of_row(const double* left, const SparseColumns& right, double* out) {
  const auto larger = [](double a, double b) { return a > b ? a : b; };
  const auto term = [&](std::int64_t k) { return left[right.row[k]] + right.value[k]; };
  for (std::int64_t j = 0; j < right.columns; ++j) {
    double best[4] = {-kInf, -kInf, -kInf, -kInf};
    Vec::V of_runs = Vec::all(-kInf);
    std::int64_t k = right.begin[j];
    const std::int64_t end = right.begin[j + 1];
    while (k + kLanes <= end) {
      if (right.row[k + kLanes - 1] - right.row[k] == kLanes - 1) {
        of_runs = Vec::max(of_runs, Vec::load(left + right.row[k]) + Vec::load(right.value + k));
        k += kLanes;
        continue;
      }
      for (int s = 0; s < 4; ++s) best[s] = larger(best[s], term(k + s));
      k += 4;
    }
    for (; k < end; ++k) best[0] = larger(best[0], term(k));
    out[j] = larger(larger(larger(best[0], best[1]), larger(best[2], best[3])), Vec::highest(of_runs));
  }
}

template <bool kMax>
void product(std::int64_t rows, const double* left, std::int64_t left_stride, const SparseColumns& right, double* out,
             std::int64_t out_stride, std::int64_t width) {
  for (std::int64_t r = 0; r < rows; ++r)
    std::fill(out + r * out_stride + right.columns, out + r * out_stride + width, kMax ? -kInf : 0.0);
  const std::int64_t most = (right.columns >= kDeep ? 1 : kMostVectors) * kLanes;
  while (rows > 0) {
    const std::int64_t count = std::min(rows, most);
    if (kMax && count == 1)
      max_of_row(left, right, out);
    else if (count <= kLanes)
      rows_together<1, kMax>(count, left, left_stride, right, out, out_stride);
    else if (count <= 2 * kLanes)
      rows_together<2, kMax>(count, left, left_stride, right, out, out_stride);
    else
      rows_together<kMostVectors, kMax>(count, left, left_stride, right, out, out_stride);
    rows -= count, left += count * left_stride, out += count * out_stride;
  }
}

/// sum_t left(t) right(t) of kVectors vectors, or of as many as `vectors` says where that is 0.
template <int kVectors>
double dot(const double* left, const double* right, std::int64_t vectors) {
  Vec::V sums[2]{};
  const std::int64_t count = kVectors ? kVectors : vectors;
  for (std::int64_t v = 0; v < count; ++v) sums[v % 2] += Vec::load(left + v * kLanes) * Vec::load(right + v * kLanes);
  return Vec::sum(sums[0] + sums[1]);
}

}  // namespace

void multiply(std::int64_t rows, const double* left, std::int64_t left_stride, const SparseColumns& right, double* out,
              std::int64_t out_stride, std::int64_t width) {
  product<false>(rows, left, left_stride, right, out, out_stride, width);
}

void max_plus(std::int64_t rows, const double* left, std::int64_t left_stride, const SparseColumns& right, double* out,
              std::int64_t out_stride, std::int64_t width) {
  product<true>(rows, left, left_stride, right, out, out_stride, width);
}

void SampledProducts::pack(std::int64_t depth, std::int64_t width, const double* left, const double* right) {
  used_ = 0, width_ = width;
  const std::vector<double> zeros(at(width), 0.0);
  for (std::int64_t first = 0; first < depth; first += kDepth, ++used_) {
    if (chunks_.size() == used_) chunks_.emplace_back();
    Chunk& chunk = chunks_[used_];
    chunk.depth = std::min(kDepth, depth - first);
    chunk.kept = (chunk.depth + kLanes - 1) / kLanes * kLanes;
    const auto turn_into = [&](const double* rows, Scratch& turned) {
      const double* starts[kDepth];
      for (std::int64_t t = 0; t < chunk.kept; ++t)
        starts[t] = t < chunk.depth ? rows + (first + t) * width : zeros.data();
      turned.make_room(at(width * chunk.kept));
      turn(chunk.kept, starts, width, turned.data());
    };
    turn_into(left, chunk.left);
    turn_into(right, chunk.right);
  }
}

void SampledProducts::scale(const double* weights) {
  for (std::size_t c = 0; c < used_; ++c) {
    Chunk& chunk = chunks_[c];
    for (std::int64_t row = 0; row < width_ * chunk.kept; row += chunk.kept)
      for (std::int64_t t = 0; t < chunk.depth; ++t) chunk.left.data()[row + t] *= weights[t];
    weights += chunk.depth;
  }
}

void SampledProducts::add_to(const SparseColumns& cells, std::int64_t first, std::int64_t last, double* sums) const {
  for (std::size_t c = 0; c < used_; ++c) {
    const Chunk& chunk = chunks_[c];
    const auto add = [&]<int kVectors>(std::integral_constant<int, kVectors>) {
      for (std::int64_t j = first; j < last; ++j)
        for (std::int64_t k = cells.begin[j]; k < cells.begin[j + 1]; ++k)
          sums[k] += dot<kVectors>(chunk.left.data() + j * chunk.kept, chunk.right.data() + cells.row[k] * chunk.kept,
                                   chunk.kept / kLanes);
    };
    if (chunk.kept == kDepth)
      add(std::integral_constant<int, kDepth / kLanes>{});
    else
      add(std::integral_constant<int, 0>{});
  }
}

}  // namespace casimir
