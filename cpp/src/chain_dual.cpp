#include "casimir/chain_dual.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace casimir {
namespace {

constexpr std::int64_t kLongestTabulated = 512;  // tokens; beyond it a Gram matrix would cost more than it saves

}  // namespace

ChainDual::ChainDual(const LinearChain& chain) : chain_(chain), inverse_n_(1.0 / static_cast<double>(chain.size())) {
  if (chain.shape().labels > std::numeric_limits<std::uint16_t>::max())
    throw std::invalid_argument("the dual solver keeps labels in 16 bits; there are more than 65535.");
  const std::int64_t n = chain.size();
  blocks_.resize(static_cast<std::size_t>(n));
  gram_offset_.resize(static_cast<std::size_t>(n));
  std::int64_t total = 0, longest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t p = chain.length(i);
    longest = std::max(longest, p);
    gram_offset_[static_cast<std::size_t>(i)] = p <= kLongestTabulated ? total : -1;
    if (p <= kLongestTabulated) total += p * p;
  }
  const bool binary = !chain.data().features.values;
  (binary ? counts_.resize(static_cast<std::size_t>(total)) : gram_.resize(static_cast<std::size_t>(total)));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t p = chain.length(i);
    if (has_table(i)) fill_table(i);
    Block& block = blocks_[static_cast<std::size_t>(i)];
    block.labels.assign(chain.truth(i), chain.truth(i) + p);
    block.weight = {1.0};
    block.cost = {0.0};
  }
  const auto stride = static_cast<std::size_t>(chain.shape().stride);
  const auto labels = static_cast<std::size_t>(chain.shape().labels);
  work_.u.resize(static_cast<std::size_t>(longest) * stride);
  direction_.assign(static_cast<std::size_t>(longest) * stride, 0.0);
  edge_count_.assign(labels * stride, 0.0);
  edge_total_.assign(labels * stride, 0.0);
}

/// <x_s, x_t> for all tokens of a chain: features one after another, each adds the products of the tokens that have it.
void ChainDual::fill_table(std::int64_t i) {
  const TokenFeatures& x = chain_.data().features;
  const std::int64_t p = chain_.length(i), first = chain_.data().offsets[i];
  std::vector<std::pair<std::uint32_t, std::int32_t>> entries;  // (feature, position in x) of the chain, by feature
  std::vector<std::int32_t> token_of;
  const std::int64_t begin = x.indptr[first];
  for (std::int64_t t = 0; t < p; ++t)
    for (std::int64_t f = x.indptr[first + t]; f < x.indptr[first + t + 1]; ++f) {
      entries.emplace_back(x.indices[f], static_cast<std::int32_t>(f - begin));
      token_of.push_back(static_cast<std::int32_t>(t));
    }
  std::sort(entries.begin(), entries.end());
  std::vector<double> table(static_cast<std::size_t>(p * p), 0.0);
  for (std::size_t from = 0, to = 0; from < entries.size(); from = to) {
    while (to < entries.size() && entries[to].first == entries[from].first) ++to;
    for (std::size_t a = from; a < to; ++a)
      for (std::size_t b = from; b < to; ++b) {
        const std::int32_t fa = entries[a].second, fb = entries[b].second;
        const double product = x.values ? x.values[begin + fa] * x.values[begin + fb] : 1.0;
        table[static_cast<std::size_t>(token_of[static_cast<std::size_t>(fa)] * p +
                                       token_of[static_cast<std::size_t>(fb)])] += product;
      }
  }
  for (std::int64_t t = 0; t < p; ++t) table[static_cast<std::size_t>(t * p + t)] += end_scores(i, t);
  const std::int64_t offset = gram_offset_[static_cast<std::size_t>(i)];
  if (x.values) {
    std::copy(table.begin(), table.end(), gram_.begin() + offset);
    return;
  }
  if (*std::max_element(table.begin(), table.end()) > std::numeric_limits<std::uint16_t>::max())
    throw std::invalid_argument("a token has too many features for the dual solver.");
  std::transform(table.begin(), table.end(), counts_.begin() + offset,
                 [](double count) { return static_cast<std::uint16_t>(count); });
}

