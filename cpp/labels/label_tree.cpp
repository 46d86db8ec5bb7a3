#include "labels/label_tree.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/lanes.hpp"
#include "tree/tree_kbest.hpp"
#include "tree/tree_max.hpp"
#include "tree/tree_sum.hpp"
#include "tree/tree_ties.hpp"

namespace casimir {
namespace {

constexpr double kNearTie = 0x1p-44;  // of the sum of all scores: margins that rounding might have turned
constexpr double kLargestLog = 600.0;

std::vector<std::int64_t> ends_of(std::span<const std::int64_t> parents, std::span<const std::int64_t> children) {
  std::vector<std::int64_t> ends;
  const auto nodes = static_cast<std::int64_t>(parents.size());
  std::vector<char> seen(parents.size(), 0);
  for (const std::int64_t child : children) {
    if (child < 0 || child >= nodes || parents[static_cast<std::size_t>(child)] < 0 ||
        seen[static_cast<std::size_t>(child)]++)
      throw std::invalid_argument("children must name every node that has a parent, once.");
    ends.push_back(child);
    ends.push_back(parents[static_cast<std::size_t>(child)]);
  }
  const auto inner = std::count_if(parents.begin(), parents.end(), [](std::int64_t above) { return above >= 0; });
  if (static_cast<std::size_t>(inner) != children.size())
    throw std::invalid_argument("children must name every node that has a parent, once.");
  return ends;
}

class TreeOracles final : public LabelOracles {
 public:
  explicit TreeOracles(const LabelTree& tree)
      : tree_(tree),
        node_(tree.order().node.data()),
        parent_(tree.order().parent.data()),
        q_(tree.labels()),
        gain_(padded(q_)),
        odds_(padded(q_)),
        pair_odds_(padded(tree.edges())),
        on_(padded(q_)),
        nodes_(static_cast<std::size_t>(2 * q_)),
        pairs_(static_cast<std::size_t>(4 * q_)),
        edge_marginals_(pairs_.size()),
        found_(static_cast<std::size_t>(q_)) {}

  double max(const LabelScores& s, std::int32_t* y) override {
    const double tie = kNearTie * magnitude(s);
    for (std::int64_t t = 0; t < q_; ++t) gain_[index(t)] = s.on[node_[t]];
    for (std::int64_t t = q_ - 1; t >= 0; --t) {
      if (parent_[t] < 0) continue;
      const double b = gain_[index(t)], J = s.pair[tree_.edge(t)];
      gain_[index(parent_[t])] += std::max(0.0, b + J) - std::max(J, b);
    }
    for (std::int64_t t = 0; t < q_; ++t) {
      double margin = gain_[index(t)];
      if (parent_[t] >= 0) {
        const double J = s.pair[tree_.edge(t)];
        margin += y[node_[parent_[t]]] ? J : -J;
      }
      y[node_[t]] = margin > 0.0 ? 1 : 0;
      if (!(std::abs(margin) > tie)) return max_of_ties(s, y);
    }
    return tree_.score(s, y);
  }

  double expect(const LabelScores& s, double mu, double* on, double* equal) override {
    if (!(magnitude(s) / mu + static_cast<double>(q_) < kLargestLog)) return expect_in_logs(s, mu, on, equal);
    exponentials(s.on, q_, mu, on_.data());
    exponentials(s.pair, tree_.edges(), mu, pair_odds_.data());
    for (std::int64_t t = 0; t < q_; ++t) odds_[index(t)] = on_[index(node_[t])];
    double total = 1.0;
    for (std::int64_t t = q_ - 1; t >= 0; --t) {
      const double o = odds_[index(t)], E = pair_odds(t);
      total *= E + o;
      if (parent_[t] >= 0) odds_[index(parent_[t])] *= (1.0 + o * E) / (E + o);
    }
    if (on) marginals(on, equal);
    return mu * std::log(total);
  }

  void best(const LabelScores& s, std::int64_t k, double mu, TopKBatch& out) override {
    max_.run(view(s));
    kbest_.run(max_, k, mu);
    out.add(kbest_.count(), kbest_.values(), kbest_.labels(), q_);
  }

 private:
  static std::size_t index(std::int64_t t) { return static_cast<std::size_t>(t); }
  static std::size_t padded(std::int64_t count) { return static_cast<std::size_t>((count + 7) / 8 * 8); }
  /// Of the edge above a position; 1 at roots.
  double pair_odds(std::int64_t t) const { return parent_[t] < 0 ? 1.0 : pair_odds_[index(tree_.edge(t))]; }

