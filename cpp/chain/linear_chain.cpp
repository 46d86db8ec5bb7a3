#include "chain/linear_chain.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/numbers.hpp"
#include "base/parallel.hpp"
#include "chain/chain_dual.hpp"
#include "chain/edge_chain_dual.hpp"
#include "weights/token_norm.hpp"

namespace casimir {
namespace {

void add_weight_row(const WeightView& w, std::int64_t row, RowShape shape, double* out) {
  const double* v = w.v + row * shape.stride;
  const double* c = w.c ? w.c + row * shape.stride : nullptr;
  for (int l = 0; l < shape.labels; ++l) out[l] += w.s * v[l] + (c ? w.a * c[l] : 0.0);
}

}  // namespace

LinearChain::LinearChain(const LinearTokensData& data, UnfoldingData automaton, const EdgeFeatureData& edges)
    : LinearTokens(data), unfolding_(std::move(automaton), shape_), edges_(edges, shape_, stop_row() + 1) {
  if (edges_ ? unfolding_ || !data.pairs_apart : data.pairs_apart)
    throw std::invalid_argument("features of edges need marginals of each pair, and no automaton.");
  if (data.fixed_pairs && !edges_ && !unfolding_ && allows_truth())
    allowed_ = AllowedPairs(data.labels, data.fixed_pairs, data.labels);
  keep_fixed_of_truth([this](std::int64_t i) { return fixed_score(i, truth(i)); });
}

/// Whether every pair of the true labels has a fixed score above -inf.
bool LinearChain::allows_truth() const {
  for (std::int64_t i = 0; data_.y && i < n_examples(); ++i)
    for (std::int64_t t = 1; t < length(i); ++t)
      if (fixed_pair(truth(i)[t - 1], truth(i)[t]) == -kInf) return false;
  return true;
}

void LinearChain::load_transitions(const WeightView& w, std::vector<double>& to) const {
  const int labels = shape_.labels, stride = shape_.stride;
  const auto cells = static_cast<std::size_t>(labels * stride);
  if (allowed_) {
    if (to.size() != cells) to.assign(cells, -kInf);
    const std::int64_t base = data_.n_features * stride;
    allowed_.for_each([&](std::int64_t, std::int64_t y, std::int64_t z) {
      const std::int64_t at = base + y * stride + z;
      to[cell(y, z)] = 0.0 + (w.s * w.v[at] + (w.c ? w.a * w.c[at] : 0.0)) + fixed_pair(y, z);
    });
    return;
  }
  to.resize(cells);
  for (int y = 0; y < labels; ++y) {
    double* row = to.data() + y * stride;
    std::fill(row, row + labels, 0.0);
    add_weight_row(w, data_.n_features + y, shape_, row);
    if (data_.fixed_pairs)
      for (int z = 0; z < labels; ++z) row[z] += fixed_pair(y, z);
    std::fill(row + labels, row + stride, -kInf);
  }
}

void LinearChain::load_weights(const WeightView& w, Workspace& work) const {
  auto& chain = static_cast<ChainWorkspace&>(work);
  load_transitions(w, chain.to);
  load_pairs(chain.to.data(), chain);
}

void LinearChain::load_pairs(const double* to, ChainWorkspace& work) const {
  work.potentials.mu = 0.0;
  work.allowed_sums.forget();
  if (allowed_) return work.allowed.load(allowed_, to, shape_.stride);
  work.from.resize(static_cast<std::size_t>(shape_.labels * shape_.stride));
  transpose(to, work.from.data());
}

void LinearChain::transpose(const double* to, double* from) const {
  const int labels = shape_.labels, stride = shape_.stride;
  for (int y = 0; y < labels; ++y) {
    for (int z = 0; z < labels; ++z) from[cell(z, y)] = to[cell(y, z)];
    for (int z = labels; z < stride; ++z) from[cell(y, z)] = -kInf;
  }
}

void LinearChain::score_tokens(std::int64_t i, std::int64_t first, std::int64_t count, const WeightView& w,
                               double* u) const {
  const std::int64_t start = data_.offsets[i], p = length(i), stride = shape_.stride;
  ops_.score(shape_, data_.features, start + first, count, w, u + first * stride);
  if (first == 0) add_weight_row(w, start_row(), shape_, u);
  if (first + count == p) add_weight_row(w, stop_row(), shape_, u + (p - 1) * stride);
  if (fixed_nodes_.empty()) return;
  for (std::int64_t t = first; t < first + count; ++t) {
    const double* fixed = fixed_nodes_.row(start + t);
    for (int l = 0; l < stride; ++l) u[t * stride + l] += fixed[l];
  }
}

void LinearChain::make_room(std::int64_t i, ChainWorkspace& work) const {
  const auto rows = static_cast<std::size_t>(length(i) * shape_.stride);
  if (work.u.size() < rows) work.u.resize(rows);
  const auto pairs = static_cast<std::size_t>((length(i) - 1) * edge_step());
  if (work.edge_to.size() < pairs) work.edge_to.resize(pairs), work.edge_from.resize(pairs);
}

void LinearChain::score_edge(std::int64_t i, std::int64_t t, const WeightView& w, ChainWorkspace& work) const {
  double* to = work.edge_to.data() + (t - 1) * edge_step();
  std::copy(work.to.begin(), work.to.end(), to);
  edges_.add_scores(data_.offsets[i] + t, w, to);
  transpose(to, work.edge_from.data() + (t - 1) * edge_step());
}

void LinearChain::score_example(std::int64_t i, const WeightView& w, ChainWorkspace& work) const {
  make_room(i, work);
  score_tokens(i, 0, length(i), w, work.u.data());
  for (std::int64_t t = 1; edges_ && t < length(i); ++t) score_edge(i, t, w, work);
}

LinearChain::Lattice LinearChain::lattice(std::int64_t p, const double* u, Transitions edges,
                                          ChainWorkspace& work) const {
  if (!unfolding_) return {ops_, shape_, u, edges};
  unfolding_.unfold(p, u, edges.to, work.wide);
  return {unfolding_.ops(), unfolding_.shape(), work.wide.u.data(), {work.wide.to.data(), work.wide.from.data(), 0}};
}

void LinearChain::max_product(std::int64_t p, const Lattice& run, ChainWorkspace& work) const {
  const auto cells = static_cast<std::size_t>(p * run.shape.stride);
  if (work.beta.size() < cells) work.beta.resize(cells), work.best.resize(cells);
  run.ops.backward_max(run.shape, p, run.u, run.edges, work.beta.data(), work.best.data());
}

double LinearChain::sum_product(std::int64_t p, const Lattice& run, double mu, ChainWorkspace& work,
                                double* marginals) const {
  const std::int64_t wide = run.shape.stride;
  work.work.resize(static_cast<std::size_t>(3 * p * wide));
  double *nodes = marginals, *pairs = marginals + p * shape_.stride, *found = nodes, *found_pairs = pairs;
  if (unfolding_) {
    work.wide.marginals.assign(static_cast<std::size_t>((p + run.shape.labels) * wide), 0.0);
    found = work.wide.marginals.data(), found_pairs = found + p * wide;
  }
  if (run.edges.allowed)
    return work.allowed_sums.expect(run.shape, p, run.u, run.edges, mu, nodes, pairs, edge_step(), work.work.data());
  const double value = run.ops.expect(run.shape, p, run.u, run.edges, work.potentials, mu, found, found_pairs,
                                      edge_step(), work.work.data());
  if (unfolding_) unfolding_.fold_marginals(p, found, nodes, pairs);
  return value;
}

double LinearChain::best_path(std::int64_t p, ChainWorkspace& work) const {
  const Lattice run = lattice(p, work.u.data(), transitions(work), work);
  max_product(p, run, work);
  std::vector<std::int32_t>& path = unfolding_ ? work.wide.path : work.path;
  for (std::vector<std::int32_t>* labels : {&work.path, &path})
    if (labels->size() < static_cast<std::size_t>(p)) labels->resize(static_cast<std::size_t>(p));
  const double* first = std::max_element(work.beta.data(), work.beta.data() + run.shape.labels);
  path[0] = static_cast<std::int32_t>(first - work.beta.data());
  run.ops.follow(run.shape, p, 0, run.edges, work.beta.data(), work.best.data(), nullptr, path.data(), nullptr);
  if (unfolding_) unfolding_.fold(p, path.data(), work.path.data());
  return *first;
}

double LinearChain::path_score(std::int64_t p, const std::int32_t* labels, const double* u, Transitions edges) const {
  double score = u[cell(0, labels[0])];
  for (std::int64_t t = 1; t < p; ++t)
    score += u[cell(t, labels[t])] + edges.to[(t - 1) * edges.step + labels[t - 1] * shape_.stride + labels[t]];
  return score;
}

void LinearChain::add_output(std::int64_t p, const std::int32_t* labels, double weight, double* marginals) const {
  double* pairs = marginals + p * shape_.stride;
  for (std::int64_t t = 0; t < p; ++t) marginals[cell(t, labels[t])] += weight;
  for (std::int64_t t = 1; t < p; ++t, pairs += edge_step()) pairs[cell(labels[t - 1], labels[t])] += weight;
}

double LinearChain::fixed_score(std::int64_t i, const std::int32_t* labels) const {
  double score = 0.0;
  if (!fixed_nodes_.empty())
    for (std::int64_t t = 0; t < length(i); ++t) score += fixed_node(i, t, labels[t]);
  if (data_.fixed_pairs)
    for (std::int64_t t = 1; t < length(i); ++t) score += fixed_pair(labels[t - 1], labels[t]);
  return score;
}

void LinearChain::subtract_truth(std::int64_t i, double* marginals) const {
  if (!data_.y) return subtract_marginals(i, marginals);
  add_output(length(i), truth(i), -1.0, marginals);
}

double LinearChain::truth_score(std::int64_t i, const ChainWorkspace& work) const {
  const std::int64_t p = length(i), stride = shape_.stride;
  if (data_.y) return path_score(p, truth(i), work);
  if (!data_.truth) return 0.0;
  const double* u = truth_marginals(i);
  return expected_score(u, work.u.data(), p * stride) +
         expected_score(u + p * stride, transitions(work).to, pair_rows(i) * stride);
}

/// The oracles of one chain whose scores are in work.u and work.to.
struct LinearChain::Oracles {
  const LinearChain& chain;
  std::int64_t i, p;
  ChainWorkspace& work;
  const double* seen = nullptr;  // the marginals of the last expect

