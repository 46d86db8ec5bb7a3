#include "base/sparse_products.hpp"

#include <algorithm>

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
constexpr std::int64_t kDepth = 128;  // rows of outer products
using Vec = Lanes<kLanes>;

/// Rows of `left` are the lanes: every cell of the matrix meets them all at once.
template <int kVectors, bool kMax>
class RowsTogether {
 public:
  static constexpr std::int64_t kRows = kVectors * kLanes;

  static void run(std::int64_t rows, const double* left, std::int64_t left_stride, const SparseColumns& right,
                  std::int64_t depth, double* out, std::int64_t out_stride) {
    thread_local std::vector<double> turned;
    turned.resize(at(depth * kRows));
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::int64_t r = 0; r < rows; ++r) turned[at(k * kRows + r)] = left[r * left_stride + k];
      for (std::int64_t r = rows; r < kRows; ++r) turned[at(k * kRows + r)] = 0.0;
    }
    double found[kRows];
    for (std::int64_t j = 0; j < right.columns; ++j) {
      column(right, j, turned.data(), found);
      for (std::int64_t r = 0; r < rows; ++r) out[r * out_stride + j] = found[r];
    }
  }

 private:
  static void column(const SparseColumns& right, std::int64_t j, const double* turned, double* found) {
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
    for (int v = 0; v < kVectors; ++v) Vec::store(found + v * kLanes, sums[v]);
  }
};

/// One row of maxima, whose order does not matter: four of a column at a time do not wait for each other.
void max_of_row(const double* left, const SparseColumns& right, double* out) {
  const auto larger = [](double a, double b) { return a > b ? a : b; };
  const auto term = [&](std::int64_t k) { return left[right.row[k]] + right.value[k]; };
  for (std::int64_t j = 0; j < right.columns; ++j) {
    double best[4] = {-kInf, -kInf, -kInf, -kInf};
    std::int64_t k = right.begin[j];
    const std::int64_t end = right.begin[j + 1];
    for (; k + 4 <= end; k += 4)
      for (int s = 0; s < 4; ++s) best[s] = larger(best[s], term(k + s));
    for (; k < end; ++k) best[0] = larger(best[0], term(k));
    out[j] = larger(larger(best[0], best[1]), larger(best[2], best[3]));
  }
}

template <bool kMax>
void product(std::int64_t rows, const double* left, std::int64_t left_stride, const SparseColumns& right, double* out,
             std::int64_t out_stride, std::int64_t width) {
  for (std::int64_t r = 0; r < rows; ++r)
    std::fill(out + r * out_stride + right.columns, out + r * out_stride + width, kMax ? -kInf : 0.0);
  constexpr std::int64_t kMost = kMostVectors * kLanes;
  while (rows > 0) {
    const std::int64_t count = std::min(rows, kMost);
    if (kMax && count == 1)
      max_of_row(left, right, out);
    else if (count <= kLanes)
      RowsTogether<1, kMax>::run(count, left, left_stride, right, right.columns, out, out_stride);
    else if (count <= 2 * kLanes)
      RowsTogether<2, kMax>::run(count, left, left_stride, right, right.columns, out, out_stride);
    else
      RowsTogether<kMostVectors, kMax>::run(count, left, left_stride, right, right.columns, out, out_stride);
    rows -= count, left += count * left_stride, out += count * out_stride;
  }
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
  used_ = 0;
  for (std::int64_t first = 0; first < depth; first += kDepth, ++used_) {
    const std::int64_t count = std::min(kDepth, depth - first);
    if (chunks_.size() == used_) chunks_.emplace_back();
    Chunk& chunk = chunks_[used_];
    chunk.depth = count;
    chunk.kept = (count + kLanes - 1) / kLanes * kLanes;
    const auto turn = [&](const double* rows, std::vector<double>& turned) {
      turned.assign(at(width * chunk.kept), 0.0);
      for (std::int64_t t = 0; t < count; ++t)
        for (std::int64_t j = 0; j < width; ++j) turned[at(j * chunk.kept + t)] = rows[(first + t) * width + j];
    };
    turn(left, chunk.left);
    turn(right, chunk.right);
  }
}

void SampledProducts::scale(const double* weights) {
  for (std::size_t c = 0; c < used_; ++c) {
    Chunk& chunk = chunks_[c];
    for (std::size_t row = 0; row < chunk.left.size(); row += at(chunk.kept))
      for (std::int64_t t = 0; t < chunk.depth; ++t) chunk.left[row + at(t)] *= weights[t];
    weights += chunk.depth;
  }
}

void SampledProducts::add_to(const SparseColumns& cells, std::int64_t first, std::int64_t last, double* sums) const {
  for (std::size_t c = 0; c < used_; ++c) {
    const Chunk& chunk = chunks_[c];
    for (std::int64_t j = first; j < last; ++j) {
      const double* left = chunk.left.data() + j * chunk.kept;
      for (std::int64_t k = cells.begin[j]; k < cells.begin[j + 1]; ++k) {
        const double* right = chunk.right.data() + cells.row[k] * chunk.kept;
        Vec::V even{}, odd{};
        std::int64_t t = 0;
        for (; t + 2 * kLanes <= chunk.kept; t += 2 * kLanes) {
          even += Vec::load(left + t) * Vec::load(right + t);
          odd += Vec::load(left + t + kLanes) * Vec::load(right + t + kLanes);
        }
        if (t < chunk.kept) even += Vec::load(left + t) * Vec::load(right + t);
        sums[k] += Vec::sum(even + odd);
      }
    }
  }
}

}  // namespace casimir
