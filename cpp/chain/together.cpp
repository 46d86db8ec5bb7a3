// Full passes with the entropy over chains of many labels. Groups of chains of about the same length run together;
// their pairs are added into one matrix for the pass, not one for each example.
#include <algorithm>
#include <limits>

#include "base/numbers.hpp"
#include "base/parallel.hpp"
#include "chain/chain_group.hpp"
#include "chain/linear_chain.hpp"

namespace casimir {
namespace {

constexpr std::int64_t kGroups = 8;  // whose memory is held at a time, whatever the number of threads

}  // namespace

/// A group, and what it adds to the gradient.
struct GroupPart {
  ChainGroup group;
  PairSums pairs;
  MarginalList list;
  std::vector<double> u;
  std::vector<std::int64_t> lengths;
};

/// What a pass needs besides its arguments; it is kept for the next pass.
struct MemoryOfPass {
  std::vector<double> to, pairs;
  GroupPotentials potentials;
  std::vector<GroupPart> parts;
};

class LinearChain::Together {
 public:
  Together(const LinearChain& chain, const WeightView& w, double mu, int threads, bool with_gradient,
           MemoryOfPass& memory)
      : chain_(chain),
        w_(w),
        threads_(threads),
        with_gradient_(with_gradient),
        to_(memory.to),
        pairs_(memory.pairs),
        potentials_(memory.potentials),
        parts_(memory.parts) {
    chain.load_transitions(w, to_);
    potentials_.load(chain.shape_, to_.data(), mu, chain.allowed_ ? &chain.allowed_ : nullptr);
    if (with_gradient) pairs_.assign(potentials_.cells.size(), 0.0);
  }

  void run(Answer* answers, std::span<double> gradient, std::vector<char>& done) {
    const std::vector<std::vector<std::int64_t>> plan = chain_.groups();
    parts_.resize(std::max(parts_.size(), std::min(plan.size(), static_cast<std::size_t>(kGroups))));
    for (std::size_t first = 0; first < plan.size(); first += kGroups) {
      const auto count = static_cast<std::int64_t>(std::min(plan.size() - first, static_cast<std::size_t>(kGroups)));
      parallel_chunks(count, threads_, [&](std::int64_t begin, std::int64_t end, int) {
        for (auto g = static_cast<std::size_t>(begin); g < static_cast<std::size_t>(end); ++g)
          run_group(plan[first + g], parts_[g], answers, done);
      });
      if (with_gradient_) add_groups(count, gradient);
    }
    if (with_gradient_) add_pairs(done, gradient);
  }

 private:
  void run_group(const std::vector<std::int64_t>& examples, GroupPart& part, Answer* answers,
                 std::vector<char>& done) const {
    const std::int64_t stride = chain_.shape_.stride;
    part.lengths.clear();
    for (const std::int64_t i : examples) part.lengths.push_back(chain_.length(i));
    part.group.begin(potentials_, part.lengths);
    for (std::size_t c = 0; c < examples.size(); ++c) {
      const std::int64_t i = examples[c], p = part.lengths[c];
      prefetch_ahead(chain_, examples, c, w_);
      part.u.resize(static_cast<std::size_t>(p * stride));
      chain_.score_tokens(i, 0, p, w_, part.u.data());
      answers[i] = Answer{};
      if (chain_.data_.y)
        answers[i].value = -chain_.path_score(p, chain_.truth(i), part.u.data(), {to_.data(), nullptr, 0});
      for (std::int64_t t = 0; t < p; ++t)
        part.group.set_scores(static_cast<std::int64_t>(c), t, part.u.data() + t * stride);
    }
    part.group.run(with_gradient_ || chain_.has_fixed());
    part.list.unit.clear(), part.list.values.clear();
    for (std::size_t c = 0; c < examples.size(); ++c) {
      const std::int64_t i = examples[c], member = static_cast<std::int64_t>(c);
      if (part.group.is_lost(member)) continue;
      done[static_cast<std::size_t>(i)] = 1;
      Answer& answer = answers[i];
      answer.value += part.group.value(member);
      answer.upper = answer.value;
      answer.max_value = std::numeric_limits<double>::quiet_NaN();
      if (chain_.has_fixed()) answer.cost = cost_of(i, part.group, member);
      if (with_gradient_) collect(i, part, member);
    }
    if (with_gradient_)
      part.pairs.pack(potentials_, part.group.n_pairs(), part.group.all_before(), part.group.all_after());
  }

  /// The fixed score under the marginals of tokens, less that of the truth; fixed scores of pairs are 0 or forbid.
  double cost_of(std::int64_t i, const ChainGroup& group, std::int64_t member) const {
    double total = 0.0;
    for (std::int64_t t = 0; !chain_.fixed_nodes_.empty() && t < chain_.length(i); ++t) {
      const double* u = group.marginals(member, t);
      for (int l = 0; l < chain_.shape_.labels; ++l)
        if (u[l] != 0.0) total += u[l] * chain_.fixed_node(i, t, l);
    }
    return total - chain_.fixed_of_truth(i);
  }

