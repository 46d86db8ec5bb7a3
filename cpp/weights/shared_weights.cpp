#include "weights/shared_weights.hpp"

#include <algorithm>
#include <limits>

namespace casimir {

void SharedWeights::score(RowShape shape, const TokenFeatures& x, std::int64_t first, std::int64_t tokens,
                          const WeightView& w, double* u) const {
  for (std::int64_t t = first; t < first + tokens; ++t, u += shape.stride) {
    std::fill(u, u + shape.labels, 0.0);
    std::fill(u + shape.labels, u + shape.stride, -std::numeric_limits<double>::infinity());
    for (std::int64_t f = x.indptr[t]; f < x.indptr[t + 1]; ++f) {
      const std::uint32_t* cells = at + static_cast<std::int64_t>(x.indices[f]) * shape.labels;
      const double value = x.values ? x.values[f] : 1.0, s = value * w.s, a = value * w.a;
      for (int l = 0; l < shape.labels; ++l) u[l] += s * w.v[cells[l]];
      for (int l = 0; w.c && l < shape.labels; ++l) u[l] += a * w.c[cells[l]];
    }
  }
}

void SharedWeights::scatter(RowShape shape, const TokenFeatures& features, std::int64_t first, std::int64_t tokens,
                            const double* x, const ScatterTarget& target) const {
  for (std::int64_t t = first; t < first + tokens; ++t, x += shape.stride) {
    if (std::all_of(x, x + shape.labels, [](double value) { return value == 0.0; })) continue;
    for (std::int64_t f = features.indptr[t]; f < features.indptr[t + 1]; ++f)
      scatter_row(shape, features.indices[f], features.values ? features.values[f] : 1.0, x, target);
  }
}

void SharedWeights::scatter_row(RowShape shape, std::int64_t row, double value, const double* x,
                                const ScatterTarget& target) const {
  const std::uint32_t* cells = at + row * shape.labels;
  for (int l = 0; l < shape.labels; ++l) {
    const std::int64_t j = cells[l];
    if (x[l] == 0.0 || j < target.row_begin || j >= target.row_end) continue;
    target.v[j] += target.a * (value * x[l]);
    if (target.q) target.q[j] += target.b * (value * x[l]);
  }
}

}  // namespace casimir