/// Start and stop scores count as features of the first and last token.
double ChainDual::end_scores(std::int64_t i, std::int64_t t) const {
  return (t == 0 ? 1.0 : 0.0) + (t + 1 == chain_.length(i) ? 1.0 : 0.0);
}

/// Inner product of tokens s and t of a chain with a table.
inline double ChainDual::gram(std::int64_t i, std::int64_t s, std::int64_t t) const {
  const auto cell = static_cast<std::size_t>(gram_offset_[static_cast<std::size_t>(i)] + s * chain_.length(i) + t);
  return gram_.empty() ? counts_[cell] : gram_[cell];
}

bool ChainDual::in_tokens(const Block& block, std::int64_t t) const {
  return std::binary_search(block.tokens.begin(), block.tokens.end(), static_cast<std::int32_t>(t));
}

/// Index of the output in the cache, added with weight 0 if it is new.
std::size_t ChainDual::remember(std::int64_t i, const std::int32_t* labels) {
  Block& block = blocks_[static_cast<std::size_t>(i)];
  const std::int64_t p = chain_.length(i);
  const std::size_t count = block.weight.size();
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint16_t* cached = block.labels.data() + static_cast<std::int64_t>(k) * p;
    if (std::equal(labels, labels + p, cached, [](std::int32_t a, std::uint16_t b) { return a == b; })) return k;
  }
  double cost = 0.0;
  for (std::int64_t t = 0; t < p; ++t) {
    cost += chain_.cost_of(chain_.truth(i)[t], labels[t]);
    if (labels[t] != block.labels[static_cast<std::size_t>(t)] && !in_tokens(block, t))
      block.tokens.insert(std::lower_bound(block.tokens.begin(), block.tokens.end(), t), static_cast<std::int32_t>(t));
  }
  block.labels.insert(block.labels.end(), labels, labels + p);
  block.weight.push_back(0.0);
  block.cost.push_back(cost);
  return count;
}

/// Scores of the cached outputs from work_.u and work_.to, leaving out what all of them share.
void ChainDual::score_outputs(std::int64_t i) {
  const Block& block = blocks_[static_cast<std::size_t>(i)];
  const std::int64_t p = chain_.length(i), stride = chain_.shape().stride;
  const auto count = static_cast<std::int64_t>(block.weight.size());
  scores_.assign(block.weight.size(), 0.0);
  double* scores = scores_.data();
  const double* to = work_.to.data();
  // Outputs in the inner loop: their sums do not wait for each other.
  for (std::size_t j = 0; j < block.tokens.size(); ++j) {
    const std::int64_t t = block.tokens[j];
    const double* u = work_.u.data() + t * stride;
    const bool ends_edge = t > 0;
    const bool next_counts = j + 1 < block.tokens.size() && block.tokens[j + 1] == t + 1;
    const bool starts_edge = t + 1 < p && !next_counts;
    const std::uint16_t* y = block.labels.data() + t;
    for (std::int64_t k = 0; k < count; ++k, y += p) {
      double score = u[y[0]];
      if (ends_edge) score += to[y[-1] * stride + y[0]];
      if (starts_edge) score += to[y[0] * stride + y[1]];
      scores[k] += score;
    }
  }
}

double ChainDual::block_gap(const Block& block) const {
  double mean = 0.0;
  for (std::size_t k = 0; k < scores_.size(); ++k) mean += block.weight[k] * scores_[k];
  return std::max(0.0, *std::max_element(scores_.begin(), scores_.end()) - mean);
}

