#include "parts/linear_parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/parallel.hpp"
#include "base/vectors.hpp"
#include "parts/part_dual.hpp"

namespace casimir {
namespace {

bool is_zero(const double* x, std::int64_t count) {
  return std::all_of(x, x + count, [](double value) { return value == 0.0; });
}

/// Whether the scores are finite, and so are their sums. If not, no algorithm takes them.
bool are_finite(const std::vector<double>& cells) {
  double sums[8] = {}, total = 0.0;
  std::size_t j = 0;
  for (; j + 8 <= cells.size(); j += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += std::abs(cells[j + lane]);
  for (; j < cells.size(); ++j) total += std::abs(cells[j]);
  for (const double sum : sums) total += sum;
  return std::isfinite(total);
}

double sum_of(const double* cells, const std::vector<std::int64_t>& used) {
  double total = 0.0;
  for (const std::int64_t cell : used) total += cells[cell];
  return total;
}

constexpr Answer kNotFinite{.value = std::numeric_limits<double>::quiet_NaN(),
                            .max_value = std::numeric_limits<double>::quiet_NaN(),
                            .cost = 0.0,
                            .upper = std::numeric_limits<double>::quiet_NaN(),
                            .exact = true};

}  // namespace

LinearParts::LinearParts(LinearPartsData data)
    : data_(std::move(data)), node_offsets_{0}, edge_offsets_{0}, output_offsets_{0} {
  for (std::int64_t i = 0; i < n_examples(); ++i) {
    node_offsets_.push_back(node_offsets_.back() + structure().node_cells(i));
    edge_offsets_.push_back(edge_offsets_.back() + structure().edge_cells(i));
    output_offsets_.push_back(output_offsets_.back() + structure().length(i));
  }
  if (!has_costs()) return;
  std::vector<std::int64_t> used;
  for (std::int64_t i = 0; i < n_examples(); ++i) {
    double total = 0.0;
    if (data_.y) {
      structure().cells_of(i, truth(i), used);
      for (const std::int64_t cell : used) total += fixed_at(i, cell);
    } else if (data_.truth) {
      for (std::int64_t cell = 0; cell < marginal_count(i); ++cell)
        total += truth_marginals(i)[cell] * fixed_at(i, cell);
    }
    of_truth_.push_back(total);
  }
}

template <class Cells, class Visit>
void LinearParts::for_each_row(std::int64_t i, Cells* cells, Visit&& visit) const {
  const int per_node = data_.nodes.cells();
  std::int64_t row = node_offsets_[at(i)] / per_node, end = node_offsets_[at(i + 1)] / per_node;
  for (; row < end; ++row, cells += per_node) visit(data_.nodes, row, cells, false);
  if (!data_.edges) return;
  const int per_edge = data_.edges->cells();
  row = edge_offsets_[at(i)] / per_edge, end = edge_offsets_[at(i + 1)] / per_edge;
  for (; row < end; ++row, cells += per_edge) visit(*data_.edges, row, cells, true);
}

double LinearParts::fixed_at(std::int64_t i, std::int64_t cell) const {
  const std::int64_t nodes = node_cells(i);
  if (cell < nodes) return data_.fixed_nodes ? data_.fixed_nodes[node_offsets_[at(i)] + cell] : 0.0;
  return data_.fixed_edges ? data_.fixed_edges[edge_offsets_[at(i)] + cell - nodes] : 0.0;
}

std::unique_ptr<Workspace> LinearParts::workspace() const {
  auto work = std::make_unique<PartsWorkspace>();
  work->oracles = structure().oracles();
  return work;
}

void LinearParts::load_weights(const WeightView& w, Workspace& workspace) const {
  auto& work = static_cast<PartsWorkspace&>(workspace);
  data_.nodes.load(w, work.node_table);
  if (data_.edges) data_.edges->load(w, work.edge_table);
}

void LinearParts::scores(std::int64_t i, const WeightView& w, Workspace& workspace, double* out) const {
  auto& work = static_cast<PartsWorkspace&>(workspace);
  const auto score = [&](const PartRows& rows, const std::vector<std::int64_t>& offsets,
                         const std::vector<double>& table, double* cells) {
    const std::int64_t first = offsets[at(i)] / rows.cells(), end = offsets[at(i + 1)] / rows.cells();
    rows.scores(first, end - first, w, table, work.products, cells);
  };
  const std::int64_t nodes = node_cells(i), edges = edge_offsets_[at(i + 1)] - edge_offsets_[at(i)];
  score(data_.nodes, node_offsets_, work.node_table, out);
  if (data_.edges)
    score(*data_.edges, edge_offsets_, work.edge_table, out + nodes);
  else
    std::fill_n(out + nodes, edges, 0.0);
  for (std::int64_t c = 0; data_.fixed_nodes && c < nodes; ++c) out[c] += data_.fixed_nodes[node_offsets_[at(i)] + c];
  for (std::int64_t c = 0; data_.fixed_edges && c < edges; ++c)
    out[nodes + c] += data_.fixed_edges[edge_offsets_[at(i)] + c];
}

bool LinearParts::best_output(std::int64_t i, PartsWorkspace& work) const {
  if (!are_finite(work.cells)) return false;
  work.output.resize(at(length(i)));
  work.oracles->max(i, work.cells.data(), work.output.data());
  structure().cells_of(i, work.output.data(), work.used);
  return true;
}

double LinearParts::cost_of(std::int64_t i, const std::vector<std::int64_t>& used) const {
  if (!has_costs()) return 0.0;
  double cost = -of_truth_[at(i)];
  for (const std::int64_t cell : used) cost += fixed_at(i, cell);
  return cost;
}

/// The oracles of one example, whose scores are in work.cells.
struct LinearParts::Oracles {
  const LinearParts& problem;
  std::int64_t i;
  PartsWorkspace& work;
  const double* seen = nullptr;  // the marginals of the last expect

