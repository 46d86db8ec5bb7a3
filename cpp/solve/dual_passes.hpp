// What dual blocks share whatever their outputs are: the weights of cached outputs, and the passes over examples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "solve/dual.hpp"
#include "solve/state_reader.hpp"
#include "solve/visit_point.hpp"

namespace casimir {

/// The outputs of one example that were ever the oracle's answer; the truth is the first.
struct CachedOutputs {
  using allocator_type = std::pmr::polymorphic_allocator<>;
  explicit CachedOutputs(allocator_type memory = {}) : weight(1, 1.0, memory), cost(1, 0.0, memory) {}

  std::pmr::vector<double> weight, cost;  // [count]

  /// The index of a new output, of weight 0.
  std::size_t add(double its_cost) {
    weight.push_back(0.0);
    cost.push_back(its_cost);
    return weight.size() - 1;
  }
};

/// Block: CachedOutputs, and what is known of the outputs.
template <class Block>
class DualPasses : public DualBlocks {
 public:
  PassResult exact_pass(std::span<const std::int64_t> order, StepRule rule, int steps, double skip_below,
                        const DualIterate& iterate) final {
    choose(order, skip_below, 1);
    const auto count = static_cast<std::int64_t>(chosen_.size());
    if (at_once_ > 1 && rule == StepRule::kPairwise) {
      for (std::int64_t begin = 0; begin < count; begin += at_once_) {
        const std::span<const std::int64_t> round(chosen_.data() + begin,
                                                  static_cast<std::size_t>(std::min(at_once_, count - begin)));
        ask_oracles(round, iterate.w);
        visit_cached(round, steps, iterate);
      }
      return {mean_gap(), count, count};
    }
    for (std::int64_t visit = 0; visit < count; ++visit) {
      const std::int64_t i = chosen_[static_cast<std::size_t>(visit)];
      prefetch(chosen_.data(), visit, count, iterate.w, false);
      const std::size_t target = ask_oracle(i, iterate.w);
      update_gap(i);
      if (rule == StepRule::kFrankWolfe)
        frank_wolfe_step(i, target, visit_point(problem_, i, iterate));
      else
        pairwise_steps(i, steps, visit_point(problem_, i, iterate));
      count_iterate(iterate);
    }
    return {mean_gap(), count, count};
  }

  PassResult cached_pass(std::span<const std::int64_t> order, int steps, double skip_below,
                         const DualIterate& iterate) final {
    choose(order, skip_below, 2);
    const auto visits = static_cast<std::int64_t>(chosen_.size());
    visit_cached(chosen_, steps, iterate);
    return {mean_gap(), 0, visits};
  }

  PassResult answered_pass(std::span<const std::int64_t> order, std::span<const std::int32_t> labels, int steps,
                           const DualIterate& iterate) final {
    check_answers(order, labels);
    const auto count = static_cast<std::int64_t>(order.size());
    const std::int32_t* answer = labels.data();
    for (std::int64_t visit = 0; visit < count; ++visit) {
      const std::int64_t i = order[static_cast<std::size_t>(visit)];
      prefetch(order.data(), visit, count, iterate.w, true);
      remember(i, answer);
      answer += output_size(i);
      rescore(i, iterate.w);
      update_gap(i);
      if (steps > 0) pairwise_steps(i, steps, visit_point(problem_, i, iterate));
    }
    return {mean_gap(), 0, count};
  }

  const Problem& problem() const final { return problem_; }
  double ell() const final { return ell_; }

  std::int64_t cached_outputs() const final {
    std::int64_t total = 0;
    for (const Block& block : blocks_) total += static_cast<std::int64_t>(block.weight.size());
    return total;
  }

  std::int64_t active_outputs() const final {
    std::int64_t total = 0;
    for (const Block& block : blocks_)
      total += std::count_if(block.weight.begin(), block.weight.end(), [](double weight) { return weight > 0.0; });
    return total;
  }

