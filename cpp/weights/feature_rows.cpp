#include "weights/feature_rows.hpp"

#include <algorithm>
#include <limits>

#include "base/lanes.hpp"

namespace casimir {
namespace {

/// Rows of NV vectors of W doubles; NV = 0: any number of them, kHeld at a time.
template <class T, int W, int NV>
struct Dense {
  using L = Lanes<W>;
  using V = typename L::V;
  static constexpr int kHeld = NV ? NV : 1;
  static constexpr int kRows = kHeld <= 2 ? 4 : kHeld <= 4 ? 2 : 1;  // features at a time: their sums do not wait

  static void score(int stride, const T* x, std::int64_t count, const double* w, double scale, bool add, double* u) {
    const int nv = NV ? NV : stride / W;
    for (int j0 = 0; j0 < nv; j0 += kHeld) {
      V sums[kRows][kHeld]{};
      const double* row = w + j0 * W;
      std::int64_t f = 0;
      for (; f + kRows <= count; f += kRows)
        for (int r = 0; r < kRows; ++r, row += stride)
          for (int j = 0; j < kHeld; ++j) sums[r][j] += L::load(row + j * W) * static_cast<double>(x[f + r]);
      for (; f < count; ++f, row += stride)
        for (int j = 0; j < kHeld; ++j) sums[0][j] += L::load(row + j * W) * static_cast<double>(x[f]);
      for (int j = 0; j < kHeld; ++j) {
        V total = sums[0][j];
        for (int r = 1; r < kRows; ++r) total += sums[r][j];
        double* out = u + (j0 + j) * W;
        L::store(out, add ? L::load(out) + total * scale : total * scale);
      }
    }
  }

  static void scatter(int stride, const T* x, std::int64_t count, const double* row, double scale, double* w) {
    const int nv = NV ? NV : stride / W;
    for (int j0 = 0; j0 < nv; j0 += kHeld) {
      V held[kHeld];
      for (int j = 0; j < kHeld; ++j) held[j] = L::load(row + (j0 + j) * W) * scale;
      double* out = w + j0 * W;
      for (std::int64_t f = 0; f < count; ++f, out += stride)
        for (int j = 0; j < kHeld; ++j)
          L::store(out + j * W, L::load(out + j * W) + held[j] * static_cast<double>(x[f]));
    }
  }

