#include "tree/tree_kbest.hpp"

#include <algorithm>
#include <limits>
#include <queue>

#include "base/numbers.hpp"

namespace casimir {
namespace {

/// A list of deviations that is waiting for its turn.
struct Waiting {
  double loss;
  std::vector<Deviation> deviations;
};

struct LargerLoss {
  bool operator()(const Waiting& a, const Waiting& b) const { return a.loss > b.loss; }
};

/// The `room` lexicographically first outputs of those offered.
class FirstOutputs {
 public:
  explicit FirstOutputs(std::size_t room) : room_(room) {}

  /// Returns whether a larger output than this may still be wanted.
  bool offer(const std::vector<std::int64_t>& output) {
    if (kept_.size() < room_) {
      kept_.push_back(output);
      std::push_heap(kept_.begin(), kept_.end());
      return true;
    }
    if (!(output < kept_.front())) return false;
    std::pop_heap(kept_.begin(), kept_.end());
    kept_.back() = output;
    std::push_heap(kept_.begin(), kept_.end());
    return true;
  }

  const std::vector<std::vector<std::int64_t>>& sorted() {
    std::sort_heap(kept_.begin(), kept_.end());
    return kept_;
  }

 private:
  std::size_t room_;
  std::vector<std::vector<std::int64_t>> kept_;  // a heap, the last in order on top
};

}  // namespace

void TreeKBest::run(TreeMax& best, std::int64_t k, double mu) {
  values_.clear();
  outputs_.clear();
  if (best.top() == -kInf) k = 1;  // all outputs are forbidden
  // Ties with the last output are rare; only when there are some is more pulled, in the hope to meet all of them.
  bool complete = search(best, k, k, mu);
  const std::int64_t count = std::min<std::int64_t>(k, static_cast<std::int64_t>(losses_.size()));
  if (!complete) complete = search(best, count, 2 * count + 32, kInf);
  for (std::int64_t j = 0; j < count; ++j) values_.push_back(best.top() - losses_[static_cast<std::size_t>(j)]);
  outputs_.reserve(static_cast<std::size_t>(count * p_));
  complete ? write_sorted(best, count) : list_ties(best, count);
}

/// Pulls k outputs, and then up to `most` as long as they tie with the k-th. Returns whether none is left that does.
bool TreeKBest::search(TreeMax& best, std::int64_t k, std::int64_t most, double mu) {
  begin(best);
  const double limit = std::min(mu, std::numeric_limits<double>::max());
  expand(best, 0, 0, limit, static_cast<std::size_t>(most));
  double sum = 0.0;  // of the losses pulled
  while (!candidates_.empty()) {
    const auto pulled = static_cast<std::int64_t>(losses_.size());
    const Candidate next = candidates_.best();
    if (next.loss * static_cast<double>(pulled) - sum >= mu) return true;
    if (pulled >= k && next.loss > losses_[static_cast<std::size_t>(k - 1)]) return true;
    if (pulled >= most) return false;
    candidates_.pop_best(SmallerLoss{});
    pull(best, next);
    sum += next.loss;
    // One candidate more than may be pulled, to know whether it ties.
    expand(best, pulled, next.position + 1, limit, static_cast<std::size_t>(most - pulled));
  }
  return true;
}

/// The best output and its losses.
void TreeKBest::begin(TreeMax& best) {
  const TreeView& tree = best.tree();
  p_ = tree.p, labels_count_ = tree.labels;
  losses_.assign(1, 0.0);
  candidates_.clear();
  pulled_.resize(static_cast<std::size_t>(p_));
  rows_.resize(static_cast<std::size_t>(p_ * labels_count_));
  second_.resize(static_cast<std::size_t>(p_));
  row_.resize(static_cast<std::size_t>(labels_count_));
  for (std::int64_t t = 0; t < p_; ++t) {
    double* row = rows_.data() + t * labels_count_;
    best.losses(t, tree.is_root(t) ? 0 : pulled_[static_cast<std::size_t>(tree.parent[t])], row);
    const auto label = static_cast<std::int32_t>(std::find(row, row + labels_count_, 0.0) - row);
    double second = kInf;
    for (std::int32_t l = 0; l < labels_count_; ++l)
      if (l != label) second = std::min(second, row[l]);
    pulled_[static_cast<std::size_t>(t)] = label;
    second_[static_cast<std::size_t>(t)] = second;
  }
}

/// Appends an output: its parent's labels, but for the subtree of the deviation.
void TreeKBest::pull(const TreeMax& best, const Candidate& candidate) {
  const TreeView& tree = best.tree();
  const std::size_t start = pulled_.size();
  pulled_.resize(start + static_cast<std::size_t>(p_));
  const std::int32_t* parent = pulled_.data() + candidate.parent * p_;
  std::int32_t* labels = pulled_.data() + start;
  std::copy_n(parent, p_, labels);
  labels[candidate.position] = candidate.label;
  const std::int64_t end = candidate.position + tree.subtree[candidate.position];
  for (std::int64_t t = candidate.position + 1; t < end; ++t) {
    const std::int64_t above = tree.parent[t];
    if (labels[above] == parent[above]) continue;  // and so is the best label below it
    best.losses(t, labels[above], row_.data());
    labels[t] = static_cast<std::int32_t>(std::find(row_.begin(), row_.end(), 0.0) - row_.begin());
  }
  losses_.push_back(candidate.loss);
}

/// Adds the deviations of an output at positions >= first.
void TreeKBest::expand(const TreeMax& best, std::int64_t parent, std::int64_t first, double limit, std::size_t room) {
  if (room == 0) return;
  const TreeView& tree = best.tree();
  const std::int32_t* labels = pulled_.data() + parent * p_;
  const double base = losses_[static_cast<std::size_t>(parent)];
  double worst = bound(limit, room);
  for (std::int64_t t = first; t < p_; ++t) {
    const std::int64_t above = tree.parent[t];
    if (parent == 0 || above < 0 || labels[above] == pulled_[static_cast<std::size_t>(above)]) {
      if (base + second_[static_cast<std::size_t>(t)] > worst) continue;
      scan(rows_.data() + t * labels_count_, parent, t, limit, room);
    } else {
      best.losses(t, labels[above], row_.data());
      scan(row_.data(), parent, t, limit, room);
    }
    worst = bound(limit, room);
  }
}

void TreeKBest::scan(const double* row, std::int64_t parent, std::int64_t t, double limit, std::size_t room) {
  const double base = losses_[static_cast<std::size_t>(parent)];
  const std::int32_t here = pulled_[static_cast<std::size_t>(parent * p_ + t)];
  for (std::int32_t l = 0; l < labels_count_; ++l)
    if (l != here && base + row[l] <= bound(limit, room))
      candidates_.offer({base + row[l], static_cast<std::int32_t>(parent), static_cast<std::int32_t>(t), l}, room,
                        SmallerLoss{});
}

/// Candidates with a larger loss need not be looked at.
double TreeKBest::bound(double limit, std::size_t room) const {
  return candidates_.size() >= room ? std::min(limit, candidates_.worst().loss) : limit;
}

/// The first `count` outputs by (loss, labels by node), when every tie was pulled.
void TreeKBest::write_sorted(const TreeMax& best, std::int64_t count) {
  const std::int64_t* node = best.tree().node;
  const auto pulled = static_cast<std::int64_t>(losses_.size());
  std::vector<std::int64_t> output(static_cast<std::size_t>(p_));
  for (std::int64_t begin = 0; begin < count;) {
    std::int64_t end = begin + 1;
    while (end < pulled && losses_[static_cast<std::size_t>(end)] == losses_[static_cast<std::size_t>(begin)]) ++end;
    FirstOutputs first(static_cast<std::size_t>(std::min(end, count) - begin));
    for (std::int64_t j = begin; j < end; ++j) {
      for (std::int64_t t = 0; t < p_; ++t)
        output[static_cast<std::size_t>(node[t])] = pulled_[static_cast<std::size_t>(j * p_ + t)];
      first.offer(output);
    }
    for (const auto& y : first.sorted()) outputs_.insert(outputs_.end(), y.begin(), y.end());
    begin = end;
  }
}

/// The same when the search cannot meet all ties: lists of deviations by loss, and the outputs of those that tie
/// merged. The losses of the first `count` outputs are already known.
void TreeKBest::list_ties(const TreeMax& best, std::int64_t count) {
  const double last = losses_[static_cast<std::size_t>(count - 1)];
  ties_.start(best);
  std::priority_queue<Waiting, std::vector<Waiting>, LargerLoss> waiting;
  waiting.push({0.0, {}});
  for (std::int64_t written = 0; written < count && !waiting.empty();) {
    const double loss = waiting.top().loss;
    FirstOutputs first(static_cast<std::size_t>(count - written));
    while (!waiting.empty() && waiting.top().loss == loss) {
      const Waiting next = waiting.top();
      waiting.pop();
      ties_.deviate(next.deviations);
      if (loss < last)
        ties_.parents_from(next.deviations.empty() ? 0 : next.deviations.back().position + 1,
                           [&](std::int64_t t, std::int32_t parent_label) {
                             best.losses(t, parent_label, row_.data());
                             for (std::int32_t l = 0; l < labels_count_; ++l) {
                               const double total = loss + row_[static_cast<std::size_t>(l)];
                               if (row_[static_cast<std::size_t>(l)] == 0.0 || total > last) continue;
                               Waiting child{total, next.deviations};
                               child.deviations.push_back({t, l, parent_label});
                               waiting.push(std::move(child));
                             }
                           });
      ties_.list([&](const std::vector<std::int64_t>& output) { return first.offer(output); });
    }
    for (const auto& y : first.sorted()) outputs_.insert(outputs_.end(), y.begin(), y.end()), ++written;
  }
}

}  // namespace casimir
