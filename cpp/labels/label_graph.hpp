// Sets of labels, some pairs of which interact, and the oracles of one such set.
//
//     score(y) = sum_l on[l] y_l + sum_e pair[e] [y_u = y_v],    y in {0, 1}^q,  e = (u, v)
//
// All examples of a problem have the same graph.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/topk_batch.hpp"

namespace casimir {

struct LabelScores {
  const double* on;    // [labels]
  const double* pair;  // [edges]
};

/// The oracles of one thread. Scores that are not finite give values that are not.
class LabelOracles {
 public:
  virtual ~LabelOracles() = default;

  /// The best score; writes its labels, the first in lexicographic order of those that tie.
  virtual double max(const LabelScores& scores, std::int32_t* y) = 0;
  /// mu logsumexp(score / mu). Writes P(y_l = 1) and P(y_u = y_v) unless these are null.
  virtual double expect(const LabelScores& scores, double mu, double* on, double* equal) = 0;
  /// Adds the k best outputs, sorted; fewer once outputs that are not listed would get no weight in l2 smoothing.
  virtual void best(const LabelScores& scores, std::int64_t k, double mu, TopKBatch& out) = 0;
};

class LabelGraph {
 public:
  virtual ~LabelGraph() = default;
  virtual std::unique_ptr<LabelOracles> oracles() const = 0;

  int labels() const { return labels_; }
  std::int64_t edges() const { return static_cast<std::int64_t>(ends_.size()) / 2; }
  const std::int64_t* ends() const { return ends_.data(); }
  /// Whether the ends of edge e have equal labels.
  template <class Label>
  bool agree(std::int64_t e, const Label* y) const {
    return y[ends_[static_cast<std::size_t>(2 * e)]] == y[ends_[static_cast<std::size_t>(2 * e + 1)]];
  }
  template <class Label>
  double score(const LabelScores& s, const Label* y) const {
    double nodes = 0.0, pairs = 0.0;
    for (int l = 0; l < labels_; ++l)
      if (y[l]) nodes += s.on[l];
    for (std::int64_t e = 0; e < edges(); ++e)
      if (agree(e, y)) pairs += s.pair[e];
    return nodes + pairs;
  }

 protected:
  /// ends: [edges][2]
  LabelGraph(int labels, std::vector<std::int64_t> ends) : labels_(labels), ends_(std::move(ends)) {}

 private:
  int labels_;
  std::vector<std::int64_t> ends_;
};

}  // namespace casimir