  double max() { return chain.best_path(p, work); }
  void add_best(double* marginals) const { chain.add_output(p, work.path.data(), 1.0, marginals); }
  double best_cost() const { return chain.cost_of(i, work.path.data()); }

  double expect(double mu, double* marginals) {
    const std::int64_t stride = chain.shape_.stride;
    if (!marginals && !chain.has_fixed() && !chain.unfolding_) {  // nobody asks for marginals: nothing is forbidden,
      work.work.resize(static_cast<std::size_t>(3 * stride));     // and costs are 0
      const double value = chain.ops_.log_sum(chain.shape_, p, work.u.data(), chain.transitions(work), work.potentials,
                                              mu, work.work.data());
      if (!std::isnan(value)) return value;
    }
    if (!marginals) {
      work.marginals.assign(static_cast<std::size_t>(chain.marginal_count(i)), 0.0);
      marginals = work.marginals.data();
    }
    seen = marginals;
    return chain.sum_product(p, run(), mu, work, marginals);
  }
  double expected_cost() const { return chain.expected_cost(i, seen); }

  BestList best(std::int64_t k, double mu) {
    pull(k + 1, mu, k);
    return {work.kbest.values(), work.kbest.count(), work.kbest.exact()};
  }
  void pull(std::int64_t k, double mu, std::int64_t labelled) {
    const Lattice lattice = run();
    chain.max_product(p, lattice, work);
    work.kbest.run(lattice.ops, lattice.shape, p, lattice.edges, work.beta.data(), work.best.data(), k, mu, labelled);
  }
  void add(std::int64_t j, double weight, double* marginals) const {
    chain.add_output(p, labels_of(j), weight, marginals);
  }
  double cost(std::int64_t j) const { return chain.cost_of(i, labels_of(j)); }

