#include "casimir/dense_rows.hpp"

#include <cstring>

#include "casimir/lanes.hpp"

namespace casimir {
namespace {

using Eight = Lanes<8>;
using V = Eight::V;

/// Eight consecutive entries as doubles.
V eight(const double* x) { return Eight::load(x); }
V eight(const float* x) {
  typedef float Floats __attribute__((vector_size(32)));
  Floats f;
  std::memcpy(&f, x, sizeof f);
  return __builtin_convertvector(f, V);
}

/// sum_j term(j); `terms(j)` gives the eight from j on. Four sums run side by side, so that none waits for another.
template <class Eights, class One>
double sum_terms(std::int64_t dim, Eights&& terms, One&& term) {
  V sums[4] = {};
  std::int64_t j = 0;
  for (; j + 32 <= dim; j += 32)
    for (int r = 0; r < 4; ++r) sums[r] += terms(j + 8 * r);
  for (; j + 8 <= dim; j += 8) sums[0] += terms(j);
  double total = Eight::sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; j < dim; ++j) total += term(j);
  return total;
}

template <class T>
double dot_view(std::int64_t dim, const T* x, const WeightView& w) {
  if (!w.c)
    return w.s * sum_terms(
                     dim, [&](std::int64_t j) { return eight(x + j) * eight(w.v + j); },
                     [&](std::int64_t j) { return x[j] * w.v[j]; });
  return sum_terms(
      dim, [&](std::int64_t j) { return eight(x + j) * (w.a * eight(w.c + j) + w.s * eight(w.v + j)); },
      [&](std::int64_t j) { return x[j] * (w.a * w.c[j] + w.s * w.v[j]); });
}

template <class T>
double dot_rows(std::int64_t dim, const T* x, const T* y) {
  return sum_terms(
      dim, [&](std::int64_t j) { return eight(x + j) * eight(y + j); },
      [&](std::int64_t j) { return static_cast<double>(x[j]) * y[j]; });
}

template <class T>
double distance(std::int64_t dim, const T* x, const T* y) {
  return sum_terms(
      dim,
      [&](std::int64_t j) {
        const V d = eight(x + j) - eight(y + j);
        return d * d;
      },
      [&](std::int64_t j) {
        const double d = static_cast<double>(x[j]) - y[j];
        return d * d;
      });
}

template <class T>
void add_scaled(const T* x, double scale, std::int64_t begin, std::int64_t end, double* out) {
  std::int64_t j = begin;
  for (; j + 8 <= end; j += 8) Eight::store(out + j, Eight::load(out + j) + scale * eight(x + j));
  for (; j < end; ++j) out[j] += scale * x[j];
}

}  // namespace

double DenseRows::dot(std::int64_t row, const WeightView& w) const {
  return f64_ ? dot_view(dim_, f64_ + row * dim_, w) : dot_view(dim_, f32_ + row * dim_, w);
}

double DenseRows::inner(std::int64_t a, std::int64_t b) const {
  return f64_ ? dot_rows(dim_, f64_ + a * dim_, f64_ + b * dim_) : dot_rows(dim_, f32_ + a * dim_, f32_ + b * dim_);
}

double DenseRows::squared_distance(std::int64_t a, std::int64_t b) const {
  return f64_ ? distance(dim_, f64_ + a * dim_, f64_ + b * dim_) : distance(dim_, f32_ + a * dim_, f32_ + b * dim_);
}

void DenseRows::add_to(std::int64_t row, double scale, std::int64_t begin, std::int64_t end, double* out) const {
  f64_ ? add_scaled(f64_ + row * dim_, scale, begin, end, out) : add_scaled(f32_ + row * dim_, scale, begin, end, out);
}

}  // namespace casimir
