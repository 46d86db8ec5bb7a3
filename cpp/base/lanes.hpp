// Short rows of doubles as explicit vectors: the labels of a token are the lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace casimir {

template <int W>
struct VectorOf;
template <>
struct VectorOf<4> {
  typedef double Double __attribute__((vector_size(32)));
  typedef std::int64_t Int __attribute__((vector_size(32)));
};
template <>
struct VectorOf<8> {
  typedef double Double __attribute__((vector_size(64)));
  typedef std::int64_t Int __attribute__((vector_size(64)));
};

/// W doubles in one (possibly emulated) register.
template <int W>
struct Lanes {
  using V = typename VectorOf<W>::Double;
  using I = typename VectorOf<W>::Int;

  static V load(const double* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(double* p, V v) { std::memcpy(p, &v, sizeof v); }
  static V all(double x) { return x - V{}; }

  static V max(V a, V b) {
#if defined(__AVX512F__)
    if constexpr (W == 8) {
      const auto left = reinterpret_cast<__m512d>(a), right = reinterpret_cast<__m512d>(b);
      return reinterpret_cast<V>(_mm512_mask_max_pd(left, 0xff, left, right));  // unmasked, GCC 12 warns falsely
    }
#endif
#if defined(__AVX__)
    if constexpr (W == 4)
      return reinterpret_cast<V>(_mm256_max_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b)));
#endif
    return a > b ? a : b;
  }

  /// Bit j is set where a[j] == b[j].
  static unsigned equal_bits(V a, V b) {
#if defined(__AVX512F__)
    if constexpr (W == 8)
      return _mm512_cmp_pd_mask(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b), _CMP_EQ_OQ);
#endif
#if defined(__AVX__)
    if constexpr (W == 4)
      return static_cast<unsigned>(
          _mm256_movemask_pd(_mm256_cmp_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b), _CMP_EQ_OQ)));
#endif
    return bits(a == b);
  }

  /// Bit j is set where a[j] <= b[j].
  static unsigned at_most_bits(V a, V b) {
#if defined(__AVX512F__)
    if constexpr (W == 8)
      return _mm512_cmp_pd_mask(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b), _CMP_LE_OQ);
#endif
#if defined(__AVX__)
    if constexpr (W == 4)
      return static_cast<unsigned>(
          _mm256_movemask_pd(_mm256_cmp_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b), _CMP_LE_OQ)));
#endif
    return bits(a <= b);
  }

  static double sum(V v) {
    for (int half = W / 2; half > 0; half /= 2) v += rotate(v, half);
    return v[0];
  }

  static double highest(V v) {
    for (int half = W / 2; half > 0; half /= 2) v = max(v, rotate(v, half));
    return v[0];
  }

  static bool is_zero(V v) { return equal_bits(v, V{}) == (1u << W) - 1; }

  /// exp(x) for x <= ~709, exactly 0 below -745; relative error about 1e-15.
  /// x = k ln 2 + r with |r| <= ln 2 / 2, and a Taylor polynomial of degree 13 for exp(r).
  static V exp(V x) {
    const V lowest = all(-745.5);
    const I tiny = x < lowest;
    x = tiny ? lowest : x;
    const V shift = all(6755399441055744.0);  // 1.5 * 2^52: adding it rounds to the nearest integer
    const V rounded = x * 1.4426950408889634 + shift;
    const V k = rounded - shift;
    V r = x - k * 6.93147180369123816490e-01;
    r = r - k * 1.90821492927058770002e-10;
    V e = all(1.6059043836821613e-10);
    e = e * r + 2.08767569878681e-09;
    e = e * r + 2.505210838544172e-08;
    e = e * r + 2.755731922398589e-07;
    e = e * r + 2.7557319223985893e-06;
    e = e * r + 2.48015873015873e-05;
    e = e * r + 1.984126984126984e-04;
    e = e * r + 1.388888888888889e-03;
    e = e * r + 8.333333333333333e-03;
    e = e * r + 4.1666666666666664e-02;
    e = e * r + 1.6666666666666666e-01;
    e = e * r + 0.5;
    e = e * r + 1.0;
    e = e * r + 1.0;
    // 2^k in two factors, so that subnormal results do not overflow the exponent field.
    const I ki = reinterpret_cast<I>(rounded) - reinterpret_cast<I>(shift);
    const I half = ki >> 1;
    const V first = reinterpret_cast<V>((half + 1023) << 52);
    const V second = reinterpret_cast<V>((ki - half + 1023) << 52);
    const V result = e * first * second;
    return tiny ? V{} : result;
  }

  /// Lane j of row i becomes lane i of row j.
  static void transpose(V (&rows)[W]) {
    exchange<1>(rows);
    exchange<2>(rows);
    if constexpr (W > 4) exchange<4>(rows);
  }

 private:
  /// In pairs of rows that are kStep apart, blocks of kStep lanes change places across the diagonal.
  template <int kStep>
  static void exchange(V (&rows)[W]) {
#pragma GCC unroll 8
    for (int r = 0; r < W; ++r) {
      if (r & kStep) continue;
      const V a = rows[r], b = rows[r + kStep];
      rows[r] = joined<kStep>(a, b, 0);
      rows[r + kStep] = joined<kStep>(a, b, kStep);
    }
  }

  /// Lane j is lane (j without kStep) + from of a, or of b where j has kStep.
  template <int kStep>
  static V joined(V a, V b, int from) {
#if defined(__clang__)
    V out;
    for (int j = 0; j < W; ++j) out[j] = j & kStep ? b[(j & ~kStep) + from] : a[j + from];
    return out;
#else
    I of;
    for (int j = 0; j < W; ++j) of[j] = (j & ~kStep) + from + (j & kStep ? W : 0);
    return __builtin_shuffle(a, b, of);
#endif
  }

  /// Lane j receives lane (j + by) mod W.
  static V rotate(V v, int by) {
#if defined(__clang__)
    V out;
    for (int j = 0; j < W; ++j) out[j] = v[(j + by) % W];
    return out;
#else
    I from;
    for (int j = 0; j < W; ++j) from[j] = (j + by) % W;
    return __builtin_shuffle(v, from);
#endif
  }

  static unsigned bits(I mask) {
    unsigned out = 0;
    for (int j = 0; j < W; ++j) out |= static_cast<unsigned>(mask[j] & 1) << j;
    return out;
  }
};

}  // namespace casimir
