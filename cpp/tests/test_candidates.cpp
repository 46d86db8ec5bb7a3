#include "base/simplex.hpp"
#include "problems.hpp"

using namespace testing;
using casimir::Smoothing;
using casimir::SmoothingKind;

namespace {

std::vector<double> augmented_scores(const CandidateArrays& lists, std::int64_t i, const std::vector<double>& w) {
  std::vector<double> scores;
  for (std::int64_t j = lists.offsets[static_cast<std::size_t>(i)]; j < lists.offsets[static_cast<std::size_t>(i) + 1];
       ++j) {
    double score = lists.cost[static_cast<std::size_t>(j)];
    for (std::size_t f = 0; f < w.size(); ++f) score += lists.f64[static_cast<std::size_t>(j) * w.size() + f] * w[f];
    scores.push_back(score);
  }
  return scores;
}

/// The l2 smoothing is the projection of all scores; the top-K strategy is exact when it has no weight to give
/// elsewhere.
void check_l2_by_projection(const CandidateArrays& lists, double mu, Random& random) {
  const std::vector<double> w = random.uniforms(lists.problem->n_params(), -1.0, 1.0);
  for (std::int64_t i = 0; i < lists.problem->n_examples(); ++i) {
    const std::vector<double> z = augmented_scores(lists, i, w);
    std::vector<double> u = z;
    for (double& value : u) value /= mu;
    casimir::project_simplex(u.data(), u.size());
    const auto support = std::count_if(u.begin(), u.end(), [](double value) { return value > 0.0; });
    const double truth = z[static_cast<std::size_t>(lists.y[static_cast<std::size_t>(i)])];
    for (const std::int64_t k : {1, 2, 3, 100}) {
      std::vector<double> marginals;
      const auto answer = answer_of(*lists.problem, i, {w.data()}, {SmoothingKind::kL2, k, mu}, &marginals);
      const double value = dot(u, z) - 0.5 * mu * (dot(u, u) - 1.0) - truth;
      check(answer.exact == (support <= k));
      check(answer.value <= value + 1e-12 && value <= answer.upper + 1e-12);
      if (!answer.exact) continue;
      check_close(answer.value, value, 1e-12);
      for (std::size_t j = 0; j < u.size(); ++j) check_close(marginals[j], u[j], 1e-12);
    }
  }
}

void check_storages_agree(const CandidateArrays& lists, Random& random) {
  const std::vector<double> w = random.uniforms(lists.problem->n_params(), -1.0, 1.0);
  const Smoothing smoothing{SmoothingKind::kEntropy, 1, 1.0};
  const auto wide = sum_of_gradients(*lists.problem, w, smoothing, 1);
  for (const auto* problem : {lists.problem32.get(), lists.problem16.get()}) {
    const auto narrow = sum_of_gradients(*problem, w, smoothing, 1);
    for (std::size_t j = 0; j < wide.size(); ++j) check_close(narrow[j], wide[j], 1e-13);
  }
}

/// Equal rows have equal scores, bit for bit, wherever they stand: ties are ties.
void check_equal_rows(std::int64_t dim, Random& random) {
  const std::int64_t count = 11;
  const std::vector<double> row = random.uniforms(dim, -1.0, 1.0), w = random.uniforms(dim, -1.0, 1.0);
  std::vector<double> features, scores(static_cast<std::size_t>(count));
  for (std::int64_t j = 0; j < count; ++j) features.insert(features.end(), row.begin(), row.end());
  const std::vector<float> narrow(features.begin(), features.end());
  for (const auto& rows : {casimir::DenseRows(features.data(), dim), casimir::DenseRows(narrow.data(), dim)})
    for (const auto& view : {casimir::WeightView{w.data()}, casimir::WeightView{w.data(), 0.5, row.data(), 0.3}}) {
      rows.dots(0, count, view, scores.data());
      for (const double score : scores) check(score == scores[0]);
      rows.dots(3, 1, view, scores.data());
      check(scores[0] == scores[1]);
      check(rows.squared_distance(2, 7) == 0.0);
    }
}

/// Normal numbers, those below 2^-14, both signs and zeros.
void check_half() {
  const std::pair<int, double> known[] = {{0x3c00, 1.0},     {0xc000, -2.0},      {0x7bff, 65504.0},
                                          {0x0000, 0.0},     {0x0001, 0x1p-24},   {0x83ff, -0x1.ff8p-15},
                                          {0x0400, 0x1p-14}, {0x3555, 0x1.554p-2}};
  for (const auto& [bits, value] : known)
    check(static_cast<double>(casimir::Half{static_cast<std::uint16_t>(bits)}) == value);
}

void check_dense_rows(std::int64_t dim, Random& random) {
  const std::vector<double> rows = random.uniforms(5 * dim, -1.0, 1.0), w = random.uniforms(dim, -1.0, 1.0);
  const casimir::DenseRows dense(rows.data(), dim);
  const std::vector<double> a(rows.begin(), rows.begin() + dim), b(rows.begin() + 4 * dim, rows.end());
  double out[5];
  dense.dots(0, 5, {w.data(), 2.0}, out);
  check_close(out[0], 2.0 * dot(a, w), 1e-12);
  check_close(out[4], 2.0 * dot(b, w), 1e-12);
  check_close(dense.inner(0, 4), dot(a, b), 1e-12);
  check_close(dense.squared_distance(0, 4), dot(a, a) + dot(b, b) - 2.0 * dot(a, b), 1e-12);
  std::vector<double> sum(w);
  dense.add_to(4, 3.0, 1, dim, sum.data());
  check(sum[0] == w[0]);
  for (std::size_t j = 1; j < sum.size(); ++j) check_close(sum[j], w[j] + 3.0 * b[j], 1e-14);
}

/// Decoding is the max of the scores, fixed ones included.
void check_decode(const CandidateArrays& lists, Random& random) {
  const std::vector<double> w = random.uniforms(lists.problem->n_params(), -1.0, 1.0);
  const auto n = static_cast<std::size_t>(lists.problem->n_examples());
  std::vector<std::int64_t> indices(n);
  std::vector<double> values(n);
  lists.problem->decode(w.data(), 3, indices.data(), values.data());
  for (std::size_t i = 0; i < n; ++i) {
    const std::vector<double> scores = augmented_scores(lists, static_cast<std::int64_t>(i), w);
    const auto best = std::max_element(scores.begin(), scores.end());
    check_equal(indices[i], best - scores.begin());
    check_close(values[i], *best, 1e-13);
  }
}

}  // namespace

