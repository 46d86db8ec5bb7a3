#include "solve/sharded_problem.hpp"

#include <algorithm>
#include <stdexcept>

namespace casimir {
namespace {

class ShardedNorm final : public BlockNorm {
 public:
  ShardedNorm(const std::vector<Problem*>& shards, const std::vector<std::int64_t>& first) : first_(first) {
    for (const Problem* shard : shards) own_.push_back(shard->block_norm());
  }
  double squared(std::int64_t i, const double* x) override {
    const auto shard = static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), i) - first_.begin()) - 1;
    return own_[shard]->squared(i - first_[shard], x);
  }

 private:
  std::vector<std::int64_t> first_;
  std::vector<std::unique_ptr<BlockNorm>> own_;
};

}  // namespace

ShardedProblem::ShardedProblem(std::vector<Problem*> shards, Enter enter)
    : shards_(std::move(shards)), enter_(std::move(enter)) {
  if (shards_.empty()) throw std::invalid_argument("there must be at least one shard.");
  for (const Problem* shard : shards_) {
    if (shard->n_params() != n_params() || shard->rows() != rows())
      throw std::invalid_argument("the shards have different numbers of weights.");
    const std::int64_t n = shard->n_examples();
    if (n < 1) throw std::invalid_argument("a shard has no examples.");
    first_.push_back(first_.back() + n);
    marginals_.push_back(marginals_.back() + shard->marginal_offset(n));
    outputs_.push_back(outputs_.back() + shard->output_offset(n));
  }
  for (Problem* shard : shards_) shard->set_scales(nullptr, n_examples());
}

ShardedProblem::Place ShardedProblem::place(std::int64_t i) const {
  const auto shard = static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), i) - first_.begin()) - 1;
  return {shard, i - first_[shard]};
}

std::int64_t ShardedProblem::offset_of(std::int64_t i, const std::vector<std::int64_t>& first,
                                       std::int64_t (Problem::*own)(std::int64_t) const) const {
  if (i == n_examples()) return first.back();
  const auto [s, k] = place(i);
  return first[s] + (shards_[s]->*own)(k);
}

Answer ShardedProblem::oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& work,
                              double* marginals) const {
  const auto [s, k] = place(i);
  return shards_[s]->oracle(k, w, smoothing, work, marginals);
}

void ShardedProblem::prefetch(std::int64_t i, const WeightView& w) const {
  const auto [s, k] = place(i);
  if (entered_ < coming_.size() && s == coming_[entered_]) enter_next();
  shards_[s]->prefetch(k, w);
}

void ShardedProblem::prefetch_features(std::int64_t i) const {
  const auto [s, k] = place(i);
  if (is_entered(s)) shards_[s]->prefetch_features(k);
}

void ShardedProblem::prefetch_places(std::int64_t i) const {
  const auto [s, k] = place(i);
  if (is_entered(s)) shards_[s]->prefetch_places(k);
}

void ShardedProblem::announce(std::span<const std::int64_t> order) const {
  coming_.clear();
  entered_ = 0;
  for (const std::int64_t i : order)
    if (const std::size_t shard = place(i).shard; coming_.empty() || shard != coming_.back()) coming_.push_back(shard);
  if (!coming_.empty()) enter_next();
}

void ShardedProblem::enter_next() const {
  const std::size_t shard = coming_[entered_++];
  enter_(shard, entered_ < coming_.size() ? std::optional(coming_[entered_]) : std::nullopt);
}

void ShardedProblem::subtract_truth(std::int64_t i, double* marginals) const {
  const auto [s, k] = place(i);
  shards_[s]->subtract_truth(k, marginals);
}

void ShardedProblem::scatter(std::int64_t i, const double* marginals, const ScatterTarget& target) const {
  const auto [s, k] = place(i);
  shards_[s]->scatter(k, marginals, target);
}

/// Units of tokens are outputs of all shards, one after another; those of rows are the same in all.
void ShardedProblem::collect(std::int64_t i, const double* marginals, MarginalList& list) const {
  const auto [s, k] = place(i);
  const std::size_t before = list.unit.size();
  shards_[s]->collect(k, marginals, list);
  for (std::size_t j = before; j < list.unit.size(); ++j)
    if (list.unit[j] >= 0) list.unit[j] += outputs_[s];
}

void ShardedProblem::scatter_list(const MarginalList& list, const ScatterTarget& target) const {
  const auto width = static_cast<std::size_t>(n_params() / rows());
  MarginalList own;
  for (std::size_t from = 0, to = 0, s = 0; from < list.unit.size(); from = to) {
    if (list.unit[from] >= 0)
      s = static_cast<std::size_t>(std::upper_bound(outputs_.begin(), outputs_.end(), list.unit[from]) -
                                   outputs_.begin()) -
          1;
    own.unit.clear();
    while (to < list.unit.size() && list.unit[to] < outputs_[s + 1] &&
           (list.unit[to] < 0 || list.unit[to] >= outputs_[s])) {
      own.unit.push_back(list.unit[to] < 0 ? list.unit[to] : list.unit[to] - outputs_[s]);
      ++to;
    }
    own.values.assign(list.values.begin() + static_cast<std::ptrdiff_t>(from * width),
                      list.values.begin() + static_cast<std::ptrdiff_t>(to * width));
    shards_[s]->scatter_list(own, target);
  }
}

void ShardedProblem::touched(std::int64_t i, std::vector<RowRange>& ranges) const {
  const auto [s, k] = place(i);
  shards_[s]->touched(k, ranges);
}

void ShardedProblem::scores(std::int64_t i, const WeightView& w, Workspace& work, double* out) const {
  const auto [s, k] = place(i);
  shards_[s]->scores(k, w, work, out);
}

double ShardedProblem::expect(std::int64_t i, const double* scores, double mu, Workspace& work,
                              double* marginals) const {
  const auto [s, k] = place(i);
  return shards_[s]->expect(k, scores, mu, work, marginals);
}

double ShardedProblem::expected_cost(std::int64_t i, const double* marginals) const {
  const auto [s, k] = place(i);
  return shards_[s]->expected_cost(k, marginals);
}

void ShardedProblem::add_truth_scores(std::int64_t i, double margin, double* scores) const {
  const auto [s, k] = place(i);
  shards_[s]->add_truth_scores(k, margin, scores);
}

std::unique_ptr<BlockNorm> ShardedProblem::block_norm() const { return std::make_unique<ShardedNorm>(shards_, first_); }

void ShardedProblem::decode(const double* w, int threads, std::int64_t* outputs, double* values) const {
  for (std::size_t s = 0; s < shards_.size(); ++s)
    shards_[s]->decode(w, threads, outputs + outputs_[s], values + first_[s]);
}

std::unique_ptr<DualBlocks> ShardedProblem::dual_blocks(int /*threads*/) const {
  throw std::invalid_argument("the dual blocks of a problem in shards are those of its shards.");
}

}  // namespace casimir