/// One step that moves weight from the worst active output to the best cached one; false when there is nothing to gain.
/// The chain's own scores follow the step unless it is the last.
bool ChainDual::pairwise_step(std::int64_t i, double sigma, bool last) {
  Block& block = blocks_[static_cast<std::size_t>(i)];
  const std::int64_t p = chain_.length(i), stride = chain_.shape().stride;
  const auto [best, worst, gain] = pairwise_move(scores_, block.weight);
  if (gain == 0.0) return false;

  const std::uint16_t* y = block.labels.data() + static_cast<std::int64_t>(best) * p;
  const std::uint16_t* z = block.labels.data() + static_cast<std::int64_t>(worst) * p;
  differing_.clear();
  for (const std::int32_t t : block.tokens)
    if (y[t] != z[t]) differing_.push_back(t);

  // Edge counts of y minus z.
  edge_changes_.clear();
  const auto count_edge = [&](std::int64_t t, const std::uint16_t* labels, double amount) {
    edge_count_[static_cast<std::size_t>(labels[t] * stride + labels[t + 1])] += amount;
    edge_changes_.push_back({labels[t], labels[t + 1], 0.0});
  };
  for (std::size_t j = 0; j < differing_.size(); ++j) {
    const std::int64_t t = differing_[j];
    const bool next_counts = j + 1 < differing_.size() && differing_[j + 1] == t + 1;
    if (t > 0) count_edge(t - 1, y, 1.0), count_edge(t - 1, z, -1.0);
    if (t + 1 < p && !next_counts) count_edge(t, y, 1.0), count_edge(t, z, -1.0);
  }
  collect_edge_changes();

  double norm = 0.0;
  for (const EdgeChange& edge : edge_changes_) norm += edge.amount * edge.amount;
  if (has_table(i)) {
    for (std::size_t a = 0; a < differing_.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        const std::int64_t s = differing_[a], t = differing_[b];
        const int overlap = (y[s] == y[t]) + (z[s] == z[t]) - (y[s] == z[t]) - (z[s] == y[t]);
        if (overlap != 0) norm += (a == b ? 1.0 : 2.0) * overlap * gram(i, s, t);
      }
  } else {
    // The direction is empty here: without a table every step is applied before the next.
    for (const std::int32_t t : differing_) {
      direction_[static_cast<std::size_t>(t * stride + y[t])] = 1.0;
      direction_[static_cast<std::size_t>(t * stride + z[t])] = -1.0;
    }
    norm += direction_norm(i, differing_);
  }

  const double scale = inverse_n_ / sigma;
  const double held = block.weight[worst];
  const double step = norm * scale * held > gain ? gain / (norm * scale) : held;
  block.weight[best] += step;
  block.weight[worst] = step == held ? 0.0 : held - step;
  ell_ += step * (block.cost[best] - block.cost[worst]) * inverse_n_;

  // What the step does to this chain's own scores, and what it will do to w.
  for (const std::int32_t t : differing_) {
    if (!has_table(i)) {
      direction_[static_cast<std::size_t>(t * stride + y[t])] *= step;
      direction_[static_cast<std::size_t>(t * stride + z[t])] *= step;
      continue;
    }
    direction_[static_cast<std::size_t>(t * stride + y[t])] += step;
    direction_[static_cast<std::size_t>(t * stride + z[t])] -= step;
    if (last) continue;
    for (const std::int32_t s : block.tokens) {
      const double change = step * scale * gram(i, t, s);
      work_.u[static_cast<std::size_t>(s * stride + y[t])] -= change;
      work_.u[static_cast<std::size_t>(s * stride + z[t])] += change;
    }
  }
  for (const EdgeChange& edge : edge_changes_) {
    const auto cell = static_cast<std::size_t>(edge.from * stride + edge.to);
    edge_total_[cell] += step * edge.amount;
    work_.to[cell] -= step * scale * edge.amount;
  }
  moved_ = true;
  return true;
}