  const std::int32_t* labels_of(std::int64_t j) const {
    if (!chain.unfolding_) return work.kbest.labels(j);
    work.path.resize(static_cast<std::size_t>(p));
    chain.unfolding_.fold(p, work.kbest.labels(j), work.path.data());
    return work.path.data();
  }

 private:
  Lattice run() const { return chain.lattice(p, work.u.data(), chain.transitions(work), work); }
};

Answer LinearChain::oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& workspace,
                           double* marginals) const {
  auto& work = static_cast<ChainWorkspace&>(workspace);
  const std::int64_t p = length(i);
  score_example(i, w, work);
  if (marginals) std::fill_n(marginals, marginal_count(i), 0.0);
  return less(smoothed_max(Oracles{*this, i, p, work}, smoothing, work.weights, marginals), truth_score(i, work));
}

void LinearChain::scores(std::int64_t i, const WeightView& w, Workspace& workspace, double* out) const {
  const auto& work = static_cast<const ChainWorkspace&>(workspace);
  score_tokens(i, 0, length(i), w, out);
  double* pairs = out + length(i) * shape_.stride;
  if (!edges_) std::copy(work.to.begin(), work.to.end(), pairs);
  for (std::int64_t t = 1; edges_ && t < length(i); ++t, pairs += edge_step()) {
    std::copy(work.to.begin(), work.to.end(), pairs);
    edges_.add_scores(data_.offsets[i] + t, w, pairs);
  }
}

