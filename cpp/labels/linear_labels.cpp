#include "labels/linear_labels.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/parallel.hpp"
#include "base/vectors.hpp"
#include "labels/label_dual.hpp"

namespace casimir {
namespace {

bool is_zero(const double* x, std::int64_t count) {
  return std::all_of(x, x + count, [](double value) { return value == 0.0; });
}

}  // namespace

LinearLabels::LinearLabels(const LinearLabelsData& data) : data_(data), shape_(data.features.shape()) { keep_fixed(); }

void LinearLabels::keep_fixed() {
  if (!data_.fixed) return;
  const std::int64_t cells = data_.n * shape_.labels;
  std::vector<double> gain(static_cast<std::size_t>(cells));
  for (std::int64_t j = 0; j < cells; ++j)
    gain[static_cast<std::size_t>(j)] = data_.fixed[2 * j + 1] - data_.fixed[2 * j];
  fixed_ = FixedRows(gain.data(), data_.n, shape_);
  for (std::int64_t i = 0; i < data_.n; ++i) {
    double base = 0.0, of_truth = 0.0;
    for (std::int64_t j = output_offset(i); j < output_offset(i + 1); ++j) {
      base += data_.fixed[2 * j];
      if (data_.y && data_.y[j]) of_truth += gain[static_cast<std::size_t>(j)];
      if (!data_.y && data_.truth)
        of_truth += truth_marginals(i)[j - output_offset(i)] * gain[static_cast<std::size_t>(j)];
    }
    base_.push_back(base);
    constant_.push_back(data_.y || data_.truth ? -of_truth : base);
  }
}

std::unique_ptr<Workspace> LinearLabels::workspace() const {
  auto work = std::make_unique<LabelWorkspace>();
  work->oracles = graph().oracles();
  work->scores.resize(static_cast<std::size_t>(width()));
  work->pair.resize(static_cast<std::size_t>(pair_rows() * shape_.stride));
  work->output.resize(static_cast<std::size_t>(shape_.labels));
  return work;
}

void LinearLabels::load_weights(const WeightView& w, Workspace& workspace) const {
  auto& pair = static_cast<LabelWorkspace&>(workspace).pair;
  const std::int64_t first = first_pair();
  for (std::int64_t e = 0; e < graph().edges(); ++e)
    pair[static_cast<std::size_t>(e)] = w.s * w.v[first + e] + (w.c ? w.a * w.c[first + e] : 0.0);
}

/// Padding is 0.
void LinearLabels::scores(std::int64_t i, const WeightView& w, Workspace& workspace, double* out) const {
  const auto& pair = static_cast<LabelWorkspace&>(workspace).pair;
  data_.features.score(i, w, out);
  std::fill(out + shape_.labels, out + shape_.stride, 0.0);
  if (!fixed_.empty()) {
    const double* fixed = fixed_.row(i);
    for (int l = 0; l < shape_.labels; ++l) out[l] += fixed[l];
  }
  std::copy(pair.begin(), pair.end(), out + shape_.stride);
}

template <class Label>
void LinearLabels::add_output(const Label* y, double weight, double* marginals) const {
  for (int l = 0; l < shape_.labels; ++l)
    if (y[l]) marginals[l] += weight;
  for (std::int64_t e = 0; e < graph().edges(); ++e)
    if (graph().agree(e, y)) marginals[shape_.stride + e] += weight;
}

/// The oracles of one example, whose scores are in work.scores.
struct LinearLabels::Oracles {
  const LinearLabels& problem;
  std::int64_t i;
  LabelWorkspace& work;
  const double* seen = nullptr;  // the marginals of the last expect

  LabelScores scores() const { return problem.split(work.scores.data()); }

  double max() { return work.oracles->max(scores(), work.output.data()); }
  void add_best(double* marginals) const { problem.add_output(work.output.data(), 1.0, marginals); }
  double best_cost() const { return problem.cost_of(i, work.output.data()); }

  double expect(double mu, double* marginals) {
    if (!marginals && problem.fixed_.empty()) return work.oracles->expect(scores(), mu, nullptr, nullptr);
    if (!marginals) {
      work.marginals.assign(work.scores.size(), 0.0);
      marginals = work.marginals.data();
    }
    seen = marginals;
    return work.oracles->expect(scores(), mu, marginals, marginals + problem.shape_.stride);
  }
  double expected_cost() const { return seen ? problem.expected_cost(i, seen) : 0.0; }

  BestList best(std::int64_t k, double mu) {
    work.best = {};
    work.oracles->best(scores(), k + 1, mu, work.best);
    const double* z = work.best.values.data();
    const auto count = static_cast<std::int64_t>(work.best.values.size());
    double sum = 0.0;  // of what the first k outputs score above the next (prop:smoothing:proj-simplex-2)
    for (std::int64_t j = 0; j < k && count > k; ++j) sum += z[j] - z[k];
    return {z, count, count <= k || sum >= mu};
  }
  const std::int64_t* labels(std::int64_t j) const { return work.best.labels.data() + j * problem.shape_.labels; }
  void add(std::int64_t j, double weight, double* marginals) const { problem.add_output(labels(j), weight, marginals); }
  double cost(std::int64_t j) const { return problem.cost_of(i, labels(j)); }
};

Answer LinearLabels::oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& workspace,
                            double* marginals) const {
  auto& work = static_cast<LabelWorkspace&>(workspace);
  scores(i, w, work, work.scores.data());
  if (marginals) std::fill(marginals, marginals + width(), 0.0);
  return less(smoothed_max(Oracles{*this, i, work}, smoothing, work.weights, marginals),
              truth_score(i, work.scores.data()));
}