  double max() const { return sum_of(work.cells.data(), work.used); }
  void add_best(double* marginals) const {
    for (const std::int64_t cell : work.used) marginals[cell] += 1.0;
  }
  double best_cost() const { return problem.cost_of(i, work.used); }

  double expect(double mu, double* marginals) {
    if (!marginals) {
      work.marginals.resize(work.cells.size());
      marginals = work.marginals.data();
    }
    seen = marginals;
    return work.oracles->expect(i, work.cells.data(), mu, marginals);
  }
  double expected_cost() const { return problem.expected_cost(i, seen); }

  BestList best(std::int64_t k, double mu) {
    work.best = {};
    work.oracles->best(i, work.cells.data(), k + 1, mu, work.best);
    const double* z = work.best.values.data();
    const auto count = static_cast<std::int64_t>(work.best.values.size());
    double sum = 0.0;  // of what the first k outputs score above the next (prop:smoothing:proj-simplex-2)
    for (std::int64_t j = 0; j < k && count > k; ++j) sum += z[j] - z[k];
    return {z, count, count <= k || sum >= mu};
  }
  void load(std::int64_t j) const {
    const std::int64_t p = problem.length(i);
    work.output.assign(work.best.labels.begin() + j * p, work.best.labels.begin() + (j + 1) * p);
    problem.structure().cells_of(i, work.output.data(), work.used);
  }
  void add(std::int64_t j, double weight, double* marginals) const {
    load(j);
    for (const std::int64_t cell : work.used) marginals[cell] += weight;
  }
  double cost(std::int64_t j) const {
    if (!problem.has_costs()) return 0.0;
    load(j);
    return problem.cost_of(i, work.used);
  }
};

Answer LinearParts::oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& workspace,
                           double* marginals) const {
  auto& work = static_cast<PartsWorkspace&>(workspace);
  const auto count = at(marginal_count(i));
  work.cells.resize(count);
  scores(i, w, work, work.cells.data());
  if (marginals) std::fill_n(marginals, count, 0.0);
  if (smoothing.kind == SmoothingKind::kHard ? !best_output(i, work) : !are_finite(work.cells)) return kNotFinite;
  const Answer answer = smoothed_max(Oracles{*this, i, work}, smoothing, work.weights, marginals);
  return less(answer, truth_score(i, work.cells.data(), work.used));
}

double LinearParts::expect(std::int64_t i, const double* scores, double mu, Workspace& workspace,
                           double* marginals) const {
  return static_cast<PartsWorkspace&>(workspace).oracles->expect(i, scores, mu, marginals);
}

double LinearParts::expected_cost(std::int64_t i, const double* marginals) const {
  if (!has_costs()) return 0.0;
  double cost = -of_truth_[at(i)];
  for (std::int64_t cell = 0; cell < marginal_count(i); ++cell)
    if (marginals[cell] != 0.0) cost += marginals[cell] * fixed_at(i, cell);
  return cost;
}

void LinearParts::add_truth_scores(std::int64_t i, double margin, double* scores) const {
  const std::int64_t nodes = node_cells(i);
  if (data_.y) {
    std::vector<std::int64_t> used;
    structure().cells_of(i, truth(i), used);
    for (const std::int64_t cell : used)
      if (cell < nodes) scores[cell] += margin;
  }
  for (std::int64_t cell = 0; !data_.y && data_.truth && cell < nodes; ++cell)
    scores[cell] += margin * truth_marginals(i)[cell];
}

void LinearParts::subtract_truth(std::int64_t i, double* marginals) const {
  if (data_.y) {
    std::vector<std::int64_t> used;
    structure().cells_of(i, truth(i), used);
    for (const std::int64_t cell : used) marginals[cell] -= 1.0;
  }
  for (std::int64_t cell = 0; !data_.y && data_.truth && cell < marginal_count(i); ++cell)
    marginals[cell] -= truth_marginals(i)[cell];
}

double LinearParts::truth_score(std::int64_t i, const double* cells, std::vector<std::int64_t>& used) const {
  if (data_.y) {
    structure().cells_of(i, truth(i), used);
    return sum_of(cells, used);
  }
  return data_.truth ? dot(truth_marginals(i), cells, marginal_count(i)) : 0.0;
}

void LinearParts::scatter(std::int64_t i, const double* marginals, const ScatterTarget& target) const {
  for_each_row(i, marginals, [&](const PartRows& rows, std::int64_t row, const double* cells, bool) {
    if (!is_zero(cells, rows.cells())) rows.scatter(row, cells, target);
  });
}

/// Units are rows of nodes, or -1 - a row of edges.
void LinearParts::collect(std::int64_t i, const double* marginals, MarginalList& list) const {
  for_each_row(i, marginals, [&](const PartRows& rows, std::int64_t row, const double* cells, bool is_edge) {
    if (is_zero(cells, rows.cells())) return;
    list.unit.push_back(is_edge ? -1 - row : row);
    list.values.insert(list.values.end(), cells, cells + rows.cells());
  });
}

void LinearParts::scatter_list(const MarginalList& list, const ScatterTarget& target) const {
  const double* cells = list.values.data();
  for (const std::int64_t unit : list.unit) {
    const PartRows& rows = unit >= 0 ? data_.nodes : *data_.edges;
    rows.scatter(unit >= 0 ? unit : -1 - unit, cells, target);
    cells += rows.cells();
  }
}

void LinearParts::ranges_of(std::int64_t i, const double* marginals, std::vector<RowRange>& ranges) const {
  const PartRows* last = nullptr;  // all dense rows of a kind read the same weights
  for_each_row(i, marginals, [&](const PartRows& rows, std::int64_t row, const double* cells, bool) {
    if ((!rows.is_sparse() && last == &rows) || is_zero(cells, rows.cells())) return;
    last = &rows;
    rows.for_each_range(row, [&](std::int64_t begin, std::int64_t end) { ranges.emplace_back(begin, end); });
  });
}

void LinearParts::touched(std::int64_t i, std::vector<RowRange>& ranges) const {
  const std::vector<double> all(at(marginal_count(i)), 1.0);
  const std::size_t first = ranges.size();
  ranges_of(i, all.data(), ranges);
  const auto own = ranges.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(own, ranges.end());
  ranges.erase(std::unique(own, ranges.end()), ranges.end());
}

void LinearParts::decode(const double* w, int threads, std::int64_t* labels, double* values) const {
  parallel_chunks(n_examples(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    const auto own = workspace();
    auto& work = static_cast<PartsWorkspace&>(*own);
    load_weights({w}, work);
    for (std::int64_t i = begin; i < end; ++i) {
      work.cells.resize(at(marginal_count(i)));
      scores(i, {w}, work, work.cells.data());
      if (!best_output(i, work)) throw std::invalid_argument("scores are NaN or infinite; they must be finite.");
      values[i] = sum_of(work.cells.data(), work.used);
      std::copy(work.output.begin(), work.output.end(), labels + output_offset(i));
    }
  });
}

std::unique_ptr<DualBlocks> LinearParts::dual_blocks(int /*threads*/) const {
  if (!data_.y) throw std::invalid_argument("dual blocks need true outputs: give y.");
  return std::make_unique<PartDual>(*this);
}

void PartGradient::compute(std::int64_t i, const double* x) {
  ranges_.clear();
  parts_.ranges_of(i, x, ranges_);
  parts_.scatter(i, x, {values_.data(), 1.0});
  columns_.clear();
  for (const auto& [begin, end] : ranges_)
    for (std::int64_t j = begin; j < end; ++j) columns_.push_back(j);
  if (ranges_.size() > 1) {
    std::sort(columns_.begin(), columns_.end());
    columns_.erase(std::unique(columns_.begin(), columns_.end()), columns_.end());
  }
  found_.clear();
  for (const std::int64_t j : columns_) found_.push_back(std::exchange(values_[at(j)], 0.0));
}

namespace {

class PartNorm final : public BlockNorm {
 public:
  explicit PartNorm(const LinearParts& parts) : gradient_(parts) {}

  double squared(std::int64_t i, const double* x) override {
    gradient_.compute(i, x);
    const std::vector<double>& found = gradient_.values();
    return dot(found.data(), found.data(), static_cast<std::int64_t>(found.size()));
  }

 private:
  PartGradient gradient_;
};

}  // namespace

std::unique_ptr<BlockNorm> LinearParts::block_norm() const { return std::make_unique<PartNorm>(*this); }

}  // namespace casimir