/// Turns the touched cells of edge_count_ into a list without duplicates, and clears them.
void ChainDual::collect_edge_changes() {
  std::size_t kept = 0;
  for (EdgeChange edge : edge_changes_) {
    double& count = edge_count_[static_cast<std::size_t>(edge.from * chain_.shape().stride + edge.to)];
    if (count == 0.0) continue;
    edge.amount = count;
    count = 0.0;
    edge_changes_[kept++] = edge;
  }
  edge_changes_.resize(kept);
}

void ChainDual::add_direction(std::int64_t i, const std::uint16_t* y, double weight) {
  const Block& block = blocks_[static_cast<std::size_t>(i)];
  const std::int64_t p = chain_.length(i), stride = chain_.shape().stride;
  const auto count_edge = [&](std::int64_t t) {
    edge_count_[static_cast<std::size_t>(y[t] * stride + y[t + 1])] += weight;
    edge_changes_.push_back({y[t], y[t + 1], 0.0});
  };
  for (std::size_t j = 0; j < block.tokens.size(); ++j) {
    const std::int64_t t = block.tokens[j];
    const bool next_counts = j + 1 < block.tokens.size() && block.tokens[j + 1] == t + 1;
    direction_[static_cast<std::size_t>(t * stride + y[t])] += weight;
    if (t > 0) count_edge(t - 1);
    if (t + 1 < p && !next_counts) count_edge(t);
  }
}

/// alpha <- (1 - gamma) alpha + gamma e_target with the gamma that maximises the dual.
void ChainDual::frank_wolfe_step(std::int64_t i, std::size_t target, double sigma) {
  Block& block = blocks_[static_cast<std::size_t>(i)];
  const std::int64_t p = chain_.length(i), stride = chain_.shape().stride;
  double gap = scores_[target], cost = block.cost[target];
  edge_changes_.clear();
  add_direction(i, block.labels.data() + static_cast<std::int64_t>(target) * p, 1.0);
  for (std::size_t k = 0; k < scores_.size(); ++k) {
    if (block.weight[k] == 0.0) continue;
    gap -= block.weight[k] * scores_[k];
    cost -= block.weight[k] * block.cost[k];
    add_direction(i, block.labels.data() + static_cast<std::int64_t>(k) * p, -block.weight[k]);
  }
  collect_edge_changes();
  double norm = 0.0;
  for (const EdgeChange& edge : edge_changes_) norm += edge.amount * edge.amount;
  if (!has_table(i)) norm += direction_norm(i, block.tokens);
  for (std::size_t a = 0; has_table(i) && a < block.tokens.size(); ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      const std::int64_t s = block.tokens[a], t = block.tokens[b];
      double overlap = 0.0;
      for (std::int64_t l = 0; l < chain_.shape().labels; ++l)
        overlap +=
            direction_[static_cast<std::size_t>(s * stride + l)] * direction_[static_cast<std::size_t>(t * stride + l)];
      norm += (a == b ? 1.0 : 2.0) * overlap * gram(i, s, t);
    }
  const double curvature = norm * inverse_n_ / sigma;
  const double gamma = gap <= 0.0 ? 0.0 : curvature > gap ? gap / curvature : 1.0;
  for (double& weight : block.weight) weight *= 1.0 - gamma;
  block.weight[target] += gamma;
  ell_ += gamma * cost * inverse_n_;
  for (const std::int32_t t : block.tokens)
    for (std::int64_t l = 0; l < stride; ++l) direction_[static_cast<std::size_t>(t * stride + l)] *= gamma;
  for (const EdgeChange& edge : edge_changes_)
    edge_total_[static_cast<std::size_t>(edge.from * stride + edge.to)] += gamma * edge.amount;
  moved_ = true;
}

