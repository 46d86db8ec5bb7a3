#include "chain/edge_features.hpp"

namespace casimir {

void EdgeFeatures::add_scores(std::int64_t token, const WeightView& w, double* to) const {
  const std::int64_t cells = static_cast<std::int64_t>(shape_.labels) * shape_.stride;
  for (std::int64_t f = x_.indptr[token]; f < x_.indptr[token + 1]; ++f) {
    const std::int64_t first = row(x_.indices[f], 0) * shape_.stride;
    const double value = x_.values ? x_.values[f] : 1.0, moving = value * w.s, fixed = value * w.a;
    const double* v = w.v + first;
    if (const double* c = w.c ? w.c + first : nullptr)
      for (std::int64_t j = 0; j < cells; ++j) to[j] += moving * v[j] + fixed * c[j];
    else
      for (std::int64_t j = 0; j < cells; ++j) to[j] += moving * v[j];
  }
}

void EdgeFeatures::scatter(std::int64_t token, std::int64_t from, const double* marginals,
                           const ScatterTarget& target) const {
  for (std::int64_t f = x_.indptr[token]; f < x_.indptr[token + 1]; ++f) {
    const std::int64_t here = row(x_.indices[f], from);
    if (here < target.row_begin || here >= target.row_end) continue;
    const double value = x_.values ? x_.values[f] : 1.0;
    double* v = target.v + here * shape_.stride;
    for (int z = 0; z < shape_.labels; ++z) v[z] += target.a * value * marginals[z];
    if (!target.q) continue;
    double* q = target.q + here * shape_.stride;
    for (int z = 0; z < shape_.labels; ++z) q[z] += target.b * value * marginals[z];
  }
}

void EdgeFeatures::touched(std::int64_t token, std::vector<RowRange>& ranges) const {
  for (std::int64_t f = x_.indptr[token]; f < x_.indptr[token + 1]; ++f)
    ranges.emplace_back(row(x_.indices[f], 0), row(x_.indices[f], shape_.labels));
}

}  // namespace casimir
