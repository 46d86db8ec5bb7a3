#include "chain/soft_loss_groups.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "chain/chain_group.hpp"

namespace casimir {
namespace {

/// One thread's groups, and the sums of pairs of one chain.
class SoftLosses {
 public:
  SoftLosses(const ChainBatch& batch, const std::int64_t* y, const GroupPotentials& potentials)
      : batch_(batch), y_(y), potentials_(potentials), labels_(batch.labels) {
    pairs_.resize(static_cast<std::size_t>(potentials.width * potentials.width));
  }

  void run(const std::vector<std::int64_t>& chains) {
    lengths_.clear();
    for (const std::int64_t i : chains) lengths_.push_back(batch_.length(i));
    group_.begin(potentials_, lengths_);
    for (std::size_t c = 0; c < chains.size(); ++c)
      for (std::int64_t t = 0; t < lengths_[c]; ++t)
        group_.set_scores(static_cast<std::int64_t>(c), t, batch_.nodes + (batch_.offsets[chains[c]] + t) * labels_);
    group_.run(true);
  }
  bool is_lost(std::int64_t chain) const { return group_.is_lost(chain); }

  /// The loss of chain i, which is a member of the group, and its gradient.
  double write(std::int64_t i, std::int64_t chain, double* nodes, double* edges) {
    const std::int64_t p = batch_.length(i), first = batch_.offsets[i];
    double loss = group_.value(chain);
    write_pairs(chain, p, edges);
    for (std::int64_t t = 0; t < p; ++t) {
      const std::int64_t label = y_[first + t];
      std::copy_n(group_.marginals(chain, t), labels_, nodes + t * labels_);
      nodes[t * labels_ + label] -= 1.0;
      loss -= batch_.nodes[(first + t) * labels_ + label];
      if (t == 0) continue;
      const std::int64_t cell = y_[first + t - 1] * labels_ + label;
      loss -= batch_.edges[cell];
      edges[cell] -= 1.0;
    }
    return loss;
  }

 private:
  void write_pairs(std::int64_t chain, std::int64_t p, double* edges) {
    const std::int64_t width = potentials_.width;
    before_.clear(), after_.clear();
    for (std::int64_t t = 1; t < p; ++t) {
      const double *before = group_.before(chain, t), *after = group_.after(chain, t);
      before_.insert(before_.end(), before, before + width);
      after_.insert(after_.end(), after, after + width);
    }
    products_.pack(p - 1, width, before_.data(), after_.data());
    std::fill(pairs_.begin(), pairs_.end(), 0.0);
    products_.add_to(0, width, pairs_.data());
    for (std::int64_t a = 0; a < labels_; ++a) {
      const double *sums = pairs_.data() + a * width, *potentials = potentials_.matrix.data() + a * width;
      for (std::int64_t b = 0; b < labels_; ++b) edges[a * labels_ + b] = sums[b] * potentials[b];
    }
  }

  const ChainBatch& batch_;
  const std::int64_t* y_;
  const GroupPotentials& potentials_;
  const std::int64_t labels_;
  ChainGroup group_;
  OuterProducts products_;
  std::vector<std::int64_t> lengths_;
  std::vector<double> pairs_, before_, after_;
};

}  // namespace

void soft_losses_of_groups(const ChainBatch& batch, const std::int64_t* y, double mu, int threads, double* losses,
                           double* nodes, double* edges, std::vector<char>& done) {
  const std::int64_t labels = batch.labels;
  GroupPotentials potentials;
  potentials.load({batch.labels, batch.labels}, batch.edges, mu);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(batch.size));
  for (std::int64_t i = 0; i < batch.size; ++i) lengths[static_cast<std::size_t>(i)] = batch.length(i);
  const std::vector<std::vector<std::int64_t>> plan = grouped(lengths, batch.labels);
  parallel_chunks(static_cast<std::int64_t>(plan.size()), threads, [&](std::int64_t begin, std::int64_t end, int) {
    SoftLosses groups(batch, y, potentials);
    for (auto g = static_cast<std::size_t>(begin); g < static_cast<std::size_t>(end); ++g) {
      groups.run(plan[g]);
      for (std::size_t c = 0; c < plan[g].size(); ++c) {
        const std::int64_t i = plan[g][c], member = static_cast<std::int64_t>(c);
        if (groups.is_lost(member)) continue;
        losses[i] = groups.write(i, member, nodes + batch.offsets[i] * labels, edges + i * labels * labels);
        done[static_cast<std::size_t>(i)] = 1;
      }
    }
  });
}

}  // namespace casimir