double LinearChain::expect(std::int64_t i, const double* scores, double mu, Workspace& workspace,
                           double* marginals) const {
  auto& work = static_cast<ChainWorkspace&>(workspace);
  const std::int64_t p = length(i), stride = shape_.stride;
  const double* to = scores + p * stride;
  std::fill_n(marginals, marginal_count(i), 0.0);
  if (!edges_) {
    load_pairs(to, work);
    const Transitions shared{to, work.from.data(), 0, allowed_ ? &work.allowed : nullptr};
    return sum_product(p, lattice(p, scores, shared, work), mu, work, marginals);
  }
  const auto cells = static_cast<std::size_t>(pair_rows(i) * stride);
  if (work.edge_from.size() < cells) work.edge_from.resize(cells);
  for (std::int64_t r = 0; r < pair_rows(i); r += shape_.labels)
    transpose(to + r * stride, work.edge_from.data() + r * stride);
  work.potentials.mu = 0.0;
  return sum_product(p, lattice(p, scores, {to, work.edge_from.data(), edge_step()}, work), mu, work, marginals);
}

std::unique_ptr<BlockNorm> LinearChain::block_norm() const { return std::make_unique<TokenNorm>(*this, true); }

void LinearChain::scatter(std::int64_t i, const double* marginals, const ScatterTarget& target) const {
  scatter_pairwise(i, marginals, target);
  add_row(start_row(), marginals, target);
  add_row(stop_row(), marginals + cell(length(i) - 1, 0), target);
  if (!edges_) return;
  const double* pairs = marginals + length(i) * shape_.stride;
  for (std::int64_t t = 1; t < length(i); ++t)
    for (std::int64_t y = 0; y < shape_.labels; ++y, pairs += shape_.stride)
      edges_.scatter(data_.offsets[i] + t, y, pairs, target);
}

void LinearChain::collect(std::int64_t i, const double* marginals, MarginalList& list) const {
  collect_pairwise(i, marginals, list);
  collect_unit(-1 - start_row(), marginals, list);
  collect_unit(-1 - stop_row(), marginals + cell(length(i) - 1, 0), list);
  if (!edges_) return;
  const double* pairs = marginals + length(i) * shape_.stride;
  for (std::int64_t t = 1; t < length(i); ++t)
    for (std::int64_t y = 0; y < shape_.labels; ++y, pairs += shape_.stride)
      collect_unit(data_.offsets[data_.n] + (data_.offsets[i] + t) * shape_.labels + y, pairs, list);
}