  DualState state() const final {
    DualState found;
    found.ell = ell_;
    found.gaps.assign(gaps_.begin(), gaps_.end());
    for (const Block& own : blocks_) {
      const auto outputs = own.outputs();
      found.counts.push_back(static_cast<std::int64_t>(own.weight.size()));
      found.weights.insert(found.weights.end(), own.weight.begin(), own.weight.end());
      found.outputs.insert(found.outputs.end(), outputs.begin() + outputs.size() / own.weight.size(), outputs.end());
      if constexpr (requires { own.products; }) {
        found.tabulated.push_back(static_cast<std::int64_t>(own.products.count()));
        own.products.copy_to(found.products);
      }
    }
    return found;
  }

  void restore(const DualState& state) final {
    constexpr bool has_products = requires(Block& own) { own.products; };
    StateReader from(state, blocks_.size(), has_products);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      Block& own = blocks_[i];
      const auto example = static_cast<std::int64_t>(i);
      const std::size_t size = own.outputs().size(), count = from.count(i);
      for (std::size_t k = 1; k < count; ++k)
        from.check(remember(example, from.output(size, label_count(example))) == k);
      from.take_weights(own.weight);
      if constexpr (has_products) from.take_products(i, own.weight.size(), own.products);
    }
    from.check(from.is_at_end());
    gaps_.assign(state.gaps.begin(), state.gaps.end());
    ell_ = state.ell;
  }

 protected:
  explicit DualPasses(const Problem& problem)
      : problem_(problem),
        blocks_(static_cast<std::size_t>(problem.n_examples()), problem.memory()),
        gaps_(blocks_.size(), 0.0, problem.memory()) {}

  /// The index of an output in the cache, added with weight 0 if it is new.
  virtual std::size_t remember(std::int64_t i, const std::int32_t* labels) = 0;
  /// What the labels of its outputs are below.
  virtual std::int64_t label_count(std::int64_t i) const = 0;
  /// Asks the memory for what this visit and the next ones will read.
  virtual void prefetch(const std::int64_t* /*order*/, std::int64_t /*visit*/, std::int64_t /*count*/,
                        const double* /*w*/, bool /*cached*/) const {}
  /// Puts the oracle's output at w into the cache; its index. Leaves the scores of the cached outputs in scores_.
  virtual std::size_t ask_oracle(std::int64_t i, const double* w) = 0;
  /// The same for several examples at one w, where `ask_together` is known; leaves no scores.
  virtual void ask_oracles(std::span<const std::int64_t> /*examples*/, const double* /*w*/) {}
  /// Scores of the cached outputs at w into scores_.
  virtual void rescore(std::int64_t i, const double* w) = 0;
  /// alpha <- (1 - gamma) alpha + gamma e_target with the gamma that maximises the dual.
  virtual void frank_wolfe_step(std::int64_t i, std::size_t target, const VisitPoint& point) = 0;
  /// Steps that move weight from the worst active output to the best cached one, as long as there is something to gain.
  virtual void pairwise_steps(std::int64_t i, int steps, const VisitPoint& point) = 0;

  Block& block(std::int64_t i) { return blocks_[static_cast<std::size_t>(i)]; }
  const Block& block(std::int64_t i) const { return blocks_[static_cast<std::size_t>(i)]; }

  /// How far the weights move towards `target`: gamma of a Frank-Wolfe step of this curvature.
  double move_towards(std::int64_t i, std::size_t target, double curvature) {
    Block& own = block(i);
    double gap = scores_[target], cost = own.cost[target];
    for (std::size_t k = 0; k < scores_.size(); ++k) {
      if (own.weight[k] == 0.0) continue;
      gap -= own.weight[k] * scores_[k];
      cost -= own.weight[k] * own.cost[k];
    }
    const double gamma = gap <= 0.0 ? 0.0 : curvature > gap ? gap / curvature : 1.0;
    for (double& weight : own.weight) weight *= 1.0 - gamma;
    own.weight[target] += gamma;
    ell_ += gamma * cost * problem_.share(i);
    return gamma;
  }