  static constexpr DenseOps<T> table{&score, &scatter};
};

#if defined(__AVX512F__)
constexpr int kWide = 8;
#else
constexpr int kWide = 4;
#endif

template <class T>
const DenseOps<T>& dense_ops(int stride) {
  switch (stride) {
    case 4:
      return Dense<T, 4, 1>::table;
    case 8:
      return Dense<T, kWide, 8 / kWide>::table;
    case 12:
      return Dense<T, 4, 3>::table;
    case 16:
      return Dense<T, kWide, 16 / kWide>::table;
    case 20:
      return Dense<T, 4, 5>::table;
    case 24:
      return Dense<T, kWide, 24 / kWide>::table;
    case 28:
      return Dense<T, 4, 7>::table;
    case 32:
      return Dense<T, kWide, 32 / kWide>::table;
    default:
      return Dense<T, 4, 0>::table;
  }
}

template <class T>
void score_dense(RowShape shape, const T* x, std::int64_t count, const WeightView& w, double* u) {
  const DenseOps<T>& ops = dense_ops<T>(shape.stride);
  ops.score(shape.stride, x, count, w.v, w.s, false, u);
  if (w.c) ops.score(shape.stride, x, count, w.c, w.a, true, u);
}

template <class T>
double squared_dense(const T* x, std::int64_t count) {
  double total = 0.0;
  for (std::int64_t j = 0; j < count; ++j) total += static_cast<double>(x[j]) * static_cast<double>(x[j]);
  return total;
}

}  // namespace

void FeatureRows::score(std::int64_t i, const WeightView& w, double* u) const {
  const std::int64_t stride = shape_.stride;
  if (is_sparse())
    ops_.score(shape_, sparse_, i, 1, w, u);
  else if (f64_)
    score_dense(shape_, f64_ + i * n_features_, n_features_, w, u);
  else
    score_dense(shape_, f32_ + i * n_features_, n_features_, w, u);
  if (bias_ != 0.0) {
    const std::int64_t first = n_features_ * stride;
    for (int l = 0; l < shape_.labels; ++l) u[l] += bias_ * (w.s * w.v[first + l] + (w.c ? w.a * w.c[first + l] : 0.0));
  }
  for (int l = shape_.labels; l < stride; ++l) u[l] = -std::numeric_limits<double>::infinity();
}

template <class T>
void FeatureRows::scatter_dense(const T* x, const double* row, const ScatterTarget& target) const {
  const std::int64_t begin = std::max<std::int64_t>(target.row_begin, 0), end = std::min(target.row_end, n_features_);
  if (begin >= end) return;
  const DenseOps<T>& ops = dense_ops<T>(shape_.stride);
  ops.scatter(shape_.stride, x + begin, end - begin, row, target.a, target.v + begin * shape_.stride);
  if (target.q) ops.scatter(shape_.stride, x + begin, end - begin, row, target.b, target.q + begin * shape_.stride);
}

void FeatureRows::scatter_bias(const double* row, const ScatterTarget& target) const {
  if (bias_ == 0.0 || n_features_ < target.row_begin || n_features_ >= target.row_end) return;
  const std::int64_t first = n_features_ * shape_.stride;
  for (int l = 0; l < shape_.labels; ++l) target.v[first + l] += target.a * bias_ * row[l];
  for (int l = 0; target.q && l < shape_.labels; ++l) target.q[first + l] += target.b * bias_ * row[l];
}

void FeatureRows::scatter(std::int64_t i, const double* row, const ScatterTarget& target) const {
  if (std::all_of(row, row + shape_.labels, [](double value) { return value == 0.0; })) return;
  if (is_sparse())
    ops_.scatter(shape_, sparse_, i, 1, row, target);
  else if (f64_)
    scatter_dense(f64_ + i * n_features_, row, target);
  else
    scatter_dense(f32_ + i * n_features_, row, target);
  scatter_bias(row, target);
}

double FeatureRows::squared(std::int64_t i) const {
  const double of_bias = bias_ * bias_;
  if (f64_) return squared_dense(f64_ + i * n_features_, n_features_) + of_bias;
  if (f32_) return squared_dense(f32_ + i * n_features_, n_features_) + of_bias;
  const std::int64_t begin = sparse_.indptr[i], count = sparse_.indptr[i + 1] - begin;
  if (!sparse_.values) return static_cast<double>(count) + of_bias;
  double sum = of_bias;
  for (std::int64_t f = begin; f < begin + count; ++f) sum += sparse_.values[f] * sparse_.values[f];
  return sum;
}

void FeatureRows::touched(std::int64_t i, std::vector<RowRange>& ranges) const {
  if (!is_sparse()) {
    ranges.emplace_back(0, rows());
    return;
  }
  for (std::int64_t f = sparse_.indptr[i]; f < sparse_.indptr[i + 1]; ++f) {
    const std::int64_t row = sparse_.indices[f];
    ranges.emplace_back(row, row + 1);
  }
  if (bias_ != 0.0) ranges.emplace_back(n_features_, n_features_ + 1);
}

void FeatureRows::prefetch_features(std::int64_t i) const {
  if (!is_sparse()) return;  // dense rows stream well by themselves
  constexpr std::int64_t line = 64 / sizeof(*sparse_.indices);
  for (std::int64_t f = sparse_.indptr[i]; f < sparse_.indptr[i + 1]; f += line) {
    __builtin_prefetch(sparse_.indices + f);
    if (!sparse_.values) continue;
    __builtin_prefetch(sparse_.values.address(f));
    __builtin_prefetch(sparse_.values.address(f + line / 2));
  }
}

void FeatureRows::prefetch(std::int64_t i, const WeightView& w) const {
  if (!is_sparse()) return;
  const std::int64_t stride = shape_.stride;
  for (std::int64_t f = sparse_.indptr[i]; f < sparse_.indptr[i + 1]; ++f) {
    const std::int64_t row = static_cast<std::int64_t>(sparse_.indices[f]) * stride;
    for (std::int64_t l = 0; l < stride; l += 8) {
      __builtin_prefetch(w.v + row + l);
      if (w.c) __builtin_prefetch(w.c + row + l);
    }
  }
}

}  // namespace casimir
