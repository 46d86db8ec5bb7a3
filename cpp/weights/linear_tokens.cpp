#include "weights/linear_tokens.hpp"

#include <algorithm>

namespace casimir {

LinearTokens::LinearTokens(const LinearTokensData& data, const SharedWeights& shared)
    : Problem(data.memory),
      data_(data),
      shared_(shared),
      shape_{data.labels, stride_of(data.labels)},
      ops_(chain_ops(shape_.stride)),
      fixed_nodes_(data.fixed_nodes, data.offsets[data.n], shape_, memory()),
      fixed_of_truth_(memory()) {}

void LinearTokens::score_features(std::int64_t first, std::int64_t count, const WeightView& w, double* u) const {
  if (shared_) return shared_.score(shape_, data_.features, first, count, w, u);
  ops_.score(shape_, data_.features, first, count, w, u);
}

void LinearTokens::scatter_features(std::int64_t first, std::int64_t count, const double* x,
                                    const ScatterTarget& target) const {
  if (shared_) return shared_.scatter(shape_, data_.features, first, count, x, target);
  ops_.scatter(shape_, data_.features, first, count, x, target);
}

/// Rows of features, which follow one another in runs at times, and all rows of the structure; shared weights one by
/// one.
void LinearTokens::touched(std::int64_t i, std::vector<RowRange>& ranges) const {
  const std::int64_t* indptr = data_.features.indptr + data_.offsets[i];
  const auto add_cells = [&](std::int64_t row) {
    for (int l = 0; l < shape_.labels; ++l) ranges.emplace_back(place(row, l), place(row, l) + 1);
  };
  for (std::int64_t f = indptr[0]; f < indptr[length(i)]; ++f) {
    const std::int64_t row = data_.features.indices[f];
    if (shared_)
      add_cells(row);
    else
      ranges.emplace_back(row, row + 1);
  }
  if (!shared_) return ranges.emplace_back(data_.n_features, rows()), void();
  for (std::int64_t row = data_.n_features; row < weight_rows(); ++row) add_cells(row);
}

void LinearTokens::prefetch_places(std::int64_t i) const {
  constexpr std::int64_t places = 64 / sizeof(*data_.features.indptr), labels = 64 / sizeof(*data_.y);
  const std::int64_t first = data_.offsets[i], end = data_.offsets[i + 1];
  for (std::int64_t t = first; t < end; t += places) __builtin_prefetch(data_.features.indptr + t);
  __builtin_prefetch(data_.features.indptr + end);
  for (std::int64_t t = first; t < end; t += labels) {
    if (data_.y) __builtin_prefetch(data_.y + t);
    fixed_nodes_.prefetch(t);
  }
}

void LinearTokens::prefetch_features(std::int64_t i, std::int64_t first, std::int64_t count) const {
  constexpr std::int64_t line = 64 / sizeof(*data_.features.indices);
  const std::int64_t* indptr = data_.features.indptr + data_.offsets[i] + first;
  for (std::int64_t f = indptr[0]; f < indptr[count]; f += line) __builtin_prefetch(data_.features.indices + f);
}

void LinearTokens::prefetch_tokens(std::int64_t i, std::int64_t first, std::int64_t count, const WeightView& w) const {
  const std::int64_t* indptr = data_.features.indptr + data_.offsets[i] + first;
  const std::int64_t stride = shape_.stride;
  for (std::int64_t f = indptr[0]; shared_ && f < indptr[count]; ++f)
    __builtin_prefetch(shared_.at + static_cast<std::int64_t>(data_.features.indices[f]) * shape_.labels);
  for (std::int64_t f = indptr[0]; !shared_ && f < indptr[count]; ++f) {
    const std::int64_t row = static_cast<std::int64_t>(data_.features.indices[f]) * stride;
    for (std::int64_t l = 0; l < stride; l += 8) {
      __builtin_prefetch(w.v + row + l);
      if (w.c) __builtin_prefetch(w.c + row + l);
    }
  }
}

void LinearTokens::add_row(std::int64_t row, const double* x, const ScatterTarget& target) const {
  if (shared_) return shared_.scatter_row(shape_, row, 1.0, x, target);
  if (row < target.row_begin || row >= target.row_end) return;
  const std::int64_t first = row * shape_.stride;
  for (int l = 0; l < shape_.labels; ++l) target.v[first + l] += target.a * x[l];
  if (target.q)
    for (int l = 0; l < shape_.labels; ++l) target.q[first + l] += target.b * x[l];
}

void LinearTokens::scatter_pairwise(std::int64_t i, const double* marginals, const ScatterTarget& target) const {
  const std::int64_t p = length(i);
  scatter_features(data_.offsets[i], p, marginals, target);
  for (std::int64_t r = 0; r < pair_rows(i); ++r)
    add_row(data_.n_features + r % shape_.labels, marginals + cell(p + r, 0), target);
}

void LinearTokens::collect_unit(std::int64_t unit, const double* x, MarginalList& list) const {
  if (std::all_of(x, x + shape_.labels, [](double value) { return value == 0.0; })) return;
  list.unit.push_back(unit);
  list.values.insert(list.values.end(), x, x + shape_.stride);
}

void LinearTokens::collect_pairwise(std::int64_t i, const double* marginals, MarginalList& list) const {
  const std::int64_t p = length(i);
  for (std::int64_t t = 0; t < p; ++t) collect_unit(data_.offsets[i] + t, marginals + cell(t, 0), list);
  for (int l = 0; !data_.pairs_apart && l < shape_.labels; ++l)
    collect_unit(-1 - (data_.n_features + l), marginals + cell(p + l, 0), list);
}

void LinearTokens::scatter_list(const MarginalList& list, const ScatterTarget& target) const {
  const double* x = list.values.data();
  for (const std::int64_t unit : list.unit) {
    if (unit >= 0)
      scatter_features(unit, 1, x, target);
    else
      add_row(-1 - unit, x, target);
    x += shape_.stride;
  }
}

void LinearTokens::add_truth_scores(std::int64_t i, double margin, double* scores) const {
  for (std::int64_t t = 0; t < length(i); ++t) {
    if (data_.y) scores[cell(t, truth(i)[t])] += margin;
    for (int l = 0; !data_.y && data_.truth && l < shape_.labels; ++l)
      if (const double u = truth_marginals(i)[cell(t, l)]; u != 0.0) scores[cell(t, l)] += margin * u;
  }
}

void LinearTokens::subtract_marginals(std::int64_t i, double* marginals) const {
  if (!data_.truth) return;
  const double* truth = truth_marginals(i);
  for (std::int64_t j = 0; j < marginal_count(i); ++j) marginals[j] -= truth[j];
}

double LinearTokens::expected_score(const double* marginals, const double* scores, std::int64_t count) {
  double total = 0.0;
  for (std::int64_t j = 0; j < count; ++j)
    if (marginals[j] != 0.0) total += marginals[j] * scores[j];
  return total;
}

double LinearTokens::expected_fixed(std::int64_t i, const double* marginals) const {
  double total = 0.0;
  const std::int64_t p = length(i);
  for (std::int64_t t = 0; !fixed_nodes_.empty() && t < p; ++t)
    for (int l = 0; l < shape_.labels; ++l)
      if (const double u = marginals[cell(t, l)]; u != 0.0) total += u * fixed_node(i, t, l);
  for (std::int64_t r = 0; data_.fixed_pairs && r < pair_rows(i); ++r)
    for (int b = 0; b < shape_.labels; ++b)
      if (const double u = marginals[cell(p + r, b)]; u != 0.0) total += u * fixed_pair(r % shape_.labels, b);
  return total;
}

}  // namespace casimir
