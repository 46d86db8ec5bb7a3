#include "solve/online.hpp"

#include <algorithm>
#include <cmath>

namespace casimir {
namespace {

/// The difference x of the features of two outputs of one example, on the weights that are kept.
class Difference {
 public:
  Difference(const Problem& problem, std::span<const std::uint8_t> kept)
      : problem_(problem),
        kept_(kept),
        width_(problem.n_params() / problem.rows()),
        values_(static_cast<std::size_t>(problem.n_params())) {}

  /// x = -J_i^T marginals
  void set(std::int64_t i, const double* marginals) {
    problem_.scatter(i, marginals, {values_.data(), -1.0});
    ranges_.clear();
    problem_.touched(i, ranges_);
    std::sort(ranges_.begin(), ranges_.end());
    ranges_.erase(std::unique(ranges_.begin(), ranges_.end()), ranges_.end());
    places_.clear();
    for (const RowRange& range : ranges_)
      for (std::int64_t j = range.first * width_; j < range.second * width_; ++j)
        if (values_[at(j)] != 0.0) {
          if (kept_[at(j)]) places_.emplace_back(j, values_[at(j)]);
          values_[at(j)] = 0.0;
        }
  }

  /// Calls visit(j, x_j) where x_j is not 0.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [j, x] : places_) visit(at(j), x);
  }

 private:
  static std::size_t at(std::int64_t j) { return static_cast<std::size_t>(j); }

  const Problem& problem_;
  std::span<const std::uint8_t> kept_;
  std::int64_t width_;
  std::vector<double> values_;
  std::vector<RowRange> ranges_;
  std::vector<std::pair<std::int64_t, double>> places_;
};

/// How many labels of example i are wrong, given marginals of an output less those of the truth; nodes stand first.
double wrong_labels(const Problem& problem, std::int64_t i, const double* marginals) {
  const std::int64_t nodes = problem.output_offset(i + 1) - problem.output_offset(i);
  const std::int64_t width = problem.n_params() / problem.rows();
  double wrong = 0.0;
  for (std::int64_t j = 0; j < nodes * width; ++j) wrong += std::max(marginals[j], 0.0);
  return wrong;
}

double cost_of(const OnlineRule& rule, double excess, double wrong) {
  if (rule.kind == OnlineKind::kArow) return excess + wrong;
  return excess + (rule.counts_labels ? std::sqrt(wrong) : 1.0);
}

double step_length(const OnlineRule& rule, double cost, double q) {
  if (rule.kind == OnlineKind::kPerceptron) return 1.0;
  if (rule.kind == OnlineKind::kArow) return cost / (rule.gamma + q);
  if (q == 0.0) return 0.0;  // no weight that is kept tells the outputs apart
  if (rule.slack == 0) return cost / q;
  return rule.slack == 1 ? std::min(rule.c, cost / q) : cost / (q + 0.5 / rule.c);
}

}  // namespace

double online_epoch(const Problem& problem, Order order, const OnlineRule& rule, std::span<const std::uint8_t> kept,
                    double first, MutableVector w, MutableVector sum, MutableVector variance) {
  check_order(problem, order);
  check_size(w.size(), problem.n_params(), "w");
  check_size(kept.size(), problem.n_params(), "kept");
  if (!sum.empty()) check_size(sum.size(), problem.n_params(), "sum");
  if (!variance.empty() || rule.kind == OnlineKind::kArow) check_size(variance.size(), problem.n_params(), "variance");

  const auto work = problem.workspace();
  const WeightView view{w.data()};
  MarginalBuffer buffer(problem);
  Difference difference(problem, kept);
  double loss = 0.0;
  for (std::size_t t = 0; t < order.size(); ++t) {
    const std::int64_t i = order[t];
    prefetch_ahead(problem, order, t, view);
    problem.load_weights(view, *work);
    double* x = buffer.of(i);
    const Answer answer = problem.oracle(i, view, {}, *work, x);
    problem.subtract_truth(i, x);
    const double wrong = wrong_labels(problem, i, x);
    if (wrong == 0.0) continue;

    difference.set(i, x);
    double q = 0.0;
    difference.for_each([&](std::size_t j, double d) { q += d * d * (variance.empty() ? 1.0 : variance[j]); });
    const double cost = cost_of(rule, answer.value, wrong), alpha = step_length(rule, cost, q);
    const double number = first + static_cast<double>(t);
    difference.for_each([&](std::size_t j, double d) {
      const double step = alpha * d * (variance.empty() ? 1.0 : variance[j]);
      w[j] += step;
      if (!sum.empty()) sum[j] += number * step;
      if (!variance.empty()) variance[j] = 1.0 / (1.0 / variance[j] + d * d / rule.gamma);
    });
    const auto length = static_cast<double>(problem.output_offset(i + 1) - problem.output_offset(i));
    loss += rule.kind == OnlineKind::kPerceptron ? wrong / length : cost;
  }
  return loss;
}

}  // namespace casimir
