#include "weights/dense_rows.hpp"

#include <cstring>

#include "base/lanes.hpp"

namespace casimir {
namespace {

#if defined(__AVX512F__)
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif
using L = Lanes<kWidth>;
using V = L::V;

// From here on the weights fill half of the first-level cache, and rows that share their loads are faster; with shorter
// rows the memory prefers one stream.
constexpr std::int64_t kLongRow = 2048;

/// kWidth consecutive entries as doubles.
V load(const double* x) { return L::load(x); }
V load(const float* x) {
#if defined(__AVX512F__)
  // GCC 12 converts generic vectors in halves, and warns falsely about the unmasked intrinsic.
  return reinterpret_cast<V>(_mm512_mask_cvtps_pd(_mm512_setzero_pd(), 0xff, _mm256_loadu_ps(x)));
#elif defined(__AVX__)
  return reinterpret_cast<V>(_mm256_cvtps_pd(_mm_loadu_ps(x)));
#else
  typedef float Floats __attribute__((vector_size(kWidth * sizeof(float))));
  Floats f;
  std::memcpy(&f, x, sizeof f);
  return __builtin_convertvector(f, V);
#endif
}

V load(const Half* x) {
#if defined(__AVX512F__) && defined(__F16C__)
  const __m256 f = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  return reinterpret_cast<V>(_mm512_mask_cvtps_pd(_mm512_setzero_pd(), 0xff, f));
#elif defined(__AVX__) && defined(__F16C__)
  return reinterpret_cast<V>(_mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)))));
#else
  V v;
  for (int j = 0; j < kWidth; ++j) v[j] = static_cast<double>(static_cast<float>(x[j]));
  return v;
#endif
}

/// `count` entries, 0 < count < kWidth, then zeros.
#if defined(__AVX512F__) && defined(__AVX512VL__)
V load_some(const double* x, std::int64_t count) {
  return reinterpret_cast<V>(_mm512_maskz_loadu_pd(static_cast<__mmask8>((1 << count) - 1), x));
}
V load_some(const float* x, std::int64_t count) {
  const auto mask = static_cast<__mmask8>((1 << count) - 1);
  return reinterpret_cast<V>(_mm512_maskz_cvtps_pd(mask, _mm256_maskz_loadu_ps(mask, x)));
}
#endif
template <class T>
V load_some(const T* x, std::int64_t count) {
  V v{};
  for (std::int64_t j = 0; j < kWidth - 1; ++j)
    if (j < count) v[j] = x[j];
  return v;
}

struct Whole {
  template <class T>
  V operator()(const T* x) const {
    return load(x);
  }
};
struct Some {
  std::int64_t count;
  template <class T>
  V operator()(const T* x) const {
    return load_some(x, count);
  }
};

/// Sums of R rows of terms at once; terms(r, j, read) gives those of row r from j on, made of what `read` reads. Two
/// sums run side by side in each row, so that none waits for the other. A row's sum does not depend on R.
template <int R, class Terms>
void sum_rows(std::int64_t dim, Terms&& terms, double* out) {
  V sums[R][2] = {};
  std::int64_t j = 0;
  for (; j + 2 * kWidth <= dim; j += 2 * kWidth)
    for (int half = 0; half < 2; ++half)
      for (int r = 0; r < R; ++r) sums[r][half] += terms(r, j + kWidth * half, Whole{});
  for (; j + kWidth <= dim; j += kWidth)
    for (int r = 0; r < R; ++r) sums[r][0] += terms(r, j, Whole{});
  if (j < dim)
    for (int r = 0; r < R; ++r) sums[r][1] += terms(r, j, Some{dim - j});
  for (int r = 0; r < R; ++r) out[r] = L::sum(sums[r][0] + sums[r][1]);
}

template <class Terms>
double sum_row(std::int64_t dim, Terms&& terms) {
  double sum;
  sum_rows<1>(dim, [&](int, std::int64_t j, auto read) { return terms(j, read); }, &sum);
  return sum;
}

/// R rows one after another; they share the loads of w.
template <int R, class T>
void dot_views(std::int64_t dim, const T* x, const WeightView& w, double* out) {
  if (w.c) {
    const auto terms = [&](int r, std::int64_t j, auto read) {
      return read(x + r * dim + j) * (w.a * read(w.c + j) + w.s * read(w.v + j));
    };
    sum_rows<R>(dim, terms, out);
    return;
  }
  sum_rows<R>(dim, [&](int r, std::int64_t j, auto read) { return read(x + r * dim + j) * read(w.v + j); }, out);
  for (int r = 0; r < R; ++r) out[r] *= w.s;
}

template <class T>
void dot_all(std::int64_t dim, const T* x, std::int64_t count, const WeightView& w, double* out) {
  std::int64_t r = 0;
  if (dim >= kLongRow)
    for (; r + 4 <= count; r += 4) dot_views<4>(dim, x + r * dim, w, out + r);
  for (; r < count; ++r) dot_views<1>(dim, x + r * dim, w, out + r);
}

template <class T>
double dot_rows(std::int64_t dim, const T* x, const T* y) {
  return sum_row(dim, [&](std::int64_t j, auto read) { return read(x + j) * read(y + j); });
}

template <class T>
double distance(std::int64_t dim, const T* x, const T* y) {
  return sum_row(dim, [&](std::int64_t j, auto read) {
    const V d = read(x + j) - read(y + j);
    return d * d;
  });
}

template <class T>
void add_scaled(const T* x, double scale, std::int64_t begin, std::int64_t end, double* out) {
  std::int64_t j = begin;
  for (; j + kWidth <= end; j += kWidth) L::store(out + j, L::load(out + j) + scale * load(x + j));
  for (; j < end; ++j) out[j] += scale * x[j];
}

}  // namespace

void DenseRows::dots(std::int64_t first, std::int64_t count, const WeightView& w, double* out) const {
  with_rows([&](const auto* x) { dot_all(dim_, x + first * dim_, count, w, out); });
}

double DenseRows::inner(std::int64_t a, std::int64_t b) const {
  return with_rows([&](const auto* x) { return dot_rows(dim_, x + a * dim_, x + b * dim_); });
}

double DenseRows::squared_distance(std::int64_t a, std::int64_t b) const {
  return with_rows([&](const auto* x) { return distance(dim_, x + a * dim_, x + b * dim_); });
}

void DenseRows::add_to(std::int64_t row, double scale, std::int64_t begin, std::int64_t end, double* out) const {
  with_rows([&](const auto* x) { add_scaled(x + row * dim_, scale, begin, end, out); });
}

}  // namespace casimir
