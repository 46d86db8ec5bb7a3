#include "candidates/linear_candidates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/dot.hpp"
#include "base/lanes.hpp"
#include "base/parallel.hpp"
#include "candidates/candidate_dual.hpp"

namespace casimir {

std::int64_t best_candidate(const double* scores, std::int64_t count) {
  return std::max_element(scores, scores + count) - scores;
}

void LinearCandidates::score(std::int64_t i, std::int64_t first, std::int64_t count, const WeightView& w,
                             double* out) const {
  data_.features.dots(data_.offsets[i] + first, count, w, out);
  if (data_.cost)
    for (std::int64_t j = 0; j < count; ++j) out[j] += cost_of(i, first + j);
}

/// The oracles of one list whose scores are in work.scores; `top` is the largest.
struct LinearCandidates::Oracles {
  const LinearCandidates& candidates;
  std::int64_t i, m;
  CandidatesWorkspace& work;
  std::int64_t winner;
  double top;
  const double* seen = nullptr;  // the marginals of the last expect

  double max() const { return top; }
  void add_best(double* marginals) const { marginals[winner] = 1.0; }
  double best_cost() const { return candidates.cost_of(i, winner); }

  double expect(double mu, double* marginals) {
    if (!marginals) {
      work.marginals.resize(static_cast<std::size_t>(m));
      marginals = work.marginals.data();
    }
    seen = marginals;
    return candidates.expect(i, work.scores.data(), mu, work, marginals);
  }
  double expected_cost() const { return candidates.expected_cost(i, seen); }

  /// A score that lies more than mu below the top has no weight, and pulling ends once sum_{i<=K} (z_i - z_{K+1}) >= mu
  /// tells that the rest has none (prop:smoothing:proj-simplex-2).
  BestList best(std::int64_t k, double mu) {
    const double* z = work.scores.data();
    work.heap.clear();
    for (std::int64_t j = 0; j < m; ++j)
      if (!(top - z[j] > mu)) work.heap.push_back(static_cast<std::int32_t>(j));
    const auto after = [z](std::int32_t a, std::int32_t b) { return z[a] != z[b] ? z[a] < z[b] : a > b; };
    std::make_heap(work.heap.begin(), work.heap.end(), after);
    // The pulled candidates end up at the back of the heap's array, the best one last.
    work.best.clear();
    auto end = work.heap.end();
    bool settled = true;
    double sum = 0.0;  // of z_j - top
    while (end != work.heap.begin()) {
      std::pop_heap(work.heap.begin(), end--, after);
      const double shifted = z[*end] - top;
      const auto pulled = static_cast<std::int64_t>(work.best.size());
      if (sum - static_cast<double>(pulled) * shifted >= mu) break;
      settled = pulled < k;
      sum += shifted;
      work.best.push_back(z[*end]);
      if (!settled) break;
    }
    return {work.best.data(), static_cast<std::int64_t>(work.best.size()), settled};
  }
  std::int32_t pulled(std::int64_t j) const { return work.heap[work.heap.size() - 1 - static_cast<std::size_t>(j)]; }
  void add(std::int64_t j, double weight, double* marginals) const { marginals[pulled(j)] = weight; }
  double cost(std::int64_t j) const { return candidates.cost_of(i, pulled(j)); }
};

Answer LinearCandidates::oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& workspace,
                                double* marginals) const {
  auto& work = static_cast<CandidatesWorkspace&>(workspace);
  const std::int64_t m = count(i);
  work.scores.resize(static_cast<std::size_t>(m));
  score(i, 0, m, w, work.scores.data());
  const std::int64_t best = best_candidate(work.scores.data(), m);
  const double top = work.scores[static_cast<std::size_t>(best)];
  if (marginals) std::fill(marginals, marginals + m, 0.0);
  return less(smoothed_max(Oracles{*this, i, m, work, best, top}, smoothing, work.weights, marginals),
              truth_score(i, work.scores.data()));
}

double LinearCandidates::expect(std::int64_t i, const double* scores, double mu, Workspace& workspace,
                                double* marginals) const {
  using Eight = Lanes<8>;
  auto& work = static_cast<CandidatesWorkspace&>(workspace);
  const std::int64_t m = count(i), padded = (m + 7) / 8 * 8;
  const double top = *std::max_element(scores, scores + m);
  work.weights.assign(static_cast<std::size_t>(padded), -std::numeric_limits<double>::infinity());
  double* u = work.weights.data();
  for (std::int64_t j = 0; j < m; ++j) u[j] = (scores[j] - top) / mu;
  Eight::V sums{};
  for (std::int64_t j = 0; j < padded; j += 8) {
    const Eight::V e = Eight::exp(Eight::load(u + j));
    sums += e;
    Eight::store(u + j, e);
  }
  const double sum = Eight::sum(sums);
  for (std::int64_t j = 0; j < m; ++j) marginals[j] = u[j] / sum;
  return top + mu * std::log(sum);
}