void test_candidates() {
  Random random(5);
  check_half();
  for (const std::int64_t dim : {1, 3, 4, 7, 8, 17, 31, 64, 2048, 2053}) {
    check_equal_rows(dim, random);
    check_dense_rows(dim, random);
  }
  for (const std::int64_t dim : {1, 2, 9, 40}) {
    const auto lists = random_candidates(20, dim, random);
    check_storages_agree(*lists, random);
    check_decode(*lists, random);
    for (const double mu : {0.1, 1.0, 20.0}) check_l2_by_projection(*lists, mu, random);
    for (casimir::LinearCandidates* problem : {lists->problem.get(), lists->problem32.get()}) {
      check_scatter_ranges(*problem, random);
      check_touched(*problem, random);
      check_scales(*problem, {SmoothingKind::kL2, 3, 0.8}, random);
      check_non_finite_weights(*problem, random);
      for (const Smoothing& smoothing :
           {Smoothing{}, Smoothing{SmoothingKind::kL2, 3, 0.8}, Smoothing{SmoothingKind::kEntropy, 1, 0.8}}) {
        check_affine_weights(*problem, smoothing, random);
        check_threads(*problem, smoothing, random);
      }
      check_gradient(*problem, {SmoothingKind::kEntropy, 1, 0.8}, random);
      check_gradient(*problem, {SmoothingKind::kL2, 100, 0.8}, random);
      check_bounds(*problem, {SmoothingKind::kL2, 3, 0.8}, 0.5, random);
      check_bounds(*problem, {SmoothingKind::kEntropy, 1, 0.8}, std::log(9.0), random);
    }
  }
  const auto lists = random_candidates(8, 3, random);
  casimir::LinearCandidatesData data = lists->problem->data();
  data.y = nullptr;
  check_without_truth(casimir::LinearCandidates(data), random);
  const std::vector<double> truth = truth_of(*lists->problem);
  data.truth = truth.data();
  check_same_losses(*lists->problem, casimir::LinearCandidates(data), random);
}
