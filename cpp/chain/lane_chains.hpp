// The sum-product of several chains of few labels that share their transitions, one chain a lane: sums over labels need
// no sums over lanes, and no chain waits for its own last step. What a chain gets does not depend on its neighbours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/lanes.hpp"

namespace casimir {

class LaneChains {
 public:
#if defined(__AVX512F__)
  static constexpr int kLanes = 8;
#else
  static constexpr int kLanes = 4;
#endif

  /// Where the scores of a chain are, [length][labels], and where its answers go.
  struct Chain {
    const double* scores;
    std::int64_t length;
    double* nodes;  // [length][labels]
    double* edges;  // [length - 1][labels][labels]
    double value;   // mu logsumexp(score / mu)
    bool is_lost;   // scores are too far apart, or forbidden, for messages in doubles: there is no answer
  };

  /// Whether chains of so many labels and tokens are quicker here than alone.
  static bool takes(std::int64_t length, int labels);

  /// transitions: [labels][labels] (from, to).
  LaneChains(const double* transitions, int labels, double mu);

  /// Answers at most kLanes chains, all of which it takes.
  void run(std::span<Chain> chains);

 private:
  using L = Lanes<kLanes>;
  using V = L::V;

  double* at(std::vector<double>& table, std::int64_t t) const { return table.data() + t * labels_ * kLanes; }
  L::I is_inside(std::int64_t t) const { return lengths_ > static_cast<double>(t); }
  void load(std::span<const Chain> chains);
  V run_backward();
  void run_forward(std::span<const Chain> chains, V first_overlap);
  void multiply(int step_of_out, int step_of_in, const double* in, double* out) const;
  void write_edges(std::span<const Chain> chains);

  int labels_, stride_;
  double mu_, offset_, range_;
  std::vector<double> potentials_;  // [labels][stride]: exp((transitions - offset) / mu), the padding 0

  std::int64_t longest_ = 0;
  V lengths_{};               // of the chains in the lanes
  V value_{}, widest_{};      // sums of the highest scores of tokens; the widest range of a token's scores
  V product_{};               // of scales whose logs are not yet in logs_
  double logs_[kLanes] = {};  // of the scales before
  bool is_lost_[kLanes] = {};
  std::vector<double> left_;    // [longest][labels] lanes: exp(u / mu), scaled; then messages from the left with it
  std::vector<double> right_;   // the same of messages from the right
  std::vector<double> here_;    // [labels] lanes
  std::vector<double> zeros_;   // [labels]
  std::vector<double> before_;  // [longest][lanes][stride]: of the pair that ends in a token, what stands before
  std::vector<double> after_;   // and behind the potential in its marginals
  std::vector<double> nodes_;   // [lanes][stride]: marginals of one token
};

}  // namespace casimir
