#include "candidates/linear_candidates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/lanes.hpp"
#include "base/parallel.hpp"
#include "base/simplex.hpp"

namespace casimir {

std::int64_t best_candidate(const double* scores, std::int64_t count) {
  return std::max_element(scores, scores + count) - scores;
}

void LinearCandidates::score(std::int64_t i, std::int64_t first, std::int64_t count, const WeightView& w,
                             bool with_cost, double* out) const {
  data_.features.dots(data_.offsets[i] + first, count, w, out);
  if (with_cost && data_.cost)
    for (std::int64_t j = 0; j < count; ++j) out[j] += cost_of(i, first + j);
}

Answer LinearCandidates::oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& workspace,
                                double* parts) const {
  if (!data_.y) throw std::invalid_argument("the loss of candidates needs labels: give y.");
  auto& work = static_cast<CandidatesWorkspace&>(workspace);
  const std::int64_t m = count(i);
  work.scores.resize(static_cast<std::size_t>(m));
  score(i, 0, m, w, true, work.scores.data());
  const std::int64_t best = best_candidate(work.scores.data(), m);
  const double top = work.scores[static_cast<std::size_t>(best)];
  const double truth_score = work.scores[static_cast<std::size_t>(truth(i))] - cost_of(i, truth(i));
  if (parts) std::fill(parts, parts + m, 0.0);

  Answer answer;
  switch (smoothing.kind) {
    case SmoothingKind::kHard:
      answer.value = top;
      answer.cost = cost_of(i, best);
      if (parts) parts[best] = 1.0;
      break;
    case SmoothingKind::kEntropy:
      answer = entropy(i, top, smoothing.mu, parts, work);
      break;
    case SmoothingKind::kL2:
      answer = top_k(i, top, smoothing, parts, work);
      break;
  }
  answer.value -= truth_score;
  answer.max_value =
      smoothing.kind == SmoothingKind::kEntropy ? std::numeric_limits<double>::quiet_NaN() : top - truth_score;
  return answer;
}

/// mu log sum_j exp(z_j / mu), with the marginals exp(z_j / mu) / sum.
Answer LinearCandidates::entropy(std::int64_t i, double top, double mu, double* parts,
                                 CandidatesWorkspace& work) const {
  using Eight = Lanes<8>;
  const std::int64_t m = count(i), padded = (m + 7) / 8 * 8;
  work.weights.assign(static_cast<std::size_t>(padded), -std::numeric_limits<double>::infinity());
  double* u = work.weights.data();
  for (std::int64_t j = 0; j < m; ++j) u[j] = (work.scores[static_cast<std::size_t>(j)] - top) / mu;
  Eight::V sums{};
  for (std::int64_t j = 0; j < padded; j += 8) {
    const Eight::V e = Eight::exp(Eight::load(u + j));
    sums += e;
    Eight::store(u + j, e);
  }
  const double sum = Eight::sum(sums);
  Answer answer;
  answer.value = top + mu * std::log(sum);
  for (std::int64_t j = 0; j < m; ++j) {
    const double weight = u[j] / sum;
    if (parts) parts[j] = weight;
    answer.cost += weight * cost_of(i, j);
  }
  return answer;
}

/// sum_j u_j z_j - mu/2 (|u|^2 - 1) over the k largest z, u = proj_simplex(z / mu). A score that lies more than mu
/// below the top has no weight, and pulling ends once sum_{i<=K} (z_i - z_{K+1}) >= mu tells that the rest has none
/// (prop:smoothing:proj-simplex-2). One candidate more than k tells whether k is enough.
Answer LinearCandidates::top_k(std::int64_t i, double top, const Smoothing& smoothing, double* parts,
                               CandidatesWorkspace& work) const {
  const std::int64_t m = count(i);
  const double mu = smoothing.mu;
  const double* z = work.scores.data();
  work.heap.clear();
  for (std::int64_t j = 0; j < m; ++j)
    if (!(top - z[j] > mu)) work.heap.push_back(static_cast<std::int32_t>(j));
  const auto after = [z](std::int32_t a, std::int32_t b) { return z[a] != z[b] ? z[a] < z[b] : a > b; };
  std::make_heap(work.heap.begin(), work.heap.end(), after);

  // The pulled candidates end up at the back of the heap's array, the best one last.
  work.weights.clear();
  auto end = work.heap.end();
  Answer answer;
  double sum = 0.0;  // of z_j - top
  while (end != work.heap.begin()) {
    std::pop_heap(work.heap.begin(), end--, after);
    const double shifted = z[*end] - top;
    const auto pulled = static_cast<std::int64_t>(work.weights.size());
    if (sum - static_cast<double>(pulled) * shifted >= mu) break;
    if (pulled == smoothing.k) {
      answer.exact = false;
      break;
    }
    sum += shifted;
    work.weights.push_back(shifted / mu);
  }
  const std::size_t support = project_sorted_simplex(work.weights.data(), work.weights.size());
  double norm = 0.0, value = 0.0;
  for (std::size_t r = 0; r < support; ++r) {
    const double weight = work.weights[r];
    const std::int32_t j = work.heap[work.heap.size() - 1 - r];
    norm += weight * weight;
    value += weight * (z[j] - top);
    if (parts) parts[j] = weight;
    answer.cost += weight * cost_of(i, j);
  }
  answer.value = top + value - 0.5 * mu * (norm - 1.0);
  return answer;
}

void LinearCandidates::scatter(std::int64_t i, const double* parts, const ScatterTarget& target) const {
  for (std::int64_t j = 0; j < count(i); ++j)
    if (parts[j] != 0.0) add_candidate(data_.offsets[i] + j, parts[j], target);
}

void LinearCandidates::add_candidate(std::int64_t row, double weight, const ScatterTarget& target) const {
  const std::int64_t begin = target.row_begin, end = std::min(target.row_end, dim());
  data_.features.add_to(row, target.a * weight, begin, end, target.v);
  if (target.q) data_.features.add_to(row, target.b * weight, begin, end, target.q);
}

/// Units are rows of features.
void LinearCandidates::collect(std::int64_t i, const double* parts, PartList& list) const {
  for (std::int64_t j = 0; j < count(i); ++j) {
    if (parts[j] == 0.0) continue;
    list.unit.push_back(data_.offsets[i] + j);
    list.values.push_back(parts[j]);
  }
}

void LinearCandidates::scatter_list(const PartList& list, const ScatterTarget& target) const {
  for (std::size_t k = 0; k < list.unit.size(); ++k) add_candidate(list.unit[k], list.values[k], target);
}

void LinearCandidates::decode(const double* w, int threads, std::int64_t* indices, double* values) const {
  parallel_chunks(size(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::vector<double> scores;
    const WeightView view{w};
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t m = count(i);
      scores.resize(static_cast<std::size_t>(m));
      score(i, 0, m, view, false, scores.data());
      indices[i] = best_candidate(scores.data(), m);
      values[i] = scores[static_cast<std::size_t>(indices[i])];
    }
  });
}

}  // namespace casimir