  /// How much weight a pairwise step of this curvature moves.
  double move_between(std::int64_t i, const PairwiseMove& move, double curvature) {
    Block& own = block(i);
    const double held = own.weight[move.worst];
    const double step = curvature * held > move.gain ? move.gain / curvature : held;
    own.weight[move.best] += step;
    own.weight[move.worst] = step == held ? 0.0 : held - step;
    ell_ += step * (own.cost[move.best] - own.cost[move.worst]) * problem_.share(i);
    return step;
  }

  std::int64_t at_once_ = 1;  // oracles
  double ell_ = 0.0;
  std::vector<double> scores_;  // of the cached outputs of the visit under way, up to a common constant

 private:
  /// The examples of a pass: those with so many cached outputs whose last gap is at least `skip_below` times the mean.
  void choose(std::span<const std::int64_t> order, double skip_below, std::size_t outputs) {
    const double least = skip_below * mean_gap();
    chosen_.clear();
    for (const std::int64_t i : order)
      if (gaps_[static_cast<std::size_t>(i)] >= least && block(i).weight.size() >= outputs) chosen_.push_back(i);
  }

  /// Pairwise steps between the cached outputs of these examples.
  void visit_cached(std::span<const std::int64_t> examples, int steps, const DualIterate& iterate) {
    const auto visits = static_cast<std::int64_t>(examples.size());
    for (std::int64_t visit = 0; visit < visits; ++visit) {
      const std::int64_t i = examples[static_cast<std::size_t>(visit)];
      prefetch(examples.data(), visit, visits, iterate.w, true);
      rescore(i, iterate.w);
      update_gap(i);
      pairwise_steps(i, steps, visit_point(problem_, i, iterate));
      count_iterate(iterate);
    }
  }

  void count_iterate(const DualIterate& iterate) const {
    DualAverage* average = iterate.average;
    if (!average) return;
    average->mass += average->next_weight;
    average->ell_sum += average->next_weight * ell_;
    average->next_weight += 1.0;
  }

  /// Labels of one output of example i.
  std::size_t output_size(std::int64_t i) const { return block(i).outputs().size() / block(i).weight.size(); }

  /// Before anything is changed: whether there is an output for every example, and nothing else.
  void check_answers(std::span<const std::int64_t> order, std::span<const std::int32_t> labels) const {
    std::size_t at = 0;
    for (const std::int64_t i : order) {
      const std::size_t end = at + output_size(i);
      if (end > labels.size()) throw std::invalid_argument("there are too few labels for the examples of the order.");
      const auto count = label_count(i);
      for (; at < end; ++at)
        if (labels[at] < 0 || labels[at] >= count) throw std::invalid_argument("an answer has a label that is none.");
    }
    if (at != labels.size()) throw std::invalid_argument("there are too many labels for the examples of the order.");
  }

  /// max_k scores_k - <weight, scores>
  void update_gap(std::int64_t i) {
    const Block& own = block(i);
    double mean = 0.0;
    for (std::size_t k = 0; k < scores_.size(); ++k) mean += own.weight[k] * scores_[k];
    gaps_[static_cast<std::size_t>(i)] = std::max(0.0, *std::max_element(scores_.begin(), scores_.end()) - mean);
  }

  double mean_gap() const {
    double total = 0.0;
    for (std::size_t i = 0; i < gaps_.size(); ++i) total += problem_.scale(static_cast<std::int64_t>(i)) * gaps_[i];
    return total / static_cast<double>(problem_.active());
  }

  const Problem& problem_;
  std::pmr::vector<Block> blocks_;
  std::pmr::vector<double> gaps_;  // of the last visit of every example
  std::vector<std::int64_t> chosen_;
};

}  // namespace casimir
