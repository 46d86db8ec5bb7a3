#include "parts/part_rows.hpp"

#include <algorithm>
#include <utility>

namespace casimir {
namespace {

/// The weights from `first` on.
WeightView behind(const WeightView& w, std::int64_t first) {
  return {w.v + first, w.s, w.c ? w.c + first : nullptr, w.a};
}

double weight_at(const WeightView& w, std::int64_t j) { return w.s * w.v[j] + (w.c ? w.a * w.c[j] : 0.0); }

}  // namespace

PartRows::PartRows(PartRowsData data) : data_(std::move(data)) {
  const std::vector<BasisEntry>& basis = data_.basis;
  is_plain_ = data_.width == 1 && data_.cells == 1 && basis.size() == 1 && basis[0].value == 1.0 && !data_.scale;
}

/// The columns of W one after another, so that a product with each is one with a vector.
void PartRows::load(const WeightView& w, std::vector<double>& table) const {
  if (is_sparse() || data_.width == 1) return;
  table.resize(at(data_.dim * data_.width));
  for (std::int64_t f = 0; f < data_.dim; ++f)
    for (int k = 0; k < data_.width; ++k)
      table[at(k * data_.dim + f)] = weight_at(w, data_.first + f * data_.width + k);
}

/// x_r W of `count` rows: out [K][count] of dense ones, [count][K] of sparse ones.
void PartRows::products_of(std::int64_t first, std::int64_t count, const WeightView& w,
                           const std::vector<double>& table, double* out) const {
  if (!is_sparse() && data_.width == 1) return dense().dots(first, count, behind(w, data_.first), out);
  for (int k = 0; !is_sparse() && k < data_.width; ++k)
    dense().dots(first, count, {table.data() + k * data_.dim}, out + k * count);
  if (!is_sparse()) return;
  const TokenFeatures& x = data_.sparse;
  for (std::int64_t r = first; r < first + count; ++r, out += data_.width) {
    std::fill_n(out, data_.width, 0.0);
    for (std::int64_t f = x.indptr[r]; f < x.indptr[r + 1]; ++f) {
      const double value = x.values ? x.values[f] : 1.0;
      const std::int64_t j = data_.first + static_cast<std::int64_t>(x.indices[f]) * data_.width;
      for (int k = 0; k < data_.width; ++k) out[k] += value * weight_at(w, j + k);
    }
  }
}

void PartRows::scores(std::int64_t first, std::int64_t count, const WeightView& w, const std::vector<double>& table,
                      std::vector<double>& products, double* out) const {
  if (is_plain_) return products_of(first, count, w, table, out);
  products.resize(at(count * data_.width));
  products_of(first, count, w, table, products.data());
  const std::int64_t of_row = is_sparse() ? data_.width : 1, of_k = is_sparse() ? 1 : count;
  std::fill_n(out, count * data_.cells, 0.0);
  for (std::int64_t r = 0; r < count; ++r, out += data_.cells) {
    const double scale = scale_of(first + r);
    for (const BasisEntry& b : data_.basis) out[b.cell] += scale * b.value * products[at(r * of_row + b.k * of_k)];
  }
}

template <class T>
void PartRows::scatter_dense(const T* x, const double* z, const ScatterTarget& target) const {
  const std::int64_t width = data_.width, first = data_.first;
  const std::int64_t begin = std::max<std::int64_t>(target.row_begin - first, 0);
  const std::int64_t end = std::min(target.row_end - first, data_.dim * width);
  for (std::int64_t j = begin; j < end; ++j) {
    const double change = static_cast<double>(x[j / width]) * z[j % width];
    target.v[first + j] += target.a * change;
    if (target.q) target.q[first + j] += target.b * change;
  }
}

void PartRows::scatter_sparse(std::int64_t row, const double* z, const ScatterTarget& target) const {
  const TokenFeatures& x = data_.sparse;
  for (std::int64_t f = x.indptr[row]; f < x.indptr[row + 1]; ++f) {
    const double value = x.values ? x.values[f] : 1.0;
    const std::int64_t first = data_.first + static_cast<std::int64_t>(x.indices[f]) * data_.width;
    for (int k = 0; k < data_.width; ++k) {
      const std::int64_t j = first + k;
      if (j < target.row_begin || j >= target.row_end) continue;
      target.v[j] += target.a * value * z[k];
      if (target.q) target.q[j] += target.b * value * z[k];
    }
  }
}

void PartRows::scatter(std::int64_t row, const double* cells, const ScatterTarget& target) const {
  constexpr int kFew = 64;
  double few[kFew];
  std::vector<double> many(data_.width > kFew ? at(data_.width) : 0);
  double* z = many.empty() ? few : many.data();
  std::fill_n(z, data_.width, 0.0);
  const double scale = scale_of(row);
  for (const BasisEntry& b : data_.basis) z[b.k] += scale * b.value * cells[b.cell];
  if (std::all_of(z, z + data_.width, [](double x) { return x == 0.0; })) return;
  if (is_sparse()) return scatter_sparse(row, z, target);
  if (data_.width > 1) {
    const std::int64_t start = row * data_.dim;
    return data_.f64 ? scatter_dense(data_.f64 + start, z, target) : scatter_dense(data_.f32 + start, z, target);
  }
  const std::int64_t begin = std::max<std::int64_t>(target.row_begin - data_.first, 0);
  const std::int64_t end = std::min(target.row_end - data_.first, data_.dim);
  if (begin >= end) return;
  dense().add_to(row, target.a * z[0], begin, end, target.v + data_.first);
  if (target.q) dense().add_to(row, target.b * z[0], begin, end, target.q + data_.first);
}

}  // namespace casimir
