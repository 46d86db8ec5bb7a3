// Block-coordinate dual ascent on hinge losses and losses smoothed by the entropy: exponentiated gradient steps, one
// example at a time.
//
//     D = sum_i p_i ell_i - R*(-g),   ell_i = <u_i, cost_i> + mu H(u_i),   g = sum_i p_i A_i^T u_i
//
// Example i keeps log-potentials theta_i, scores of parts, and u_i ~ exp(theta_i / mu) is the distribution over its
// outputs. At the primal point w, with s the scores of the parts, costs included, a visit moves
//
//     theta_i <- (1 - eta) theta_i + eta s,
//
// which raises D for small eta. The entropy is mu H(u) = mu logsumexp(theta / mu) - <theta, u>, so one exp oracle tells
// what a step of some eta does. A hinge loss is mu = 0: u_i ~ exp(theta_i), and theta_i <- theta_i + eta s.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "solve/dual.hpp"
#include "solve/problem.hpp"

namespace casimir {

class PotentialBlocks {
 public:
  /// All weight on the truth, so that g = 0. mu = 0: a hinge loss. eta: the length of every step; 0: searched for.
  PotentialBlocks(const Problem& problem, double mu, double eta);

  /// Visits the examples of `order` whose last gap is at least skip_below times the mean.
  PassResult pass(std::span<const std::int64_t> order, double skip_below, const DualIterate& iterate);

  static constexpr std::size_t kNumbers = 4;  // of an example, beside potentials and marginals
  const std::pmr::vector<double>& potentials() const { return potentials_; }
  const std::pmr::vector<double>& marginals() const { return marginals_; }
  /// [n][kNumbers]
  std::vector<double> numbers() const;
  /// Goes on from those of blocks of the same problem.
  void restore(std::span<const double> potentials, std::span<const double> marginals, std::span<const double> numbers);

  const Problem& problem() const { return problem_; }
  /// sum_i p_i ell_i
  double ell() const;

 private:
  /// What one example keeps beside potentials and marginals.
  struct Block {
    double entropy = 0.0;  // mu H(u)
    double ell = 0.0;
    double gap = 0.0;  // an estimate of max^mu { s } - (mu H(u) + <u, s>), s the scores at the last visit
    double eta = 0.0;  // of the next step; 0: never visited
  };
  struct Trial;

  bool is_log() const { return mu_ > 0.0; }
  void begin(std::int64_t i);
  std::int64_t visit(std::int64_t i, const DualIterate& iterate);
  Trial attempt(std::int64_t i, double eta, double before, double curvature);
  void take(std::int64_t i, const DualIterate& iterate, const Trial& trial);
  double mean_gap() const;

  const Problem& problem_;
  const double mu_, temperature_, fixed_eta_;
  std::pmr::vector<double> potentials_, marginals_;  // of all examples
  std::pmr::vector<Block> blocks_;
  std::unique_ptr<BlockNorm> norm_;
  // Scratch of the visit under way.
  std::unique_ptr<Workspace> work_;
  std::vector<double> scores_, new_potentials_, new_marginals_, change_;
  std::vector<std::int64_t> chosen_;
  std::vector<RowRange> rows_;
};

}  // namespace casimir
