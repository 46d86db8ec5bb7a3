#include "candidates/candidate_dual.hpp"

#include <algorithm>
#include <stdexcept>

namespace casimir {
namespace {

constexpr std::size_t kMostTabulated = 512;  // cached candidates; beyond it a Gram matrix would cost more than it saves

/// v += a weight x and q += b weight x for a row x.
void add_row(const DenseRows& rows, std::int64_t row, double weight, const ScatterTarget& target) {
  rows.add_to(row, weight * target.a, 0, rows.dim(), target.v);
  if (target.q) rows.add_to(row, weight * target.b, 0, rows.dim(), target.q);
}

}  // namespace

CandidateDual::CandidateDual(const LinearCandidates& candidates) : DualPasses(candidates), candidates_(candidates) {
  for (std::int64_t i = 0; i < candidates.n_examples(); ++i) {
    const std::int64_t truth = candidates.truth(i);
    block(i).candidate = {static_cast<std::int32_t>(truth)};
    block(i).cost = {candidates.cost_of(i, truth)};
    ell_ += block(i).cost[0] * candidates.share(i);
  }
}

/// Row of the features of cached candidate k.
std::int64_t CandidateDual::row(std::int64_t i, std::size_t k) const {
  return candidates_.data().offsets[i] + block(i).candidate[k];
}

/// Index of the candidate in the cache, added with weight 0 if it is new.
std::size_t CandidateDual::remember(std::int64_t i, const std::int32_t* candidate) {
  std::vector<std::int32_t>& known = block(i).candidate;
  const auto place = std::find(known.begin(), known.end(), *candidate);
  if (place != known.end()) return static_cast<std::size_t>(place - known.begin());
  known.push_back(*candidate);
  return block(i).add(candidates_.cost_of(i, *candidate));
}

std::size_t CandidateDual::ask_oracle(std::int64_t i, const double* w) {
  const std::int64_t m = candidates_.count(i);
  all_scores_.resize(static_cast<std::size_t>(m));
  candidates_.score(i, 0, m, {w}, all_scores_.data());
  const auto best = static_cast<std::int32_t>(best_of_list(all_scores_.data(), m));
  const std::size_t target = remember(i, &best);
  scores_.clear();
  for (const std::int32_t j : block(i).candidate) scores_.push_back(all_scores_[static_cast<std::size_t>(j)]);
  return target;
}

void CandidateDual::rescore(std::int64_t i, const double* w) {
  const std::vector<std::int32_t>& known = block(i).candidate;
  scores_.resize(known.size());
  for (std::size_t k = 0; k < known.size(); ++k) candidates_.score(i, known[k], 1, {w}, &scores_[k]);
}

/// Inner products of the cached candidates, for as many as it pays.
void CandidateDual::tabulate_gram(std::int64_t i) {
  CandidateOutputs& own = block(i);
  const std::size_t wanted = std::min(own.candidate.size(), kMostTabulated);
  for (; own.tabulated < wanted; ++own.tabulated)
    for (std::size_t k = 0; k <= own.tabulated; ++k)
      own.gram.push_back(candidates_.data().features.inner(row(i, own.tabulated), row(i, k)));
}

double CandidateDual::gram(std::int64_t i, std::size_t a, std::size_t b) const {
  const CandidateOutputs& own = block(i);
  const std::size_t high = std::max(a, b), low = std::min(a, b);
  return high < own.tabulated ? own.gram[high * (high + 1) / 2 + low]
                              : candidates_.data().features.inner(row(i, high), row(i, low));
}

void CandidateDual::frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) {
  const std::pmr::vector<double>& weight = block(i).weight;
  const DenseRows& features = candidates_.data().features;
  direction_.assign(static_cast<std::size_t>(features.dim()), 0.0);
  const ScatterTarget sum{direction_.data(), 1.0};
  add_row(features, row(i, target), 1.0, sum);
  for (std::size_t k = 0; k < weight.size(); ++k)
    if (weight[k] != 0.0) add_row(features, row(i, k), -weight[k], sum);
  const DenseRows direction(direction_.data(), features.dim());
  const double gamma = move_towards(i, target, direction.inner(0, 0) * point.scale);
  add_row(direction, 0, gamma, point.target());
  point.refresh(0, features.dim());
}

/// One pairwise step; false when there is nothing to gain. The cached scores follow the step unless it is the last.
bool CandidateDual::pairwise_step(std::int64_t i, double scale, bool last) {
  const PairwiseMove move = pairwise_move(scores_, block(i).weight);
  if (move.gain == 0.0) return false;
  const double norm = candidates_.data().features.squared_distance(row(i, move.best), row(i, move.worst));
  const double step = move_between(i, move, norm * scale);
  change_[move.best] += step;
  change_[move.worst] -= step;
  if (last) return true;
  tabulate_gram(i);
  for (std::size_t k = 0; k < scores_.size(); ++k)
    scores_[k] -= step * scale * (gram(i, k, move.best) - gram(i, k, move.worst));
  return true;
}

void CandidateDual::pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) {
  change_.assign(scores_.size(), 0.0);
  for (int step = 1; step <= steps && pairwise_step(i, point.scale, step == steps); ++step) {
    if (point.is_linear() || step == steps) continue;
    apply(i, point);
    rescore(i, point.w());
  }
  apply(i, point);
}

/// Adds the change of the weights of cached outputs to the point, and clears it.
void CandidateDual::apply(std::int64_t i, const VisitPoint& point) {
  for (std::size_t k = 0; k < change_.size(); ++k)
    if (change_[k] != 0.0) add_row(candidates_.data().features, row(i, k), change_[k], point.target());
  std::fill(change_.begin(), change_.end(), 0.0);
  point.refresh(0, candidates_.n_params());
}

}  // namespace casimir
