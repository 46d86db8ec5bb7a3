// Chains whose unary scores are linear in sparse token features, with shared transitions, start and stop scores.
//
// Rows of w, each `stride` doubles: n_features unary rows, `labels` transition rows [from][to], start, stop; then those
// of features of edges, where there are any. With them every edge has transitions and marginals of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/spare.hpp"
#include "base/topk_batch.hpp"
#include "chain/allowed_sums.hpp"
#include "chain/edge_features.hpp"
#include "chain/kbest.hpp"
#include "chain/unfolding.hpp"
#include "weights/linear_tokens.hpp"

namespace casimir {

struct ChainWorkspace final : Workspace {
  std::vector<double> u, beta, best, to, from, work, weights, marginals;
  std::vector<double> edge_to, edge_from;  // `to` and `from` of every edge, where edges have features
  std::vector<std::int32_t> path;
  Potentials potentials;  // of `to`
  AllowedScores allowed;  // of `to`, where few pairs are allowed; `from` is empty then
  AllowedSums allowed_sums;
  KBest kbest;
  WideChain wide;  // with an automaton
};

class LinearChain final : public LinearTokens {
 public:
  /// automaton: what it makes of the labels, where one says which sequences are valid. It has no features of edges.
  explicit LinearChain(const LinearTokensData& data, UnfoldingData automaton = {}, const EdgeFeatureData& edges = {});

  std::unique_ptr<Workspace> workspace() const override { return std::make_unique<ChainWorkspace>(); }
  void load_weights(const WeightView& w, Workspace& work) const override;
  Answer oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& work,
                double* marginals) const override;
  void scores(std::int64_t i, const WeightView& w, Workspace& work, double* out) const override;
  double expect(std::int64_t i, const double* scores, double mu, Workspace& work, double* marginals) const override;
  std::unique_ptr<BlockNorm> block_norm() const override;
  void subtract_truth(std::int64_t i, double* marginals) const override;
  void scatter(std::int64_t i, const double* marginals, const ScatterTarget& target) const override;
  void collect(std::int64_t i, const double* marginals, MarginalList& list) const override;
  void scatter_list(const MarginalList& list, const ScatterTarget& target) const override;
  void touched(std::int64_t i, std::vector<RowRange>& ranges) const override;
  void decode(const double* w, int threads, std::int64_t* labels, double* values) const override;
  /// The k best outputs of every example, fixed scores included; with sums, sums[i] = mu logsumexp(score / mu).
  TopKBatch topk(const double* w, std::int64_t k, double mu, int threads, double* sums) const;
  /// Chains of many labels run in groups.
  void pass_together(const WeightView& w, const Smoothing& smoothing, int threads, Answer* answers,
                     std::span<double> gradient, std::vector<char>& done) const override;
  std::unique_ptr<DualBlocks> dual_blocks(int threads) const override;
  /// Scores of all tokens without padding, [tokens][labels], start, stop and fixed scores included.
  void all_token_scores(const double* w, int threads, double* out) const;

  /// The transition scores, fixed ones included, as rows [from][to]; the padding of a row is -inf. Where few pairs are
  /// allowed only these are written to a `to` that was loaded before.
  void load_transitions(const WeightView& w, std::vector<double>& to) const;
  /// Scores of tokens [first, first + count) of example i into u at the same positions, start, stop and fixed scores
  /// included.
  void score_tokens(std::int64_t i, std::int64_t first, std::int64_t count, const WeightView& w, double* u) const;
  /// Scores of the edge that ends in token t of example i, which has features; call load_weights and make_room first.
  void score_edge(std::int64_t i, std::int64_t t, const WeightView& w, ChainWorkspace& work) const;
  /// Scores of all tokens and edges.
  void score_example(std::int64_t i, const WeightView& w, ChainWorkspace& work) const;
  /// For the scores of example i.
  void make_room(std::int64_t i, ChainWorkspace& work) const;
  /// Runs max-product on the scores in work; the best labels are in work.path. Returns the best score.
  double best_path(std::int64_t p, ChainWorkspace& work) const;
  double path_score(std::int64_t p, const std::int32_t* labels, const ChainWorkspace& work) const {
    return path_score(p, labels, work.u.data(), transitions(work));
  }
  double path_score(std::int64_t p, const std::int32_t* labels, const double* u, Transitions edges) const;
  double truth_score(std::int64_t i, const ChainWorkspace& work) const;
  /// ell_i(y), the fixed score of y less that of the truth.
  double cost_of(std::int64_t i, const std::int32_t* labels) const {
    return fixed_score(i, labels) - fixed_of_truth(i);
  }

  Transitions transitions(const ChainWorkspace& work) const {
    if (edges_) return {work.edge_to.data(), work.edge_from.data(), edge_step()};
    return {work.to.data(), work.from.data(), 0, allowed_ ? &work.allowed : nullptr};
  }
  const EdgeFeatures& edges() const { return edges_; }
  std::int64_t start_row() const { return data_.n_features + shape_.labels; }
  std::int64_t stop_row() const { return start_row() + 1; }

 private:
  struct Oracles;
  class Together;
  /// What the oracles of a chain run on: its own scores, or those of its unfolding.
  struct Lattice {
    const ChainOps& ops;
    RowShape shape;
    const double* u;
    Transitions edges;
  };

  bool allows_truth() const;
  std::int64_t weight_rows() const override { return stop_row() + 1 + edges_.rows(); }

  /// Doubles from the pairs of one edge to those of the next; 0: all edges share theirs.
  std::int64_t edge_step() const { return edges_ ? static_cast<std::int64_t>(shape_.labels) * shape_.stride : 0; }
  /// What oracles read besides rows [from][to] of pairs that all edges share.
  void load_pairs(const double* to, ChainWorkspace& work) const;
  /// Rows [to][from] of rows [from][to]; the padding of a row is -inf.
  void transpose(const double* to, double* from) const;
  double fixed_score(std::int64_t i, const std::int32_t* labels) const;
  void add_output(std::int64_t p, const std::int32_t* labels, double weight, double* marginals) const;
  Lattice lattice(std::int64_t p, const double* u, Transitions edges, ChainWorkspace& work) const;
  /// Tables of max-product in work.beta and work.best.
  void max_product(std::int64_t p, const Lattice& run, ChainWorkspace& work) const;
  /// mu logsumexp(score / mu); its marginals by token, and by pair, which are added.
  double sum_product(std::int64_t p, const Lattice& run, double mu, ChainWorkspace& work, double* marginals) const;

  /// The best labels of one chain, their score, and that of the truth, 0 where there is none.
  struct BestPath {
    const std::int32_t* labels;
    double score, of_truth;
  };
  /// Those of the chains of all groups, which any thread may see.
  void best_paths_together(const WeightView& w, int threads, const std::vector<std::vector<std::int64_t>>& plan,
                           const std::function<void(std::int64_t i, const BestPath&)>& see) const;
  /// Whether chains can run in groups.
  bool has_groups() const {
    return shape_.labels >= kFewestLabelsOfGroups && n_examples() > 1 && !edges_ && !unfolding_;
  }
  /// Examples that count, in groups of about the same length.
  std::vector<std::vector<std::int64_t>> groups() const;
  /// pass_together without smoothing.
  void max_together(const WeightView& w, int threads, Answer* answers, std::span<double> gradient,
                    std::vector<char>& done) const;

  Unfolding unfolding_;
  EdgeFeatures edges_;
  AllowedPairs allowed_;                                   // where they are few, and the truth has no others
  mutable Spare memory_of_passes_, memory_of_max_passes_;  // of chains together
};

}  // namespace casimir
