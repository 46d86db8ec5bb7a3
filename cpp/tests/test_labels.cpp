// Sets of labels: oracles of graphs against all outputs listed, and what holds for every problem.
#include <limits>

#include "labels/label_tree.hpp"
#include "labels/linear_labels.hpp"
#include "labels/pairwise_labels.hpp"
#include "problems.hpp"

using namespace testing;
using casimir::LabelGraph;
using casimir::LabelScores;
using casimir::LinearLabels;
using casimir::Smoothing;
using casimir::SmoothingKind;

namespace {

using Output = std::vector<std::int32_t>;

/// All outputs in lexicographic order.
std::vector<Output> all_outputs(int labels) {
  std::vector<Output> outputs;
  for (int number = 0; number < 1 << labels; ++number) {
    Output y;
    for (int l = labels - 1; l >= 0; --l) y.push_back(number >> l & 1);
    outputs.push_back(y);
  }
  return outputs;
}

/// Of several best outputs the first, and the K best in order.
void check_best(const LabelGraph& graph, const LabelScores& s) {
  const auto oracles = graph.oracles();
  std::vector<std::pair<double, Output>> listed;
  for (const Output& y : all_outputs(graph.labels())) listed.emplace_back(-graph.score(s, y.data()), y);
  std::sort(listed.begin(), listed.end());
  Output y(static_cast<std::size_t>(graph.labels()));
  check_close(oracles->max(s, y.data()), -listed[0].first, 1e-12);
  check(y == listed[0].second);
  casimir::TopKBatch best;
  oracles->best(s, 5, std::numeric_limits<double>::infinity(), best);
  check_equal(static_cast<std::int64_t>(best.values.size()), std::min<std::int64_t>(5, 1 << graph.labels()));
  for (std::size_t k = 0; k < best.values.size(); ++k) {
    check_close(best.values[k], -listed[k].first, 1e-12);
    check(std::equal(listed[k].second.begin(), listed[k].second.end(),
                     best.labels.begin() + static_cast<std::int64_t>(k) * graph.labels()));
  }
}

void check_expect(const LabelGraph& graph, const LabelScores& s, double mu) {
  const auto oracles = graph.oracles();
  double top = -std::numeric_limits<double>::infinity(), total = 0.0;
  const auto outputs = all_outputs(graph.labels());
  for (const Output& y : outputs) top = std::max(top, graph.score(s, y.data()));
  std::vector<double> on(static_cast<std::size_t>(graph.labels()), 0.0), expected_on(on);
  std::vector<double> equal(static_cast<std::size_t>(graph.edges()), 0.0), expected_equal(equal);
  for (const Output& y : outputs) {
    const double weight = std::exp((graph.score(s, y.data()) - top) / mu);
    total += weight;
    for (std::size_t l = 0; l < on.size(); ++l) expected_on[l] += weight * y[l];
    for (std::size_t e = 0; e < equal.size(); ++e)
      expected_equal[e] += graph.agree(static_cast<std::int64_t>(e), y.data()) ? weight : 0.0;
  }
  const double value = oracles->expect(s, mu, on.data(), equal.data());
  check_close(value, top + mu * std::log(total), 1e-12);
  check_close(oracles->expect(s, mu, nullptr, nullptr), value, 1e-12);
  for (std::size_t l = 0; l < on.size(); ++l) check_close(on[l], expected_on[l] / total, 1e-12);
  for (std::size_t e = 0; e < equal.size(); ++e) check_close(equal[e], expected_equal[e] / total, 1e-12);
}

/// Scores of all sizes, and small whole numbers, of which many outputs tie.
void check_oracles(const LabelGraph& graph, bool attractive, Random& random) {
  for (const double size : {0.0, 1.0, 10.0, 1000.0})
    for (const bool whole : {false, true}) {
      auto on = random.uniforms(graph.labels(), -size, size);
      auto pair = random.uniforms(graph.edges(), attractive ? 0.0 : -size, size);
      for (auto* scores : {&on, &pair})
        for (double& score : *scores) score = whole ? std::round(score / std::max(size, 1.0) * 2.0) : score;
      const LabelScores s{on.data(), pair.data()};
      check_best(graph, s);
      if (attractive)
        check_refused([&] { graph.oracles()->expect(s, 1.0, nullptr, nullptr); });
      else
        for (const double mu : {0.1, 1.0}) check_expect(graph, s, mu);
    }
}

std::vector<std::int64_t> all_pairs(int labels) {
  std::vector<std::int64_t> ends;
  for (int u = 0; u < labels; ++u)
    for (int v = u + 1; v < labels; ++v) ends.insert(ends.end(), {u, v});
  return ends;
}

std::shared_ptr<const LabelGraph> random_tree(int labels, Random& random) {
  std::vector<std::int64_t> parents, children;
  for (int l = 0; l < labels; ++l) {
    parents.push_back(random.below(l + 1) - 1);
    if (parents.back() >= 0) children.push_back(l);
  }
  std::reverse(children.begin(), children.end());
  return std::make_shared<casimir::LabelTree>(parents, children);
}

struct LabelArrays {
  std::unique_ptr<ClassArrays> x;
  std::vector<std::int32_t> y;
  std::vector<double> fixed;
  std::unique_ptr<LinearLabels> problem;
};

std::unique_ptr<LabelArrays> random_labels(std::shared_ptr<const LabelGraph> graph, bool sparse, Random& random) {
  auto arrays = std::make_unique<LabelArrays>();
  const std::int64_t n = 10, cells = n * graph->labels();
  arrays->x = random_classes(n, 3, graph->labels(), 0.5, random);
  for (std::int64_t j = 0; j < cells; ++j) arrays->y.push_back(static_cast<std::int32_t>(random.below(2)));
  arrays->fixed = random.uniforms(2 * cells, 0.2, 1.0);
  const casimir::FeatureRows& features = (sparse ? arrays->x->sparse : arrays->x->dense)->features();
  arrays->problem = std::make_unique<LinearLabels>(
      casimir::LinearLabelsData{n, features, std::move(graph), arrays->y.data(), nullptr, arrays->fixed.data()});
  return arrays;
}

void check_problem(LinearLabels& problem, Random& random) {
  check_scatter_ranges(problem, random);
  check_touched(problem, random);
  check_scales(problem, {SmoothingKind::kL2, 3, 0.8}, random);
  check_non_finite_weights(problem, random);
  for (const Smoothing& smoothing :
       {Smoothing{}, Smoothing{SmoothingKind::kL2, 3, 0.8}, Smoothing{SmoothingKind::kEntropy, 1, 0.8}}) {
    check_affine_weights(problem, smoothing, random);
    check_threads(problem, smoothing, random);
  }
  check_gradient(problem, {SmoothingKind::kEntropy, 1, 0.8}, random);
  check_gradient(problem, {SmoothingKind::kL2, 100, 0.8}, random);
  check_bounds(problem, {SmoothingKind::kL2, 3, 0.8}, 0.5, random);
  check_bounds(problem, {SmoothingKind::kEntropy, 1, 0.8}, problem.shape().labels * std::log(2.0), random);
  casimir::LinearLabelsData data = problem.data();
  const std::vector<double> truth = truth_of(problem);
  data.y = nullptr;
  check_without_truth(LinearLabels(data), random);
  data.truth = truth.data();
  check_same_losses(problem, LinearLabels(data), random);
}

}  // namespace

void test_labels() {
  Random random(12);
  for (int labels = 1; labels <= 6; ++labels) {
    const std::vector<std::int64_t> pairs = all_pairs(labels);
    const auto tree = random_tree(labels, random);
    const auto junction = std::make_shared<casimir::LabelJunction>(labels, pairs, 1e6);
    check_oracles(*tree, false, random);
    check_oracles(*junction, false, random);
    check_oracles(casimir::LabelCut(labels, pairs), true, random);
    for (const bool sparse : {false, true}) {
      check_problem(*random_labels(tree, sparse, random)->problem, random);
      check_problem(*random_labels(junction, sparse, random)->problem, random);
    }
  }
}
