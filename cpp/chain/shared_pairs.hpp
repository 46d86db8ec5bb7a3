// Losses of chains whose pairs share one matrix, and the gradient by that matrix: a sum over examples, whose weights
// are known only after the losses.
#pragma once

#include <cstdint>
#include <vector>

#include "chain/chain_batch.hpp"
#include "chain/chain_group.hpp"

namespace casimir {

/// What the pairs of each chain add to the gradient, as factors of products where chains ran in groups.
class SharedPairs {
 public:
  /// losses and nodes: as those of chain_soft_loss.
  SharedPairs(const ChainBatch&, const std::int64_t* y, double mu, int threads, double* losses, double* nodes);

  std::int64_t labels() const { return labels_; }
  std::int64_t size() const { return static_cast<std::int64_t>(offsets_.size()) - 1; }

  /// out[labels][labels] = sum_i weights[i] (marginals of the pairs of chain i, less the pairs of its y)
  void weighted(const double* weights, int threads, double* out) const;

 private:
  struct Group {
    std::vector<std::int64_t> chains;  // of each of its pairs, which lie position by position
    PairSums pairs;
  };
  void run_group(const ChainBatch&, const std::vector<std::int64_t>& chains, ChainGroup& run, Group& group,
                 double* losses, double* nodes, std::vector<char>& done) const;
  /// Chains that ran one by one.
  void run_alone(const ChainBatch&, double mu, int threads, double* losses, double* nodes,
                 const std::vector<char>& done);
  void add_groups(const double* weights, int threads, double* out) const;
  void subtract_truth(const ChainBatch&, double* losses, double* nodes) const;

  std::int64_t labels_;
  std::vector<std::int64_t> offsets_, y_;
  AllowedPairs allowed_;
  GroupPotentials potentials_;
  std::vector<Group> groups_;
  std::vector<std::int64_t> alone_;
  std::vector<double> of_alone_;  // [alone][labels][labels]
};

}  // namespace casimir