double LinearLabels::expect(std::int64_t, const double* scores, double mu, Workspace& work, double* marginals) const {
  std::fill(marginals, marginals + width(), 0.0);
  return static_cast<LabelWorkspace&>(work).oracles->expect(split(scores), mu, marginals, marginals + shape_.stride);
}

double LinearLabels::expected_cost(std::int64_t i, const double* marginals) const {
  if (fixed_.empty()) return 0.0;
  double cost = constant_[static_cast<std::size_t>(i)];
  for (int l = 0; l < shape_.labels; ++l) cost += marginals[l] * fixed_.row(i)[l];
  return cost;
}

/// Only differences count: a label of 0 gets its margin as what 1 loses.
void LinearLabels::add_truth_scores(std::int64_t i, double margin, double* scores) const {
  for (int l = 0; data_.y && l < shape_.labels; ++l) scores[l] += truth(i)[l] ? margin : -margin;
  for (int l = 0; !data_.y && data_.truth && l < shape_.labels; ++l)
    scores[l] += margin * (2.0 * truth_marginals(i)[l] - 1.0);
}

void LinearLabels::subtract_truth(std::int64_t i, double* marginals) const {
  if (data_.y) return add_output(truth(i), -1.0, marginals);
  for (std::int64_t j = 0; data_.truth && j < width(); ++j) marginals[j] -= truth_marginals(i)[j];
}

/// Scores are those above y = 0, whose own is the base. With a truth both have it.
double LinearLabels::truth_score(std::int64_t i, const double* scores) const {
  if (data_.y) return graph().score(split(scores), truth(i));
  return data_.truth ? dot(truth_marginals(i), scores, width()) : -base_of(i);
}

LabelNorm::LabelNorm(const LinearLabels& labels) : stride_(labels.shape().stride), width_(labels.width()) {
  for (std::int64_t i = 0; i < labels.n_examples(); ++i) features_.push_back(labels.features().squared(i));
}

double LabelNorm::squared(std::int64_t i, const double* x) {
  const double* pairs = x + stride_;
  return of_features(i) * dot(x, x, stride_) + dot(pairs, pairs, width_ - stride_);
}

std::unique_ptr<BlockNorm> LinearLabels::block_norm() const { return std::make_unique<LabelNorm>(*this); }

/// Rows of J from `row` on get `count` numbers x; those outside of the target's range are left alone.
void LinearLabels::add_pairs(std::int64_t row, const double* x, std::int64_t count, const ScatterTarget& target) const {
  const std::int64_t stride = shape_.stride, first = row * stride;
  const std::int64_t begin = std::max<std::int64_t>(target.row_begin - row, 0) * stride;
  const std::int64_t end = std::min(count, (std::min(target.row_end, rows()) - row) * stride);
  for (std::int64_t e = begin; e < end; ++e) {
    target.v[first + e] += target.a * x[e];
    if (target.q) target.q[first + e] += target.b * x[e];
  }
}

void LinearLabels::scatter(std::int64_t i, const double* marginals, const ScatterTarget& target) const {
  data_.features.scatter(i, marginals, target);
  add_pairs(data_.features.rows(), marginals + shape_.stride, graph().edges(), target);
}

/// Units are examples, or -1 - a row of J.
void LinearLabels::collect(std::int64_t i, const double* marginals, MarginalList& list) const {
  for (std::int64_t r = 0; r <= pair_rows(); ++r) {
    const double* row = marginals + r * shape_.stride;
    if (is_zero(row, shape_.stride)) continue;
    list.unit.push_back(r == 0 ? i : -1 - (data_.features.rows() + r - 1));
    list.values.insert(list.values.end(), row, row + shape_.stride);
  }
}

void LinearLabels::scatter_list(const MarginalList& list, const ScatterTarget& target) const {
  const double* x = list.values.data();
  for (const std::int64_t unit : list.unit) {
    if (unit >= 0)
      data_.features.scatter(unit, x, target);
    else
      add_pairs(-1 - unit, x, shape_.stride, target);
    x += shape_.stride;
  }
}

void LinearLabels::touched(std::int64_t i, std::vector<RowRange>& ranges) const {
  data_.features.touched(i, ranges);
  if (pair_rows() > 0) ranges.emplace_back(data_.features.rows(), rows());
}

void LinearLabels::decode(const double* w, int threads, std::int64_t* labels, double* values) const {
  parallel_chunks(n_examples(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    const auto own = workspace();
    auto& work = static_cast<LabelWorkspace&>(*own);
    load_weights({w}, work);
    for (std::int64_t i = begin; i < end; ++i) {
      scores(i, {w}, work, work.scores.data());
      values[i] = work.oracles->max(split(work.scores.data()), work.output.data()) + base_of(i);
      std::copy(work.output.begin(), work.output.end(), labels + output_offset(i));
    }
  });
}

std::unique_ptr<DualBlocks> LinearLabels::dual_blocks(int /*threads*/) const {
  if (!data_.y) throw std::invalid_argument("dual blocks need true outputs: give y.");
  return std::make_unique<LabelDual>(*this);
}

}  // namespace casimir
