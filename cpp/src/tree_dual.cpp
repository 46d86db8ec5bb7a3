#include "casimir/tree_dual.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace casimir {

TreeDual::TreeDual(const LinearTree& trees)
    : trees_(trees),
      inverse_n_(1.0 / static_cast<double>(trees.size())),
      blocks_(static_cast<std::size_t>(trees.size())) {
  if (trees.shape().labels > std::numeric_limits<std::uint16_t>::max())
    throw std::invalid_argument("the dual solver keeps labels in 16 bits; there are more than 65535.");
  for (std::int64_t i = 0; i < trees.size(); ++i) {
    Block& block = blocks_[static_cast<std::size_t>(i)];
    block.labels.assign(trees.truth(i), trees.truth(i) + trees.length(i));
    block.weight = {1.0};
    block.cost = {0.0};
  }
}

/// Index of the output in the cache, added with weight 0 if it is new.
std::size_t TreeDual::remember(std::int64_t i, const std::int32_t* labels) {
  Block& block = blocks_[static_cast<std::size_t>(i)];
  const std::int64_t p = trees_.length(i);
  const std::size_t count = block.weight.size();
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint16_t* cached = block.labels.data() + static_cast<std::int64_t>(k) * p;
    if (std::equal(labels, labels + p, cached, [](std::int32_t a, std::uint16_t b) { return a == b; })) return k;
  }
  double cost = 0.0;
  bool more = false;
  for (std::int64_t v = 0; v < p; ++v) {
    cost += trees_.cost_of(trees_.truth(i)[v], labels[v]);
    const auto place = std::lower_bound(block.nodes.begin(), block.nodes.end(), v);
    if (labels[v] == block.labels[static_cast<std::size_t>(v)] || (place != block.nodes.end() && *place == v)) continue;
    block.nodes.insert(place, static_cast<std::int32_t>(v));
    more = true;
  }
  block.labels.insert(block.labels.end(), labels, labels + p);
  block.weight.push_back(0.0);
  block.cost.push_back(cost);
  if (more) {
    const std::int64_t* above = trees_.parents(i);
    const auto differs = [&](std::int64_t v) {
      return std::binary_search(block.nodes.begin(), block.nodes.end(), static_cast<std::int32_t>(v));
    };
    block.edges.clear();
    for (std::int64_t v = 0; v < p; ++v)
      if (above[v] >= 0 && (differs(v) || differs(above[v]))) block.edges.push_back(static_cast<std::int32_t>(v));
  }
  return count;
}

/// Scores of the cached outputs from work_.unary and work_.edges, leaving out what all of them share.
void TreeDual::score_outputs(std::int64_t i) {
  const Block& block = blocks_[static_cast<std::size_t>(i)];
  const std::int64_t p = trees_.length(i), labels = trees_.shape().labels;
  const std::int64_t* above = trees_.parents(i);
  scores_.assign(block.weight.size(), 0.0);
  const std::uint16_t* y = block.labels.data();
  for (std::size_t k = 0; k < scores_.size(); ++k, y += p) {
    double score = 0.0;
    for (const std::int32_t v : block.nodes) score += work_.unary[static_cast<std::size_t>(v * labels + y[v])];
    for (const std::int32_t v : block.edges)
      score += work_.edges[static_cast<std::size_t>(y[v] * labels + y[above[v]])];
    scores_[k] = score;
  }
}

/// Scores of the nodes on which the cached outputs differ, and of edges, from w.
void TreeDual::rescore(std::int64_t i, const double* w) {
  const WeightView view{w};
  const std::int64_t p = trees_.length(i);
  const auto cells = static_cast<std::size_t>(p * trees_.shape().labels);
  const auto padded = static_cast<std::size_t>(p * trees_.shape().stride);
  if (work_.unary.size() < cells) work_.unary.resize(cells);
  if (work_.padded.size() < padded) work_.padded.resize(padded);
  trees_.load_weights(view, work_);
  for (const std::int32_t v : blocks_[static_cast<std::size_t>(i)].nodes) trees_.score_node(i, v, view, true, work_);
}

double TreeDual::block_gap(const Block& block) const {
  double mean = 0.0;
  for (std::size_t k = 0; k < scores_.size(); ++k) mean += block.weight[k] * scores_[k];
  return std::max(0.0, *std::max_element(scores_.begin(), scores_.end()) - mean);
}

/// direction_ += weight times the features of output a where it differs from output b.
void TreeDual::add_direction(std::int64_t i, std::size_t a, std::size_t b, double weight) {
  const Block& block = blocks_[static_cast<std::size_t>(i)];
  const LinearTreeData& data = trees_.data();
  const std::int64_t stride = trees_.shape().stride, p = trees_.length(i);
  const std::int64_t* above = trees_.parents(i);
  const std::uint16_t* y = block.labels.data() + static_cast<std::int64_t>(a) * p;
  const std::uint16_t* z = block.labels.data() + static_cast<std::int64_t>(b) * p;
  for (const std::int32_t v : block.nodes) {
    if (y[v] == z[v]) continue;
    const std::int64_t* range = data.features.indptr + data.offsets[i] + v;
    for (std::int64_t f = range[0]; f < range[1]; ++f)
      direction_.emplace_back(data.features.indices[f] * stride + y[v],
                              data.features.values ? weight * data.features.values[f] : weight);
  }
  for (const std::int32_t v : block.edges)
    if (y[v] != z[v] || y[above[v]] != z[above[v]])
      direction_.emplace_back((data.n_features + y[v]) * stride + y[above[v]], weight);
}

