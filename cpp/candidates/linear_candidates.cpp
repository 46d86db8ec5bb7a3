#include "candidates/linear_candidates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/parallel.hpp"
#include "base/vectors.hpp"
#include "candidates/candidate_dual.hpp"

namespace casimir {

void LinearCandidates::score(std::int64_t i, std::int64_t first, std::int64_t count, const WeightView& w,
                             double* out) const {
  data_.features.dots(data_.offsets[i] + first, count, w, out);
  if (data_.cost)
    for (std::int64_t j = 0; j < count; ++j) out[j] += cost_of(i, first + j);
}

/// What `ListOracles` asks of the candidates of example i.
struct LinearCandidates::Of {
  const LinearCandidates& candidates;
  std::int64_t i;
  CandidatesWorkspace& work;

  double cost(std::int64_t j) const { return candidates.cost_of(i, j); }
  double expect(double mu, double* marginals) const {
    return candidates.expect(i, work.list.scores.data(), mu, work, marginals);
  }
  double expected_cost(const double* marginals) const { return candidates.expected_cost(i, marginals); }
};

Answer LinearCandidates::oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& workspace,
                                double* marginals) const {
  auto& work = static_cast<CandidatesWorkspace&>(workspace);
  ListWork& list = work.list;
  const std::int64_t m = count(i);
  list.scores.resize(static_cast<std::size_t>(m));
  score(i, 0, m, w, list.scores.data());
  if (marginals) std::fill(marginals, marginals + m, 0.0);
  const Of of{*this, i, work};
  ListOracles<Of> oracles{of, m, list, m};
  return less(smoothed_max(oracles, smoothing, list.weights, marginals), truth_score(i, list.scores.data()));
}

double LinearCandidates::expect(std::int64_t i, const double* scores, double mu, Workspace& workspace,
                                double* marginals) const {
  std::vector<double>& padded = static_cast<CandidatesWorkspace&>(workspace).list.weights;
  const std::int64_t m = count(i);
  padded.assign(static_cast<std::size_t>((m + 7) / 8 * 8), -std::numeric_limits<double>::infinity());
  std::copy_n(scores, m, padded.begin());
  const double value = softmax<8>(padded.data(), static_cast<std::int64_t>(padded.size()), mu, padded.data());
  std::copy_n(padded.begin(), m, marginals);
  return value;
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
      indices[i] = best_of_list(scores.data(), m);
      values[i] = scores[static_cast<std::size_t>(indices[i])];
    }
  });
}

std::unique_ptr<DualBlocks> LinearCandidates::dual_blocks(int /*threads*/) const {
  if (!data_.y) throw std::invalid_argument("dual blocks need true outputs: give y.");
  return std::make_unique<CandidateDual>(*this);
}

}  // namespace casimir