  double magnitude(const LabelScores& s) const {
    double sum = 0.0;
    for (std::int64_t l = 0; l < q_; ++l) sum += std::abs(s.on[l]);
    for (std::int64_t e = 0; e < tree_.edges(); ++e) sum += std::abs(s.pair[e]);
    return sum;
  }

  /// out[j] = exp(x[j] / mu); out has room for whole vectors.
  static void exponentials(const double* x, std::int64_t count, double mu, double* out) {
    using L = Lanes<8>;
    std::copy_n(x, count, out);
    for (std::int64_t j = 0; j < count; j += 8) L::store(out + j, L::exp(L::load(out + j) / mu));
  }

  /// From the roots down: P(y_t = 1 | label of the parent) comes from the odds.
  void marginals(double* on, double* equal) const {
    for (std::int64_t t = 0; t < q_; ++t) {
      const double o = odds_[index(t)], E = pair_odds(t);
      if (parent_[t] < 0) {
        on[node_[t]] = o / (1.0 + o);
        continue;
      }
      const double p = on[node_[parent_[t]]], both = p * (o * E / (1.0 + o * E)), under_zero = 1.0 / (E + o);
      on[node_[t]] = both + (1.0 - p) * (o * under_zero);
      equal[tree_.edge(t)] = both + (1.0 - p) * (E * under_zero);
    }
  }

  /// The same scores as those of a tree with two labels.
  TreeView view(const LabelScores& s) {
    for (std::int64_t l = 0; l < q_; ++l) nodes_[index(2 * l)] = 0.0, nodes_[index(2 * l + 1)] = s.on[l];
    for (std::int64_t t = 0; t < q_; ++t) {
      double* pair = pairs_.data() + 4 * node_[t];
      pair[0] = pair[3] = parent_[t] < 0 ? 0.0 : s.pair[tree_.edge(t)];
      pair[1] = pair[2] = 0.0;
    }
    return {2, q_, node_, parent_, tree_.order().subtree.data(), nodes_.data(), pairs_.data(), 4};
  }

  double max_of_ties(const LabelScores& s, std::int32_t* y) {
    max_.run(view(s));
    if (max_.decode(found_.data())) {
      for (std::int64_t t = 0; t < q_; ++t) y[node_[t]] = found_[index(t)];
    } else {
      ties_.start(max_);
      ties_.list([&](const std::vector<std::int64_t>& first) {
        std::copy(first.begin(), first.end(), y);
        return false;
      });
    }
    return max_.top();
  }

  double expect_in_logs(const LabelScores& s, double mu, double* on, double* equal) {
    std::vector<double>& nodes = node_marginals_;
    nodes.resize(nodes_.size());
    const double value = sum_.run(view(s), mu, nodes.data(), edge_marginals_.data());
    if (!on) return value;
    for (std::int64_t l = 0; l < q_; ++l) on[l] = nodes[index(2 * l + 1)];
    for (std::int64_t t = 0; t < q_; ++t) {
      const double* pair = edge_marginals_.data() + 4 * node_[t];
      if (parent_[t] >= 0) equal[tree_.edge(t)] = pair[0] + pair[3];
    }
    return value;
  }

  const LabelTree& tree_;
  const std::int64_t *node_, *parent_;
  std::int64_t q_;
  std::vector<double> gain_, odds_, pair_odds_, on_;
  std::vector<double> nodes_, pairs_, node_marginals_, edge_marginals_;
  std::vector<std::int32_t> found_;
  TreeMax max_;
  TiedOutputs ties_;
  TreeKBest kbest_;
  TreeSum sum_;
};

}  // namespace

LabelTree::LabelTree(std::span<const std::int64_t> parents, std::span<const std::int64_t> children)
    : LabelGraph(static_cast<int>(parents.size()), ends_of(parents, children)), edge_(parents.size(), -1) {
  const std::int64_t offsets[] = {0, static_cast<std::int64_t>(parents.size())};
  order_ = tree_order(parents.data(), offsets, 1);
  std::vector<std::int64_t> above(parents.size(), -1);  // by node
  for (std::size_t e = 0; e < children.size(); ++e)
    above[static_cast<std::size_t>(children[e])] = static_cast<std::int64_t>(e);
  for (std::size_t t = 0; t < edge_.size(); ++t) edge_[t] = above[static_cast<std::size_t>(order_.node[t])];
}

std::unique_ptr<LabelOracles> LabelTree::oracles() const { return std::make_unique<TreeOracles>(*this); }

}  // namespace casimir