/// Sorts the direction, adds up entries of the same weight, and returns its squared norm.
double TreeDual::gather() {
  std::sort(direction_.begin(), direction_.end(), [](const Change& a, const Change& b) { return a.first < b.first; });
  std::size_t kept = 0;
  double norm = 0.0;
  for (std::size_t from = 0, to = 0; from < direction_.size(); from = to) {
    double sum = 0.0;
    for (; to < direction_.size() && direction_[to].first == direction_[from].first; ++to) sum += direction_[to].second;
    if (sum == 0.0) continue;
    direction_[kept++] = {direction_[from].first, sum};
    norm += sum * sum;
  }
  direction_.resize(kept);
  return norm;
}

/// w -= (step / (sigma n)) A_i^T direction.
void TreeDual::apply(double step, double sigma, double* w, DualAverage* average) {
  const double scale = -step * inverse_n_ / sigma;
  for (const auto& [at, amount] : direction_) w[at] += scale * amount;
  if (average)
    for (const auto& [at, amount] : direction_) average->q[at] += scale * average->mass * amount;
}

/// Steps that move weight from the worst active output to the best cached one.
void TreeDual::pairwise_steps(std::int64_t i, double sigma, int steps, double* w, DualAverage* average) {
  Block& block = blocks_[static_cast<std::size_t>(i)];
  for (int taken = 1; taken <= steps; ++taken) {
    const auto [best, worst, gain] = pairwise_move(scores_, block.weight);
    if (gain == 0.0) return;
    direction_.clear();
    add_direction(i, best, worst, 1.0);
    add_direction(i, worst, best, -1.0);
    const double curvature = gather() * inverse_n_ / sigma, held = block.weight[worst];
    const double step = curvature * held > gain ? gain / curvature : held;
    block.weight[best] += step;
    block.weight[worst] = step == held ? 0.0 : held - step;
    ell_ += step * (block.cost[best] - block.cost[worst]) * inverse_n_;
    apply(step, sigma, w, average);
    if (taken == steps) return;
    rescore(i, w);
    score_outputs(i);
  }
}

/// alpha <- (1 - gamma) alpha + gamma e_target with the gamma that maximises the dual.
void TreeDual::frank_wolfe_step(std::int64_t i, std::size_t target, double sigma, double* w, DualAverage* average) {
  Block& block = blocks_[static_cast<std::size_t>(i)];
  double gap = scores_[target], cost = block.cost[target];
  direction_.clear();
  for (std::size_t k = 0; k < scores_.size(); ++k) {
    if (block.weight[k] == 0.0) continue;
    gap -= block.weight[k] * scores_[k];
    cost -= block.weight[k] * block.cost[k];
    add_direction(i, target, k, block.weight[k]);
    add_direction(i, k, target, -block.weight[k]);
  }
  const double curvature = gather() * inverse_n_ / sigma;
  const double gamma = gap <= 0.0 ? 0.0 : curvature > gap ? gap / curvature : 1.0;
  for (double& weight : block.weight) weight *= 1.0 - gamma;
  block.weight[target] += gamma;
  ell_ += gamma * cost * inverse_n_;
  apply(gamma, sigma, w, average);
}

PassResult TreeDual::exact_pass(const std::int64_t* order, std::int64_t count, double sigma, StepRule rule, int steps,
                                double* w, DualAverage* average) {
  const WeightView view{w};
  for (std::int64_t visit = 0; visit < count; ++visit) {
    const std::int64_t i = order[visit];
    Block& block = blocks_[static_cast<std::size_t>(i)];
    if (visit + 1 < count) trees_.prefetch(order[visit + 1], view);
    trees_.load_weights(view, work_);
    trees_.score_nodes(i, view, true, work_);
    trees_.best_output(i, work_);
    const std::size_t target = remember(i, work_.output.data());
    score_outputs(i);
    block.gap = block_gap(block);
    if (rule == StepRule::kFrankWolfe)
      frank_wolfe_step(i, target, sigma, w, average);
    else
      pairwise_steps(i, sigma, steps, w, average);
    if (average) {
      average->mass += average->next_weight;
      average->ell_sum += average->next_weight * ell_;
      average->next_weight += 1.0;
    }
  }
  return {mean_gap(), count, count};
}

PassResult TreeDual::cached_pass(const std::int64_t* order, std::int64_t count, double sigma, int steps,
                                 double skip_below, double* w) {
  const double skip_gap = skip_below * mean_gap();
  chosen_.clear();
  for (std::int64_t visit = 0; visit < count; ++visit) {
    const Block& block = blocks_[static_cast<std::size_t>(order[visit])];
    if (block.weight.size() >= 2 && block.gap >= skip_gap) chosen_.push_back(order[visit]);
  }
  for (const std::int64_t i : chosen_) {
    Block& block = blocks_[static_cast<std::size_t>(i)];
    rescore(i, w);
    score_outputs(i);
    block.gap = block_gap(block);
    pairwise_steps(i, sigma, steps, w, nullptr);
  }
  return {mean_gap(), 0, static_cast<std::int64_t>(chosen_.size())};
}

double TreeDual::mean_gap() const {
  double total = 0.0;
  for (const Block& block : blocks_) total += block.gap;
  return total * inverse_n_;
}

std::int64_t TreeDual::cached_outputs() const {
  std::int64_t total = 0;
  for (const Block& block : blocks_) total += static_cast<std::int64_t>(block.weight.size());
  return total;
}

std::int64_t TreeDual::active_outputs() const {
  std::int64_t total = 0;
  for (const Block& block : blocks_)
    total += std::count_if(block.weight.begin(), block.weight.end(), [](double weight) { return weight > 0.0; });
  return total;
}

}  // namespace casimir
