#include "chain/shared_pairs.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "chain/padded_chain.hpp"

namespace casimir {

SharedPairs::SharedPairs(const ChainBatch& batch, const std::int64_t* y, double mu, int threads, double* losses,
                         double* nodes)
    : labels_(batch.labels), offsets_(batch.offsets, batch.offsets + batch.size + 1), y_(y, y + batch.total()) {
  std::vector<char> done(at(batch.size), 0);
  if (batch.has_groups()) {
    allowed_ = AllowedPairs(batch.labels, batch.edges, batch.labels);
    potentials_.load({batch.labels, batch.labels}, batch.edges, mu, allowed_ ? &allowed_ : nullptr);
    const std::vector<std::vector<std::int64_t>> plan = grouped(batch.lengths(), batch.labels);
    groups_.resize(plan.size());
    parallel_chunks(static_cast<std::int64_t>(plan.size()), threads, [&](std::int64_t begin, std::int64_t end, int) {
      ChainGroup run;
      for (std::int64_t g = begin; g < end; ++g)
        run_group(batch, plan[at(g)], run, groups_[at(g)], losses, nodes, done);
    });
  }
  run_alone(batch, mu, threads, losses, nodes, done);
  subtract_truth(batch, losses, nodes);
}

void SharedPairs::run_group(const ChainBatch& batch, const std::vector<std::int64_t>& chains, ChainGroup& run,
                            Group& group, double* losses, double* nodes, std::vector<char>& done) const {
  std::vector<std::int64_t> lengths;
  for (const std::int64_t i : chains) lengths.push_back(batch.length(i));
  const auto members = static_cast<std::int64_t>(chains.size());
  run.begin(potentials_, lengths);
  for (std::int64_t c = 0; c < members; ++c)
    for (std::int64_t t = 0; t < lengths[at(c)]; ++t)
      run.set_scores(c, t, batch.nodes + (batch.offsets[chains[at(c)]] + t) * labels_);
  run.run(true);
  for (std::int64_t c = 0; c < members; ++c) {
    const std::int64_t i = chains[at(c)];
    if (run.is_lost(c)) continue;
    done[at(i)] = 1;
    losses[i] = run.value(c);
    for (std::int64_t t = 0; t < lengths[at(c)]; ++t)
      std::copy_n(run.marginals(c, t), labels_, nodes + (batch.offsets[i] + t) * labels_);
  }
  for (std::int64_t t = 1; t < lengths[0]; ++t)
    for (std::int64_t c = 0; c < members && t < lengths[at(c)]; ++c) group.chains.push_back(chains[at(c)]);
  group.pairs.pack(potentials_, run.n_pairs(), run.all_before(), run.all_after());
}

void SharedPairs::run_alone(const ChainBatch& batch, double mu, int threads, double* losses, double* nodes,
                            const std::vector<char>& done) {
  for (std::int64_t i = 0; i < batch.size; ++i)
    if (!done[at(i)]) alone_.push_back(i);
  const std::int64_t block = labels_ * labels_;
  of_alone_.resize(alone_.size() * at(block));
  parallel_chunks(static_cast<std::int64_t>(alone_.size()), threads, [&](std::int64_t begin, std::int64_t end, int) {
    if (begin == end) return;
    PaddedChain chain(batch);
    for (std::int64_t a = begin; a < end; ++a) {
      const std::int64_t i = alone_[at(a)];
      chain.load(i);
      losses[i] = chain.expect_of_sums(mu);
      unpad(chain.shape(), chain.node_marginals(), chain.length(), nodes + offsets_[at(i)] * labels_);
      unpad(chain.shape(), chain.edge_marginals(), labels_, of_alone_.data() + a * block);
    }
  });
}

void SharedPairs::subtract_truth(const ChainBatch& batch, double* losses, double* nodes) const {
  for (std::int64_t i = 0; i < size(); ++i)
    for (std::int64_t t = offsets_[at(i)]; t < offsets_[at(i + 1)]; ++t) {
      const std::int64_t cell = t * labels_ + y_[at(t)];
      nodes[cell] -= 1.0;
      losses[i] -= batch.nodes[cell];
      if (t > offsets_[at(i)]) losses[i] -= batch.edges[y_[at(t - 1)] * labels_ + y_[at(t)]];
    }
}

void SharedPairs::weighted(const double* weights, int threads, double* out) const {
  const std::int64_t block = labels_ * labels_;
  std::fill_n(out, block, 0.0);
  add_groups(weights, threads, out);
  for (std::size_t a = 0; a < alone_.size(); ++a) {
    const double weight = weights[alone_[a]], *own = of_alone_.data() + static_cast<std::int64_t>(a) * block;
    for (std::int64_t cell = 0; cell < block; ++cell) out[cell] += weight * own[cell];
  }
  for (std::int64_t i = 0; i < size(); ++i)
    for (std::int64_t t = offsets_[at(i)] + 1; t < offsets_[at(i + 1)]; ++t)
      out[y_[at(t - 1)] * labels_ + y_[at(t)]] -= weights[i];
}

/// One weight for all, as the mean and the sum of losses have it, waits for the end.
void SharedPairs::add_groups(const double* weights, int threads, double* out) const {
  if (groups_.empty()) return;
  const double common = weights[0];
  const bool is_common = std::all_of(weights, weights + size(), [&](double weight) { return weight == common; });
  std::vector<double> sums(potentials_.cells.size(), 0.0), of_pairs;
  for (const Group& group : groups_) {
    const PairSums* pairs = &group.pairs;
    PairSums scaled;
    if (!is_common) {
      of_pairs.clear();
      for (const std::int64_t i : group.chains) of_pairs.push_back(weights[i]);
      scaled = group.pairs;
      scaled.scale(of_pairs.data());
      pairs = &scaled;
    }
    parallel_chunks(potentials_.width / kProductWidth, threads, [&](std::int64_t begin, std::int64_t end, int) {
      pairs->add_to(potentials_, begin * kProductWidth, end * kProductWidth, sums.data());
    });
  }
  for (std::int64_t y = 0; y < labels_; ++y)
    potentials_.for_each_after(y, [&](std::int64_t z, double potential, std::int64_t k) {
      out[y * labels_ + z] = (is_common ? common : 1.0) * sums[at(k)] * potential;
    });
}

}  // namespace casimir
