#include "casimir/candidate_dual.hpp"

#include <algorithm>
#include <stdexcept>

namespace casimir {
namespace {

constexpr std::size_t kMostTabulated = 512;  // cached candidates; beyond it a Gram matrix would cost more than it saves

/// v += a x and q += b x for the dense vector x.
void add_vector(const std::vector<double>& x, double scale, const ScatterTarget& target) {
  const auto dim = static_cast<std::int64_t>(x.size());
  const DenseRows rows(x.data(), dim);
  rows.add_to(0, scale * target.a, 0, dim, target.v);
  if (target.q) rows.add_to(0, scale * target.b, 0, dim, target.q);
}

}  // namespace

CandidateDual::CandidateDual(const LinearCandidates& candidates) : candidates_(candidates) {
  const std::int64_t n = candidates.size();
  if (n == 0 || !candidates.data().y) throw std::invalid_argument("the dual solver needs examples with labels.");
  inverse_n_ = 1.0 / static_cast<double>(n);
  blocks_.resize(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    Block& block = blocks_[static_cast<std::size_t>(i)];
    const std::int64_t truth = candidates.truth(i);
    block.candidate = {static_cast<std::int32_t>(truth)};
    block.weight = {1.0};
    block.cost = {candidates.cost_of(i, truth)};
    ell_ += block.cost[0] * inverse_n_;
  }
}

/// Row of the features of cached candidate k.
std::int64_t CandidateDual::row(std::int64_t i, std::size_t k) const {
  return candidates_.data().offsets[i] + blocks_[static_cast<std::size_t>(i)].candidate[k];
}

/// Index of the candidate in the cache, added with weight 0 if it is new.
std::size_t CandidateDual::remember(std::int64_t i, std::int64_t candidate) {
  Block& block = blocks_[static_cast<std::size_t>(i)];
  const auto known = std::find(block.candidate.begin(), block.candidate.end(), candidate);
  const auto k = static_cast<std::size_t>(known - block.candidate.begin());
  if (known != block.candidate.end()) return k;
  block.candidate.push_back(static_cast<std::int32_t>(candidate));
  block.weight.push_back(0.0);
  block.cost.push_back(candidates_.cost_of(i, candidate));
  return k;
}

/// Inner products of the cached candidates, for as many as it pays.
void CandidateDual::tabulate_gram(std::int64_t i) {
  Block& block = blocks_[static_cast<std::size_t>(i)];
  const std::size_t wanted = std::min(block.candidate.size(), kMostTabulated);
  for (; block.tabulated < wanted; ++block.tabulated)
    for (std::size_t k = 0; k <= block.tabulated; ++k)
      block.gram.push_back(candidates_.data().features.inner(row(i, block.tabulated), row(i, k)));
}

double CandidateDual::gram(std::int64_t i, std::size_t a, std::size_t b) const {
  const Block& block = blocks_[static_cast<std::size_t>(i)];
  const std::size_t high = std::max(a, b), low = std::min(a, b);
  return high < block.tabulated ? block.gram[high * (high + 1) / 2 + low]
                                : candidates_.data().features.inner(row(i, high), row(i, low));
}

/// max_k scores_k - <weight, scores>
void CandidateDual::update_gap(Block& block) {
  double mean = 0.0;
  for (std::size_t k = 0; k < scores_.size(); ++k) mean += block.weight[k] * scores_[k];
  gap_sum_ -= block.gap;
  block.gap = std::max(0.0, *std::max_element(scores_.begin(), scores_.end()) - mean);
  gap_sum_ += block.gap;
}

/// alpha <- (1 - gamma) alpha + gamma e_target with the gamma that maximises the dual.
void CandidateDual::frank_wolfe_step(std::int64_t i, std::size_t target, double sigma, const ScatterTarget& target_w) {
  Block& block = blocks_[static_cast<std::size_t>(i)];
  const DenseRows& features = candidates_.data().features;
  const std::int64_t dim = features.dim();
  double gap = scores_[target], cost = block.cost[target];
  direction_.assign(static_cast<std::size_t>(dim), 0.0);
  features.add_to(row(i, target), 1.0, 0, dim, direction_.data());
  for (std::size_t k = 0; k < scores_.size(); ++k) {
    if (block.weight[k] == 0.0) continue;
    gap -= block.weight[k] * scores_[k];
    cost -= block.weight[k] * block.cost[k];
    features.add_to(row(i, k), -block.weight[k], 0, dim, direction_.data());
  }
  const double norm = DenseRows(direction_.data(), dim).inner(0, 0);
  const double curvature = norm * inverse_n_ / sigma;
  const double gamma = gap <= 0.0 ? 0.0 : curvature > gap ? gap / curvature : 1.0;
  for (double& weight : block.weight) weight *= 1.0 - gamma;
  block.weight[target] += gamma;
  ell_ += gamma * cost * inverse_n_;
  add_vector(direction_, gamma, target_w);
}

/// One step that moves weight from the worst active candidate to the best cached one; false when there is nothing to
/// gain. The cached scores follow the step unless it is the last.
bool CandidateDual::pairwise_step(std::int64_t i, double sigma, bool last) {
  Block& block = blocks_[static_cast<std::size_t>(i)];
  const auto [best, worst, gain] = pairwise_move(scores_, block.weight);
  if (gain == 0.0) return false;

  const double norm = candidates_.data().features.squared_distance(row(i, best), row(i, worst));
  const double scale = inverse_n_ / sigma;
  const double held = block.weight[worst];
  const double step = norm * scale * held > gain ? gain / (norm * scale) : held;
  block.weight[best] += step;
  block.weight[worst] = step == held ? 0.0 : held - step;
  ell_ += step * (block.cost[best] - block.cost[worst]) * inverse_n_;
  change_[best] += step;
  change_[worst] -= step;
  if (last) return true;
  tabulate_gram(i);
  for (std::size_t k = 0; k < scores_.size(); ++k) scores_[k] -= step * scale * (gram(i, k, best) - gram(i, k, worst));
  return true;
}

void CandidateDual::pairwise_steps(std::int64_t i, double sigma, int steps, const ScatterTarget& target_w) {
  change_.assign(scores_.size(), 0.0);
  for (int step = 1; step <= steps && pairwise_step(i, sigma, step == steps); ++step) {
  }
  const DenseRows& features = candidates_.data().features;
  for (std::size_t k = 0; k < change_.size(); ++k) {
    if (change_[k] == 0.0) continue;
    features.add_to(row(i, k), target_w.a * change_[k], 0, features.dim(), target_w.v);
    if (target_w.q) features.add_to(row(i, k), target_w.b * change_[k], 0, features.dim(), target_w.q);
  }
}

PassResult CandidateDual::exact_pass(const std::int64_t* order, std::int64_t count, double sigma, StepRule rule,
                                     int steps, double* w, DualAverage* average) {
  const WeightView view{w};
  for (std::int64_t visit = 0; visit < count; ++visit) {
    const std::int64_t i = order[visit], m = candidates_.count(i);
    Block& block = blocks_[static_cast<std::size_t>(i)];
    all_scores_.resize(static_cast<std::size_t>(m));
    candidates_.score(i, 0, m, view, true, all_scores_.data());
    const std::size_t target = remember(i, best_candidate(all_scores_.data(), m));
    scores_.clear();
    for (const std::int32_t j : block.candidate) scores_.push_back(all_scores_[static_cast<std::size_t>(j)]);
    update_gap(block);
    ScatterTarget target_w{w, -inverse_n_ / sigma};
    if (average) {
      target_w.q = average->q;
      target_w.b = target_w.a * average->mass;
    }
    if (rule == StepRule::kFrankWolfe)
      frank_wolfe_step(i, target, sigma, target_w);
    else
      pairwise_steps(i, sigma, steps, target_w);
    if (average) {
      average->mass += average->next_weight;
      average->ell_sum += average->next_weight * ell_;
      average->next_weight += 1.0;
    }
  }
  return finish({0.0, count, count});
}

PassResult CandidateDual::cached_pass(const std::int64_t* order, std::int64_t count, double sigma, int steps,
                                      double skip_below, double* w) {
  const WeightView view{w};
  const ScatterTarget target_w{w, -inverse_n_ / sigma};
  const double skip_gap = skip_below * gap_sum_ * inverse_n_;
  chosen_.clear();
  for (std::int64_t visit = 0; visit < count; ++visit) {
    const Block& block = blocks_[static_cast<std::size_t>(order[visit])];
    if (block.weight.size() >= 2 && block.gap >= skip_gap) chosen_.push_back(order[visit]);
  }
  for (const std::int64_t i : chosen_) {
    Block& block = blocks_[static_cast<std::size_t>(i)];
    scores_.resize(block.candidate.size());
    for (std::size_t k = 0; k < scores_.size(); ++k)
      candidates_.score(i, block.candidate[k], 1, view, true, &scores_[k]);
    update_gap(block);
    pairwise_steps(i, sigma, steps, target_w);
  }
  return finish({0.0, 0, static_cast<std::int64_t>(chosen_.size())});
}

PassResult CandidateDual::finish(PassResult result) const {
  double total = 0.0;
  for (const Block& block : blocks_) total += block.gap;
  result.gap = total * inverse_n_;
  return result;
}

std::int64_t CandidateDual::cached_outputs() const {
  std::int64_t total = 0;
  for (const Block& block : blocks_) total += static_cast<std::int64_t>(block.weight.size());
  return total;
}

std::int64_t CandidateDual::active_outputs() const {
  std::int64_t total = 0;
  for (const Block& block : blocks_)
    total += std::count_if(block.weight.begin(), block.weight.end(), [](double weight) { return weight > 0.0; });
  return total;
}

}  // namespace casimir