double LinearCandidates::expected_cost(std::int64_t i, const double* marginals) const {
  double cost = 0.0;
  for (std::int64_t j = 0; data_.cost && j < count(i); ++j)
    if (marginals[j] != 0.0) cost += marginals[j] * cost_of(i, j);
  return cost;
}

void LinearCandidates::add_truth_scores(std::int64_t i, double margin, double* scores) const {
  if (data_.y) scores[truth(i)] += margin;
  for (std::int64_t j = 0; !data_.y && data_.truth && j < count(i); ++j)
    scores[j] += margin * data_.truth[data_.offsets[i] + j];
}

namespace {

class CandidateNorm final : public BlockNorm {
 public:
  explicit CandidateNorm(const LinearCandidates& candidates)
      : candidates_(candidates), sum_(static_cast<std::size_t>(candidates.n_params())) {}

  double squared(std::int64_t i, const double* x) override {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    candidates_.scatter(i, x, {sum_.data(), 1.0});
    return dot(sum_.data(), sum_.data(), candidates_.n_params());
  }

 private:
  const LinearCandidates& candidates_;
  std::vector<double> sum_;
};

}  // namespace

std::unique_ptr<BlockNorm> LinearCandidates::block_norm() const { return std::make_unique<CandidateNorm>(*this); }

void LinearCandidates::subtract_truth(std::int64_t i, double* marginals) const {
  if (data_.y) marginals[truth(i)] -= 1.0;
  for (std::int64_t j = 0; !data_.y && data_.truth && j < count(i); ++j)
    marginals[j] -= data_.truth[data_.offsets[i] + j];
}

/// Without the cost, which is that above the truth.
double LinearCandidates::truth_score(std::int64_t i, const double* scores) const {
  if (data_.y) return scores[truth(i)] - cost_of(i, truth(i));
  double score = 0.0;
  for (std::int64_t j = 0; data_.truth && j < count(i); ++j)
    if (const double u = data_.truth[data_.offsets[i] + j]; u != 0.0) score += u * (scores[j] - cost_of(i, j));
  return score;
}

void LinearCandidates::scatter(std::int64_t i, const double* marginals, const ScatterTarget& target) const {
  for (std::int64_t j = 0; j < count(i); ++j)
    if (marginals[j] != 0.0) add_candidate(data_.offsets[i] + j, marginals[j], target);
}

void LinearCandidates::add_candidate(std::int64_t row, double weight, const ScatterTarget& target) const {
  const std::int64_t begin = target.row_begin, end = std::min(target.row_end, n_params());
  data_.features.add_to(row, target.a * weight, begin, end, target.v);
  if (target.q) data_.features.add_to(row, target.b * weight, begin, end, target.q);
}

/// Units are rows of features.
void LinearCandidates::collect(std::int64_t i, const double* marginals, MarginalList& list) const {
  for (std::int64_t j = 0; j < count(i); ++j) {
    if (marginals[j] == 0.0) continue;
    list.unit.push_back(data_.offsets[i] + j);
    list.values.push_back(marginals[j]);
  }
}

void LinearCandidates::scatter_list(const MarginalList& list, const ScatterTarget& target) const {
  for (std::size_t k = 0; k < list.unit.size(); ++k) add_candidate(list.unit[k], list.values[k], target);
}

void LinearCandidates::decode(const double* w, int threads, std::int64_t* indices, double* values) const {
  parallel_chunks(n_examples(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::vector<double> scores;
    const WeightView view{w};
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t m = count(i);
      scores.resize(static_cast<std::size_t>(m));
      score(i, 0, m, view, scores.data());
      indices[i] = best_candidate(scores.data(), m);
      values[i] = scores[static_cast<std::size_t>(indices[i])];
    }
  });
}

std::unique_ptr<DualBlocks> LinearCandidates::dual_blocks() const {
  if (!data_.y) throw std::invalid_argument("dual blocks need true outputs: give y.");
  return std::make_unique<CandidateDual>(*this);
}

}  // namespace casimir
