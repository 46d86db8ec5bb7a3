// The sum-product of one chain of whose pairs few are allowed: it runs as a group of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "chain/chain_group.hpp"

namespace casimir {

class AllowedSums {
 public:
  /// Scores of pairs that change make potentials that were kept wrong.
  void forget() { potentials_.mu = 0.0; }

  /// ChainOps::expect for transitions that say which pairs are allowed.
  double expect(RowShape shape, std::int64_t p, const double* u, Transitions edges, double mu, double* nodes,
                double* edge_out, std::int64_t edge_step, double* work);

 private:
  bool run(RowShape shape, std::int64_t p, const double* u);

  GroupPotentials potentials_;
  ChainGroup group_;
  PairSums pairs_;
  std::vector<double> sums_;
};

}  // namespace casimir