  /// Marginals less the truth, times the scale, of tokens, start and stop; those of pairs get the scale.
  void collect(std::int64_t i, GroupPart& part, std::int64_t member) const {
    const double scale = chain_.scale(i);
    const std::int64_t p = chain_.length(i), width = potentials_.width;
    for (std::int64_t t = 0; t < p; ++t) {
      double* row = part.group.marginals(member, t);
      if (chain_.data_.y) row[chain_.truth(i)[t]] -= 1.0;
      for (std::int64_t j = 0; scale != 1.0 && j < width; ++j) row[j] *= scale;
      if (t == 0) chain_.collect_unit(-1 - chain_.start_row(), row, part.list);
      if (t == p - 1) chain_.collect_unit(-1 - chain_.stop_row(), row, part.list);
      chain_.collect_unit(chain_.data_.offsets[i] + t, row, part.list);
      double* before = t > 0 ? part.group.before(member, t) : nullptr;
      for (std::int64_t j = 0; before && scale != 1.0 && j < width; ++j) before[j] *= scale;
    }
  }

  /// Every thread owns rows and reads the groups in order, so that every sum has one fixed order.
  void add_groups(std::int64_t count, std::span<double> gradient) {
    const std::span<const GroupPart> parts(parts_.data(), static_cast<std::size_t>(count));
    parallel_chunks(potentials_.width / kProductWidth, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      for (const GroupPart& part : parts)
        part.pairs.add_to(potentials_, begin * kProductWidth, end * kProductWidth, pairs_.data());
    });
    parallel_chunks(chain_.rows(), threads_, [&](std::int64_t begin, std::int64_t end, int) {
      for (const GroupPart& part : parts)
        chain_.scatter_list(part.list, {gradient.data(), 1.0, nullptr, 0.0, begin, end});
    });
  }

  void add_pairs(const std::vector<char>& done, std::span<double> gradient) {
    for (std::size_t k = 0; k < pairs_.size(); ++k) pairs_[k] *= potentials_.cells[k];
    for (std::int64_t i = 0; chain_.data_.y && i < chain_.n_examples(); ++i)
      for (std::int64_t t = 1; done[static_cast<std::size_t>(i)] && t < chain_.length(i); ++t)
        pairs_[at(potentials_.cell(chain_.truth(i)[t - 1], chain_.truth(i)[t]))] -= chain_.scale(i);
    std::vector<double> row(at(potentials_.width), 0.0);
    for (std::int64_t y = 0; y < chain_.shape_.labels; ++y) {
      std::fill(row.begin(), row.end(), 0.0);
      potentials_.for_each_after(y, [&](std::int64_t z, double, std::int64_t k) { row[at(z)] = pairs_[at(k)]; });
      chain_.add_row(chain_.data_.n_features + y, row.data(), {gradient.data(), 1.0});
    }
  }

  const LinearChain& chain_;
  const WeightView& w_;
  const int threads_;
  const bool with_gradient_;
  std::vector<double>&to_, &pairs_;
  GroupPotentials& potentials_;
  std::vector<GroupPart>& parts_;
};

std::vector<std::vector<std::int64_t>> LinearChain::groups() const {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(n_examples()));
  for (std::int64_t i = 0; i < n_examples(); ++i)
    lengths[static_cast<std::size_t>(i)] = scale(i) == 0.0 ? 0 : length(i);  // those that count
  return grouped(lengths, shape_.labels);
}

void LinearChain::pass_together(const WeightView& w, const Smoothing& smoothing, int threads, Answer* answers,
                                std::span<double> gradient, std::vector<char>& done) const {
  if (!has_groups() || (!data_.y && data_.truth)) return;
  if (smoothing.kind != SmoothingKind::kHard && smoothing.kind != SmoothingKind::kEntropy) return;
  std::fill(gradient.begin(), gradient.end(), 0.0);
  if (smoothing.kind == SmoothingKind::kHard) return max_together(w, threads, answers, gradient, done);
  const double* pairs = data_.fixed_pairs;
  const auto is_mask = [](double score) { return score == 0.0 || score == -kInf; };
  if (pairs && !std::all_of(pairs, pairs + shape_.labels * shape_.labels, is_mask)) return;
  const auto memory = memory_of_passes_.take<MemoryOfPass>();
  Together(*this, w, smoothing.mu, threads, !gradient.empty(), *memory).run(answers, gradient, done);
  memory_of_passes_.keep(memory);
}

}  // namespace casimir
