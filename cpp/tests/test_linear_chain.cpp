#include <limits>

#include "problems.hpp"

using namespace testing;
using casimir::Smoothing;
using casimir::SmoothingKind;

namespace {

/// <scores(w), x> = <w, adjoint(x)> for any x, transitions, start and stop scores included.
void check_adjoint(const casimir::LinearChain& chain, Random& random) {
  const auto stride = static_cast<std::size_t>(chain.shape().stride);
  const auto labels = static_cast<std::size_t>(chain.shape().labels);
  const std::vector<double> v = random.uniforms(chain.dim(), -1.0, 1.0), c = random.uniforms(chain.dim(), -1.0, 1.0);
  std::vector<double> w(v.size());
  for (std::size_t j = 0; j < w.size(); ++j) w[j] = 0.4 * c[j] - 1.5 * v[j];
  const casimir::WeightView view{v.data(), -1.5, c.data(), 0.4};
  for (std::int64_t i = 0; i < chain.size(); ++i) {
    const auto p = static_cast<std::size_t>(chain.length(i));
    casimir::ChainWorkspace work;
    chain.load_weights(view, work);
    work.u.resize(p * stride);
    chain.score_tokens(i, 0, chain.length(i), view, false, work.u.data());
    std::vector<double> x((p + labels) * stride, 0.0), adjoint(w.size(), 0.0);
    double product = 0.0;
    for (std::size_t row = 0; row < p + labels; ++row)
      for (std::size_t l = 0; l < labels; ++l) {
        const double value = x[row * stride + l] = random.uniform(-1.0, 1.0);
        product += value * (row < p ? work.u[row * stride + l] : work.to[(row - p) * stride + l]);
      }
    chain.scatter(i, x.data(), {adjoint.data(), 1.0});
    check_close(product, dot(adjoint, w), 1e-12);
  }
}

/// Tokens scored one by one equal tokens scored together.
void check_single_tokens(const casimir::LinearChain& chain, Random& random) {
  const std::vector<double> w = random.uniforms(chain.dim(), -1.0, 1.0);
  for (std::int64_t i = 0; i < chain.size(); ++i) {
    const std::int64_t p = chain.length(i);
    std::vector<double> together(static_cast<std::size_t>(p * chain.shape().stride)), apart(together);
    chain.score_tokens(i, 0, p, {w.data()}, true, together.data());
    for (std::int64_t t = 0; t < p; ++t) chain.score_tokens(i, t, 1, {w.data()}, true, apart.data());
    check(together == apart);
  }
}

}  // namespace

void test_linear_chain() {
  Random random(4);
  for (const int labels : {1, 2, 8, 9, 13, 33})
    for (const bool real_valued : {false, true}) {
      const auto chains = random_chains(8, labels, real_valued, random);
      const casimir::LinearChain& problem = *chains->problem;
      check_adjoint(problem, random);
      check_single_tokens(problem, random);
      check_scatter_ranges(problem, random);
      check_non_finite_weights(problem, random);
      for (const Smoothing& smoothing :
           {Smoothing{}, Smoothing{SmoothingKind::kL2, 5, 0.8}, Smoothing{SmoothingKind::kEntropy, 1, 0.8}}) {
        check_affine_weights(problem, smoothing, random);
        check_threads(problem, smoothing, random);
      }
      check_gradient(problem, {SmoothingKind::kEntropy, 1, 0.8}, random);
      check_gradient(problem, {SmoothingKind::kL2, 4096, 0.8}, random);
      check_bounds(problem, {SmoothingKind::kL2, 4096, 0.8}, 0.5, random);
      check_bounds(problem, {SmoothingKind::kL2, 3, 0.8}, 0.5, random);
      check_bounds(problem, {SmoothingKind::kEntropy, 1, 0.8}, 5.0 * std::log(labels), random);
    }
  const auto chains = random_chains(8, 3, false, random);
  casimir::LinearTokensData data = chains->problem->data();
  data.y = nullptr;
  check_labels_needed(casimir::LinearChain(data));
}