/// Behind the tokens come units of pairs by the token they end in, and the label they begin with.
void LinearChain::scatter_list(const MarginalList& list, const ScatterTarget& target) const {
  if (!edges_) return LinearTokens::scatter_list(list, target);
  const std::int64_t tokens = data_.offsets[data_.n];
  const double* x = list.values.data();
  for (const std::int64_t unit : list.unit) {
    if (unit >= tokens) {
      const std::int64_t token = (unit - tokens) / shape_.labels, y = (unit - tokens) % shape_.labels;
      add_row(data_.n_features + y, x, target);
      edges_.scatter(token, y, x, target);
    } else if (unit >= 0) {
      scatter_features(unit, 1, x, target);
    } else {
      add_row(-1 - unit, x, target);
    }
    x += shape_.stride;
  }
}

void LinearChain::touched(std::int64_t i, std::vector<RowRange>& ranges) const {
  LinearTokens::touched(i, ranges);
  if (!edges_) return;
  ranges.back().second = stop_row() + 1;  // of the rows behind those of tokens, not all features of edges
  for (std::int64_t t = 1; t < length(i); ++t) edges_.touched(data_.offsets[i] + t, ranges);
}

void LinearChain::decode(const double* w, int threads, std::int64_t* labels, double* values) const {
  if (has_groups()) {
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(n_examples()));
    for (std::int64_t i = 0; i < n_examples(); ++i) lengths[static_cast<std::size_t>(i)] = length(i);
    return best_paths_together({w}, threads, grouped(lengths, shape_.labels),
                               [&](std::int64_t i, const BestPath& best) {
                                 std::copy_n(best.labels, length(i), labels + data_.offsets[i]);
                                 values[i] = best.score;
                               });
  }
  parallel_chunks(n_examples(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    ChainWorkspace work;
    const WeightView view{w};
    load_weights(view, work);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t p = length(i);
      score_example(i, view, work);
      values[i] = best_path(p, work);
      std::copy_n(work.path.begin(), p, labels + data_.offsets[i]);
    }
  });
}

TopKBatch LinearChain::topk(const double* w, std::int64_t k, double mu, int threads, double* sums) const {
  return joined_chunks<TopKBatch>(n_examples(), threads, [&](std::int64_t begin, std::int64_t end, TopKBatch& out) {
    ChainWorkspace work;
    const WeightView view{w};
    load_weights(view, work);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t p = length(i);
      score_example(i, view, work);
      Oracles oracles{*this, i, p, work};
      oracles.pull(k, kInf, k);
      out.counts.push_back(work.kbest.count());
      out.values.insert(out.values.end(), work.kbest.values(), work.kbest.values() + work.kbest.count());
      for (std::int64_t j = 0; j < work.kbest.count(); ++j) {
        const std::int32_t* labels = oracles.labels_of(j);
        out.labels.insert(out.labels.end(), labels, labels + p);
      }
      if (sums) sums[i] = oracles.expect(mu, nullptr);
    }
  });
}

void LinearChain::all_token_scores(const double* w, int threads, double* out) const {
  parallel_chunks(n_examples(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::vector<double> u;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t p = length(i);
      u.resize(static_cast<std::size_t>(p * shape_.stride));
      score_tokens(i, 0, p, WeightView{w}, u.data());
      for (std::int64_t t = 0; t < p; ++t)
        std::copy_n(u.data() + t * shape_.stride, shape_.labels, out + (data_.offsets[i] + t) * shape_.labels);
    }
  });
}

std::unique_ptr<DualBlocks> LinearChain::dual_blocks(int threads) const {
  if (!data_.y) throw std::invalid_argument("dual blocks need true outputs: give y.");
  if (edges_) return std::make_unique<EdgeChainDual>(*this);
  return std::make_unique<ChainDual>(*this, threads);
}

}  // namespace casimir
