#include "base/products.hpp"

#include <algorithm>
#include <cstring>

#include "base/lanes.hpp"
#include "base/numbers.hpp"

namespace casimir {
namespace {

// kTileRows x kTileVectors sums stay in registers.
#if defined(__AVX512F__)
constexpr int kVector = 8, kTileRows = 8, kTileVectors = 3;
#elif !defined(__x86_64__) || defined(__AVX__)
constexpr int kVector = 4, kTileRows = 4, kTileVectors = 2;
#else
constexpr int kVector = 4, kTileRows = 2, kTileVectors = 2;
#endif
constexpr std::int64_t kPanel = kTileVectors * kVector;
constexpr std::int64_t kChunk = 192;  // rows of outer products

using L = Lanes<kVector>;

/// Where the rows of a left matrix lie: cell k of row r is at[r * row + k * step].
struct Left {
  const double* at;
  std::int64_t row, step;
  const std::int32_t* cells = nullptr;  // the numbers of its cells; null: 0, 1, ...
};

enum class Into { kNew, kSum, kMax };  // what becomes of a product: it is stored, or added; or sums are maxima

/// out[kRows][kVectors vectors] = left right, or added; or max_k { left[k] + right[k] }.
template <int kRows, int kVectors, Into kInto, bool kListed>
void tile(std::int64_t depth, Left left, const double* right, double* out, std::int64_t stride) {
  L::V sums[kRows][kVectors];
  for (auto& row : sums)
    for (L::V& cell : row) cell = kInto == Into::kMax ? L::all(-kInf) : L::V{};
  for (std::int64_t k = 0; k < depth; ++k, right += kVectors * kVector) {
    L::V here[kVectors];
    for (int j = 0; j < kVectors; ++j) here[j] = L::load(right + j * kVector);
    const double* cell = kListed ? left.at + left.cells[k] * left.step : left.at;
    if (!kListed) left.at += left.step;
    for (int r = 0; r < kRows; ++r) {
      const double factor = cell[r * left.row];
      for (int j = 0; j < kVectors; ++j) {
        if constexpr (kInto == Into::kMax)
          sums[r][j] = L::max(sums[r][j], here[j] + factor);
        else
          sums[r][j] += here[j] * factor;
      }
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int j = 0; j < kVectors; ++j) {
      double* cell = out + r * stride + j * kVector;
      L::store(cell, kInto == Into::kSum ? L::load(cell) + sums[r][j] : sums[r][j]);
    }
}

/// All rows, in tiles of kRows and at the end of fewer.
template <int kRows, int kVectors, Into kInto>
void tiles(std::int64_t rows, std::int64_t depth, Left left, const double* right, double* out, std::int64_t stride) {
  for (; rows >= kRows; rows -= kRows, left.at += kRows * left.row, out += kRows * stride)
    if (left.cells)
      tile<kRows, kVectors, kInto, true>(depth, left, right, out, stride);
    else
      tile<kRows, kVectors, kInto, false>(depth, left, right, out, stride);
  if constexpr (kRows > 1) tiles<kRows / 2, kVectors, kInto>(rows, depth, left, right, out, stride);
}

template <Into kInto>
void panel_product(std::int64_t vectors, std::int64_t rows, std::int64_t depth, Left left, const double* right,
                   double* out, std::int64_t stride) {
  if (vectors >= kTileVectors) return tiles<kTileRows, kTileVectors, kInto>(rows, depth, left, right, out, stride);
  if constexpr (kTileVectors > 2)
    if (vectors == 2) return tiles<kTileRows, 2, kInto>(rows, depth, left, right, out, stride);
  tiles<kTileRows, 1, kInto>(rows, depth, left, right, out, stride);
}

}  // namespace

void Panels::pack(std::int64_t depth, std::int64_t width, const double* rows, std::int64_t stride) {
  depth_ = depth, width_ = width;
  rows_.clear();
  cells_.make_room(static_cast<std::size_t>(depth * width));
  double* to = cells_.data();
  for (std::int64_t column = 0; column < width; column += kPanel) {
    const std::int64_t count = std::min(kPanel, width - column);
    for (std::int64_t k = 0; k < depth; ++k, to += count)
      for (std::int64_t j = 0; j < count; j += kVector) L::store(to + j, L::load(rows + k * stride + column + j));
  }
}

void Panels::pack_transposed(std::int64_t depth, std::int64_t width, const double* rows, std::int64_t stride,
                             double nothing) {
  depth_ = depth, width_ = width;
  rows_.clear();
  cells_.make_room(static_cast<std::size_t>(depth * width));
  double* to = cells_.data();
  for (std::int64_t column = 0; column < width; column += kPanel) {
    const std::int64_t count = std::min(kPanel, width - column);
    const double* from = rows + column * stride;
    for (std::int64_t k = 0; k < depth; ++k, to += count)
      for (std::int64_t j = 0; j < count; ++j) to[j] = from[j * stride + k];
  }
  leave_out(nothing);
}

void Panels::leave_out(double nothing) {
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> depths;
  for (std::int64_t column = 0; column < width_; column += kPanel) {
    const std::int64_t count = std::min(kPanel, width_ - column);
    double *panel = cells_.data() + column * depth_, *to = panel;
    const auto is_nothing = [nothing](double cell) { return cell == nothing; };
    for (std::int64_t k = 0; k < depth_; ++k) {
      const double* row = panel + k * count;
      if (std::all_of(row, row + count, is_nothing)) continue;
      if (to != row) std::copy(row, row + count, to);
      to += count;
      rows.push_back(static_cast<std::int32_t>(k));
    }
    depths.push_back((to - panel) / count);
    rows.resize(depths.size() * static_cast<std::size_t>(depth_));
  }
  const auto is_whole = [this](std::int64_t depth) { return depth == depth_; };
  if (std::all_of(depths.begin(), depths.end(), is_whole)) return;
  rows_ = std::move(rows), depths_ = std::move(depths);
}

const std::int32_t* Panels::rows_of(std::int64_t column) const {
  return rows_.empty() ? nullptr : rows_.data() + column / kPanel * depth_;
}

std::int64_t Panels::depth_of(std::int64_t column) const {
  return rows_.empty() ? depth_ : depths_[static_cast<std::size_t>(column / kPanel)];
}

void multiply(std::int64_t rows, const double* left, std::int64_t left_stride, const Panels& right, double* out,
              std::int64_t out_stride) {
  for (std::int64_t column = 0; column < right.width(); column += kPanel)
    panel_product<Into::kNew>((right.width() - column) / kVector, rows, right.depth_of(column),
                              {left, left_stride, 1, right.rows_of(column)}, right.panel(column), out + column,
                              out_stride);
}

void max_plus(std::int64_t rows, const double* left, std::int64_t left_stride, const Panels& right, double* out,
              std::int64_t out_stride) {
  for (std::int64_t column = 0; column < right.width(); column += kPanel)
    panel_product<Into::kMax>((right.width() - column) / kVector, rows, right.depth_of(column),
                              {left, left_stride, 1, right.rows_of(column)}, right.panel(column), out + column,
                              out_stride);
}

void OuterProducts::pack(std::int64_t depth, std::int64_t width, const double* left, const double* right) {
  width_ = width, used_ = 0;
  for (std::int64_t first = 0; first < depth; first += kChunk, ++used_) {
    const std::int64_t count = std::min(kChunk, depth - first);
    if (chunks_.size() == used_) chunks_.emplace_back();
    Chunk& chunk = chunks_[used_];
    chunk.right.pack(count, width, right + first * width, width);
    chunk.left.make_room(static_cast<std::size_t>(count * width));
    double* to = chunk.left.data();
    for (std::int64_t column = 0; column < width; column += kProductWidth)
      for (std::int64_t k = 0; k < count; ++k, to += kProductWidth)
        std::memcpy(to, left + (first + k) * width + column, kProductWidth * sizeof(double));
  }
}

void OuterProducts::scale(const double* weights) {
  for (std::size_t c = 0; c < used_; ++c) {
    const std::int64_t depth = chunks_[c].right.depth();
    double* left = chunks_[c].left.data();
    for (std::int64_t column = 0; column < width_; column += kProductWidth)
      for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t j = 0; j < kProductWidth; ++j) *left++ *= weights[k];
    weights += depth;
  }
}

void OuterProducts::add_to(std::int64_t begin, std::int64_t end, double* out, const double* factors) const {
  const auto is_left_out = [&](std::int64_t row, std::int64_t column) {
    const std::int64_t count = std::min(kPanel, width_ - column);
    for (std::int64_t r = row; factors && r < row + kProductWidth; ++r)
      if (std::any_of(factors + r * width_ + column, factors + r * width_ + column + count,
                      [](double factor) { return factor != 0.0; }))
        return false;
    return factors != nullptr;
  };
  std::vector<std::int64_t> tiles;  // row * width + column
  for (std::int64_t column = 0; column < width_; column += kPanel)
    for (std::int64_t row = begin; row < end; row += kProductWidth)
      if (!is_left_out(row, column)) tiles.push_back(row * width_ + column);
  for (std::size_t c = 0; c < used_; ++c) {
    const Chunk& chunk = chunks_[c];
    const std::int64_t depth = chunk.right.depth();
    for (const std::int64_t cell : tiles) {
      const std::int64_t row = cell / width_, column = cell % width_;
      panel_product<Into::kSum>((width_ - column) / kVector, kProductWidth, depth,
                                {chunk.left.data() + row * depth, 1, kProductWidth}, chunk.right.panel(column),
                                out + cell, width_);
    }
  }
}

}  // namespace casimir
