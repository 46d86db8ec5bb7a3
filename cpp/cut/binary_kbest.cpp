#include "cut/binary_kbest.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/numbers.hpp"

namespace casimir {
namespace {

constexpr double kRounding = 4.0 * std::numeric_limits<double>::epsilon(), kTolerance = 1e-12;
constexpr std::int64_t kPatience = 3;  // looks at every node before all losses are worked out to the end

}  // namespace

void BinaryKBest::run(BinaryGraph& graph, std::int64_t k, double mu) {
  graph_ = &graph;
  rounding_ = kRounding * graph.magnitude();
  tolerance_ = kTolerance * graph.magnitude();
  subsets_.clear();
  Subset all{};
  graph.best(all.best);
  all.value = graph.score(all.best);
  all.loss.assign(static_cast<std::size_t>(graph.size()), 0.0);
  values_.assign(1, all.value);
  outputs_.assign(1, all.best);
  subsets_.push_back(std::move(all));

  n_flips_ = 0;
  has_table_ = false;
  double sum = values_[0];
  while (static_cast<std::int64_t>(values_.size()) < k) {
    const auto count = static_cast<double>(values_.size());
    floor_ = (sum - mu) / count - tolerance_;
    if (!has_table_ && n_flips_ > kPatience * graph.size()) make_table();
    for (Subset& subset : subsets_)
      if (!subset.looked) find_next(subset);
    Subset* chosen = best_subset();
    if (!chosen || sum - count * chosen->next_value >= mu) return;
    values_.push_back(std::min(chosen->next_value, values_.back()));  // ties may differ in the last bits
    outputs_.push_back(chosen->next);
    sum += values_.back();
    if (static_cast<std::int64_t>(values_.size()) < k) split(static_cast<std::size_t>(chosen - subsets_.data()));
  }
}

/// The best output of the subset beside `best`, if it reaches the floor.
void BinaryKBest::find_next(Subset& subset) {
  subset.looked = true;
  subset.has_next = false;
  graph_->mark();
  for (const Forced& forced : subset.forced) graph_->force(forced.v, forced.label);
  const double least = find_least_loss(subset);
  if (least < kInf) take_first_of_least(subset, least);
  graph_->rollback();
}

/// The least loss of a node, infinite if it leads below the floor. Nodes are looked at by what is known of their loss,
/// and left once it is clear that it is not the least.
double BinaryKBest::find_least_loss(Subset& subset) {
  std::vector<double>& loss = subset.loss;
  const auto later = [&](std::int32_t a, std::int32_t b) {
    const double x = loss[static_cast<std::size_t>(a)], y = loss[static_cast<std::size_t>(b)];
    return x > y || (x == y && a > b);
  };
  order_.clear();
  for (std::int32_t v = 0; v < graph_->size(); ++v)
    if (loss[static_cast<std::size_t>(v)] < kInf) order_.push_back(v);
  std::make_heap(order_.begin(), order_.end(), later);
  double least = subset.value - floor_;
  bool found = false;
  for (; !order_.empty(); order_.pop_back()) {
    std::pop_heap(order_.begin(), order_.end(), later);
    const auto v = static_cast<std::size_t>(order_.back());
    if (loss[v] > least + tolerance_) break;
    ++n_flips_;
    graph_->mark();
    loss[v] = std::max(loss[v], graph_->force(order_.back(), 1 - subset.best[v], least + tolerance_));
    graph_->rollback();
    if (loss[v] <= least) least = loss[v], found = true;
  }
  return found ? least : kInf;
}

/// Looks that are cut short say little about later ones. The losses of all nodes among all outputs, worked out to the
/// end, bound those of every subset.
void BinaryKBest::make_table() {
  has_table_ = true;
  table_.resize(static_cast<std::size_t>(graph_->size()));
  graph_->losses(table_.data());
  for (Subset& subset : subsets_)
    for (std::size_t v = 0; v < table_.size(); ++v)
      if (subset.best[v] == outputs_[0][v])
        subset.loss[v] = std::max(subset.loss[v], table_[v] - (values_[0] - subset.value));
}

/// The outputs in which one of the nodes of least loss leaves its label, and of them the best and first.
///
/// Let y_v be the lowest maximiser with v flipped. By submodularity y_v <= best if v is flipped to 0, and y_v >= best
/// if it is flipped to 1, so outputs of the first kind come before those of the second. Of the first kind y_v is first
/// for the lowest v: where another one leaves `best`, flipping that node alone loses no more. Of the second kind, once
/// one leaves `best` at node d, those of nodes below d leave it earlier and come later.
void BinaryKBest::take_first_of_least(Subset& subset, double least) {
  bool down = false;  // a tie that flips a node to 0 was tried
  std::int32_t limit = 0;
  const auto ties = [&](std::int32_t v) { return subset.loss[static_cast<std::size_t>(v)] <= least + rounding_; };
  for (std::int32_t v = 0; v < graph_->size(); ++v) {
    if (subset.loss[static_cast<std::size_t>(v)] > least + tolerance_) continue;
    const bool to_0 = subset.best[static_cast<std::size_t>(v)] == 1;
    if (ties(v) && (!to_0 || down)) continue;
    down = down || ties(v);
    try_flip(subset, v);
  }
  for (std::int32_t v = graph_->size() - 1; v >= limit && !down; --v) {
    if (!ties(v) || subset.best[static_cast<std::size_t>(v)] == 1) continue;
    try_flip(subset, v);
    const auto leaves = std::mismatch(candidate_.begin(), candidate_.end(), subset.best.begin()).first;
    limit = std::max(limit, static_cast<std::int32_t>(leaves - candidate_.begin()));
  }
}

/// Takes the best output with node v flipped if it comes before the one found so far.
void BinaryKBest::try_flip(Subset& subset, std::int32_t v) {
  graph_->mark();
  graph_->force(v, 1 - subset.best[static_cast<std::size_t>(v)]);
  graph_->best(candidate_);
  graph_->rollback();
  const double value = graph_->score(candidate_);
  if (subset.has_next && !before(value, candidate_, subset.next_value, subset.next)) return;
  subset.has_next = true;
  subset.next_value = value;
  subset.next = candidate_;
}

/// Higher scores first; ties by the labels.
bool BinaryKBest::before(double value, const Labels& y, double other_value, const Labels& other) const {
  if (std::abs(value - other_value) > rounding_) return value > other_value;
  return y < other;
}

BinaryKBest::Subset* BinaryKBest::best_subset() {
  double top = -kInf;
  for (const Subset& subset : subsets_)
    if (subset.has_next) top = std::max(top, subset.next_value);
  Subset* chosen = nullptr;
  for (Subset& subset : subsets_)
    if (subset.has_next && subset.next_value >= top - rounding_ && (!chosen || subset.next < chosen->next))
      chosen = &subset;
  return chosen;
}

/// Parts `best` and `next` at the first node where they differ.
void BinaryKBest::split(std::size_t index) {
  Subset& old = subsets_[index];
  const auto v = static_cast<std::size_t>(std::mismatch(old.best.begin(), old.best.end(), old.next.begin()).first -
                                          old.best.begin());
  Subset half{};
  half.forced = old.forced;
  half.forced.push_back({static_cast<std::int32_t>(v), old.next[v]});
  half.best = std::move(old.next);
  half.value = old.next_value;
  half.loss.resize(old.loss.size());
  // Under the same flip the maximum of a part is at most that of the whole.
  for (std::size_t u = 0; u < half.loss.size(); ++u)
    half.loss[u] = half.best[u] == old.best[u] ? std::max(0.0, old.loss[u] - (old.value - half.value)) : 0.0;
  for (const Forced& forced : half.forced) half.loss[static_cast<std::size_t>(forced.v)] = kInf;

  old.forced.push_back({static_cast<std::int32_t>(v), old.best[v]});
  old.loss[v] = kInf;
  old.looked = old.has_next = false;
  subsets_.push_back(std::move(half));
}

}  // namespace casimir