/// w -= (1 / (sigma n)) A_i^T direction, and clears the direction.
void ChainDual::apply(std::int64_t i, double sigma, double* w, DualAverage* average) {
  if (!moved_) return;
  moved_ = false;
  const Block& block = blocks_[static_cast<std::size_t>(i)];
  const RowShape shape = chain_.shape();
  const std::int64_t stride = shape.stride, p = chain_.length(i), first = chain_.data().offsets[i];
  ScatterTarget target{w, -inverse_n_ / sigma};
  if (average) {
    target.q = average->q;
    target.b = target.a * average->mass;
  }
  const auto add_row = [&](std::int64_t row, const double* x) {
    for (std::int64_t l = 0; l < stride; ++l) {
      target.v[row * stride + l] += target.a * x[l];
      if (target.q) target.q[row * stride + l] += target.b * x[l];
    }
  };
  const std::int64_t base = chain_.data().n_features;
  for (const std::int32_t t : block.tokens) {
    double* row = direction_.data() + t * stride;
    chain_.ops().scatter(shape, chain_.data().features, first + t, 1, row, target);
    if (t == 0) add_row(base + shape.labels, row);
    if (t + 1 == p) add_row(base + shape.labels + 1, row);
    std::fill(row, row + stride, 0.0);
  }
  for (std::int64_t y = 0; y < shape.labels; ++y) add_row(base + y, edge_total_.data() + y * stride);
  std::fill(edge_total_.begin(), edge_total_.end(), 0.0);
}

void ChainDual::pairwise_steps(std::int64_t i, double sigma, int steps, double* w, DualAverage* average) {
  for (int step = 1; step <= steps && pairwise_step(i, sigma, step == steps); ++step) {
    if (step == steps) break;
    if (!has_table(i)) {
      apply(i, sigma, w, average);
      rescore(i, w);
    }
    score_outputs(i);
  }
}

/// Scores of the tokens on which the cached outputs differ, and the transitions, from w.
void ChainDual::rescore(std::int64_t i, const double* w) {
  const RowShape shape = chain_.shape();
  const double* transitions = w + chain_.data().n_features * shape.stride;
  work_.to.assign(transitions, transitions + shape.labels * shape.stride);
  for (const std::int32_t t : blocks_[static_cast<std::size_t>(i)].tokens)
    chain_.score_tokens(i, t, 1, {w}, true, work_.u.data());
}

/// |X_i^T direction|^2 over the given tokens, in time linear in their features: for chains too long for a Gram table.
double ChainDual::direction_norm(std::int64_t i, const std::vector<std::int32_t>& tokens) {
  const RowShape shape = chain_.shape();
  const TokenFeatures& x = chain_.data().features;
  const std::int64_t stride = shape.stride, first = chain_.data().offsets[i];
  gathered_.resize(static_cast<std::size_t>(chain_.dim()), 0.0);
  double norm = 0.0;
  for (const std::int32_t t : tokens) {
    const double* row = direction_.data() + t * stride;
    chain_.ops().scatter(shape, x, first + t, 1, row, {gathered_.data(), 1.0});
    for (int l = 0; l < shape.labels; ++l) norm += end_scores(i, t) * row[l] * row[l];
  }
  for (const std::int32_t t : tokens)
    for (std::int64_t f = x.indptr[first + t]; f < x.indptr[first + t + 1]; ++f) {
      double* row = gathered_.data() + static_cast<std::int64_t>(x.indices[f]) * stride;
      for (int l = 0; l < shape.labels; ++l) norm += row[l] * row[l];
      std::fill(row, row + stride, 0.0);  // so that a feature of several tokens counts once
    }
  return norm;
}

