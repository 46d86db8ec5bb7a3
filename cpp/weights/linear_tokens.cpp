#include "weights/linear_tokens.hpp"

#include <algorithm>

namespace casimir {

LinearTokens::LinearTokens(const LinearTokensData& data)
    : data_(data), shape_{data.labels, stride_of(data.labels)}, ops_(chain_ops(shape_.stride)) {
  if (!data.cost) return;
  cost_.assign(static_cast<std::size_t>(shape_.labels * shape_.stride), 0.0);
  for (int y = 0; y < shape_.labels; ++y)
    for (int z = 0; z < shape_.labels; ++z) cost_[cell(y, z)] = data.cost[y * shape_.labels + z];
}

void LinearTokens::prefetch_tokens(std::int64_t i, std::int64_t first, std::int64_t count, const WeightView& w) const {
  const std::int64_t* indptr = data_.features.indptr + data_.offsets[i] + first;
  const std::int64_t stride = shape_.stride;
  for (std::int64_t f = indptr[0]; f < indptr[count]; ++f) {
    const std::int64_t row = static_cast<std::int64_t>(data_.features.indices[f]) * stride;
    for (std::int64_t l = 0; l < stride; l += 8) {
      __builtin_prefetch(w.v + row + l);
      if (w.c) __builtin_prefetch(w.c + row + l);
    }
  }
}

void LinearTokens::add_row(std::int64_t row, const double* x, const ScatterTarget& target) const {
  if (row < target.row_begin || row >= target.row_end) return;
  const std::int64_t first = row * shape_.stride;
  for (int l = 0; l < shape_.labels; ++l) target.v[first + l] += target.a * x[l];
  if (target.q)
    for (int l = 0; l < shape_.labels; ++l) target.q[first + l] += target.b * x[l];
}

void LinearTokens::scatter_pairwise(std::int64_t i, const double* parts, const ScatterTarget& target) const {
  const std::int64_t p = length(i);
  ops_.scatter(shape_, data_.features, data_.offsets[i], p, parts, target);
  for (int l = 0; l < shape_.labels; ++l) add_row(data_.n_features + l, parts + cell(p + l, 0), target);
}

void LinearTokens::collect_unit(std::int64_t unit, const double* x, PartList& list) const {
  if (std::all_of(x, x + shape_.labels, [](double value) { return value == 0.0; })) return;
  list.unit.push_back(unit);
  list.values.insert(list.values.end(), x, x + shape_.stride);
}

void LinearTokens::collect_pairwise(std::int64_t i, const double* parts, PartList& list) const {
  const std::int64_t p = length(i);
  for (std::int64_t t = 0; t < p; ++t) collect_unit(data_.offsets[i] + t, parts + cell(t, 0), list);
  for (int l = 0; l < shape_.labels; ++l) collect_unit(-1 - (data_.n_features + l), parts + cell(p + l, 0), list);
}

void LinearTokens::scatter_list(const PartList& list, const ScatterTarget& target) const {
  const double* x = list.values.data();
  for (const std::int64_t unit : list.unit) {
    if (unit >= 0)
      ops_.scatter(shape_, data_.features, unit, 1, x, target);
    else
      add_row(-1 - unit, x, target);
    x += shape_.stride;
  }
}

double LinearTokens::expected_cost(std::int64_t i, const double* marginals) const {
  double cost = 0.0;
  if (cost_.empty()) return cost;
  for (std::int64_t t = 0; t < length(i); ++t)
    for (int l = 0; l < shape_.labels; ++l) cost += marginals[cell(t, l)] * cost_of(truth(i)[t], l);
  return cost;
}

}  // namespace casimir
