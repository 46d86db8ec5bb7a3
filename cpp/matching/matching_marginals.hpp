// Max-marginals of a matching [algo:top_k_map:graph_matchings, with the weights of the residual graph corrected].
#pragma once

#include <vector>

#include "matching/assignment.hpp"

namespace casimir {

/// best(v, z) = value + [match(v) != z] (gain(v, z) + Delta(z, v)), Delta(z, v) the heaviest chain of changes from the
/// holder of z to v. All Delta by Floyd and Warshall's algorithm on gains <= 0, rows and pool as nodes.
class MatchingMarginals {
 public:
  void run(const WeightTable&, const Assignment& a, double value, double* out);

 private:
  void first_steps(const WeightTable&, const Assignment& a);
  void close();

  std::size_t stride_ = 0, nodes_ = 0;
  std::vector<double> delta_;  // [node][node]: the heaviest chain of changes from one to the other
};

}  // namespace casimir