/// The examples come in random order, so what the next visits will read is asked for in good time: first where a
/// block's arrays are, then the arrays, then the weights they point to.
void ChainDual::prefetch(const std::int64_t* order, std::int64_t visit, std::int64_t count, const double* w,
                         bool cached) const {
  if (visit + 6 < count) {
    const std::int64_t far = order[visit + 6];
    __builtin_prefetch(&blocks_[static_cast<std::size_t>(far)]);
    __builtin_prefetch(&blocks_[static_cast<std::size_t>(far)].gap);
    __builtin_prefetch(chain_.data().features.indptr + chain_.data().offsets[far]);
  }
  if (visit + 3 < count) {
    const Block& block = blocks_[static_cast<std::size_t>(order[visit + 3])];
    const std::int64_t first = chain_.data().offsets[order[visit + 3]];
    __builtin_prefetch(block.labels.data());
    __builtin_prefetch(block.weight.data());
    __builtin_prefetch(block.tokens.data());
    __builtin_prefetch(chain_.data().features.indices + chain_.data().features.indptr[first]);
  }
  if (visit + 1 >= count) return;
  const std::int64_t next = order[visit + 1], p = chain_.length(next);
  const std::int64_t table = gram_offset_[static_cast<std::size_t>(next)];
  if (!cached) chain_.prefetch(next, {w});
  for (const std::int32_t t : blocks_[static_cast<std::size_t>(next)].tokens) {
    if (cached) chain_.prefetch_tokens(next, t, 1, {w});
    if (table >= 0 && gram_.empty()) __builtin_prefetch(counts_.data() + table + t * p);
  }
}

PassResult ChainDual::exact_pass(const std::int64_t* order, std::int64_t count, double sigma, StepRule rule, int steps,
                                 double* w, DualAverage* average) {
  const WeightView view{w};
  for (std::int64_t visit = 0; visit < count; ++visit) {
    const std::int64_t i = order[visit], p = chain_.length(i);
    Block& block = blocks_[static_cast<std::size_t>(i)];
    prefetch(order, visit, count, w, false);
    chain_.load_weights(view, work_);
    chain_.score_tokens(i, 0, p, view, true, work_.u.data());
    chain_.best_path(p, work_);
    const std::size_t target = remember(i, work_.path.data());
    score_outputs(i);
    block.gap = block_gap(block);
    if (rule == StepRule::kFrankWolfe)
      frank_wolfe_step(i, target, sigma);
    else
      pairwise_steps(i, sigma, steps, w, average);
    apply(i, sigma, w, average);
    if (average) {
      average->mass += average->next_weight;
      average->ell_sum += average->next_weight * ell_;
      average->next_weight += 1.0;
    }
  }
  return {mean_gap(), count, count};
}

PassResult ChainDual::cached_pass(const std::int64_t* order, std::int64_t count, double sigma, int steps,
                                  double skip_below, double* w) {
  const double skip_gap = skip_below * mean_gap();
  chosen_.clear();
  for (std::int64_t visit = 0; visit < count; ++visit) {
    const Block& block = blocks_[static_cast<std::size_t>(order[visit])];
    if (block.weight.size() >= 2 && block.gap >= skip_gap) chosen_.push_back(order[visit]);
  }
  const auto visits = static_cast<std::int64_t>(chosen_.size());
  for (std::int64_t visit = 0; visit < visits; ++visit) {
    const std::int64_t i = chosen_[static_cast<std::size_t>(visit)];
    Block& block = blocks_[static_cast<std::size_t>(i)];
    prefetch(chosen_.data(), visit, visits, w, true);
    rescore(i, w);
    score_outputs(i);
    block.gap = block_gap(block);
    pairwise_steps(i, sigma, steps, w, nullptr);
    apply(i, sigma, w, nullptr);
  }
  return {mean_gap(), 0, visits};
}

double ChainDual::mean_gap() const {
  double total = 0.0;
  for (const Block& block : blocks_) total += block.gap;
  return total * inverse_n_;
}

std::int64_t ChainDual::cached_outputs() const {
  std::int64_t total = 0;
  for (const Block& block : blocks_) total += static_cast<std::int64_t>(block.weight.size());
  return total;
}

std::int64_t ChainDual::active_outputs() const {
  std::int64_t total = 0;
  for (const Block& block : blocks_)
    total += std::count_if(block.weight.begin(), block.weight.end(), [](double weight) { return weight > 0.0; });
  return total;
}

}  // namespace casimir
