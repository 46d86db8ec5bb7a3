#include <cmath>
#include <limits>
#include <tuple>

#include "problems.hpp"

using namespace testing;
using casimir::LinearClasses;
using casimir::Smoothing;
using casimir::SmoothingKind;

namespace {

/// The scores of an example are the product of its features and the weights, whatever the storage.
void check_scores(const ClassArrays& arrays, std::int64_t dim, double bias, Random& random) {
  const LinearClasses& dense = *arrays.dense;
  const std::vector<double> w = random.uniforms(dense.n_params(), -1.0, 1.0);
  const auto stride = static_cast<std::size_t>(dense.shape().stride);
  std::vector<double> u(stride);
  for (const LinearClasses* problem : {arrays.sparse.get(), arrays.dense.get(), arrays.dense32.get()})
    for (std::int64_t i = 0; i < dense.n_examples(); ++i) {
      problem->score(i, {w.data()}, u.data());
      for (int l = 0; l < dense.shape().labels; ++l) {
        double expected = dense.cost_of(i, l);
        for (std::int64_t j = 0; j < dim; ++j)
          expected += arrays.f64[static_cast<std::size_t>(i * dim + j)] * w[static_cast<std::size_t>(j) * stride + l];
        if (bias != 0.0) expected += bias * w[static_cast<std::size_t>(dim) * stride + l];
        check_close(u[static_cast<std::size_t>(l)], expected, 1e-12);
      }
      for (std::size_t l = static_cast<std::size_t>(dense.shape().labels); l < stride; ++l)
        check(u[l] == -std::numeric_limits<double>::infinity());
    }
}

void check_problem(LinearClasses& problem, int labels, Random& random) {
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
  check_bounds(problem, {SmoothingKind::kEntropy, 1, 0.8}, std::log(static_cast<double>(labels)), random);
}

}  // namespace

void test_classes() {
  Random random(11);
  for (const auto& [dim, labels, bias] :
       {std::tuple{1, 2, 0.0}, {5, 3, 0.5}, {8, 8, 0.0}, {9, 14, -1.0}, {7, 21, 2.0}, {6, 29, 0.0}, {7, 35, 1.0}}) {
    const auto arrays = random_classes(12, dim, labels, bias, random);
    check_scores(*arrays, dim, bias, random);
    for (LinearClasses* problem : {arrays->sparse.get(), arrays->dense.get(), arrays->dense32.get()})
      check_problem(*problem, labels, random);
    check_same_losses(*arrays->sparse, *arrays->dense, random);
    casimir::LinearClassesData data = arrays->dense->data();
    data.y = nullptr;
    check_without_truth(LinearClasses(data), random);
    const std::vector<double> truth = truth_of(*arrays->dense);
    data.truth = truth.data();
    check_same_losses(*arrays->dense, LinearClasses(data), random);
  }
}
