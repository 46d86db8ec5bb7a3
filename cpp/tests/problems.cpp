#include "problems.hpp"

#include "solve/epochs.hpp"

namespace testing {

using casimir::Answer;
using casimir::Problem;
using casimir::Smoothing;
using casimir::SmoothingKind;
using casimir::WeightView;

std::unique_ptr<ChainArrays> random_chains(std::int64_t n, int labels, bool real_valued, Random& random) {
  auto chains = std::make_unique<ChainArrays>();
  const std::int64_t n_features = 11;
  chains->offsets = {0};
  chains->indptr = {0};
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t p = 1 + random.below(5);
    for (std::int64_t t = 0; t < p; ++t) {
      const auto count = static_cast<std::size_t>(random.below(4));
      const std::size_t first = chains->indices.size();
      for (std::size_t f = 0; f < count; ++f)
        chains->indices.push_back(static_cast<std::uint32_t>(random.below(n_features)));
      std::sort(chains->indices.begin() + static_cast<std::ptrdiff_t>(first), chains->indices.end());
      chains->indptr.push_back(static_cast<std::int64_t>(chains->indices.size()));
      chains->y.push_back(static_cast<std::int32_t>(random.below(labels)));
    }
    chains->offsets.push_back(chains->offsets.back() + p);
  }
  chains->values = random.uniforms(static_cast<std::int64_t>(chains->indices.size()), -1.0, 1.0);
  chains->cost = random.uniforms(labels * labels, 0.5, 1.5);
  for (int y = 0; y < labels; ++y) chains->cost[static_cast<std::size_t>(y * labels + y)] = 0.0;
  chains->problem = std::make_unique<casimir::LinearChain>(casimir::LinearTokensData{
      chains->offsets.data(),
      n,
      {chains->indptr.data(), chains->indices.data(), real_valued ? chains->values.data() : nullptr},
      n_features,
      labels,
      chains->y.data(),
      chains->cost.data()});
  return chains;
}

std::unique_ptr<CandidateArrays> random_candidates(std::int64_t n, std::int64_t dim, Random& random) {
  auto lists = std::make_unique<CandidateArrays>();
  lists->offsets = {0};
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t m = 1 + random.below(9);
    lists->offsets.push_back(lists->offsets.back() + m);
    lists->y.push_back(static_cast<std::int32_t>(random.below(m)));
  }
  const std::int64_t total = lists->offsets.back();
  for (std::int64_t j = 0; j < total * dim; ++j) {
    lists->f32.push_back(static_cast<float>(random.uniform(-1.0, 1.0)));
    lists->f64.push_back(lists->f32.back());
  }
  lists->cost = random.uniforms(total, 0.2, 1.0);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    lists->cost[static_cast<std::size_t>(lists->offsets[k] + lists->y[k])] = 0.0;
  }
  const auto make = [&](const casimir::DenseRows& rows) {
    return std::make_unique<casimir::LinearCandidates>(
        casimir::LinearCandidatesData{lists->offsets.data(), n, rows, lists->y.data(), lists->cost.data()});
  };
  lists->problem = make(casimir::DenseRows(lists->f64.data(), dim));
  lists->problem32 = make(casimir::DenseRows(lists->f32.data(), dim));
  return lists;
}

Answer answer_of(const Problem& problem, std::int64_t i, const WeightView& w, const Smoothing& smoothing,
                 std::vector<double>* parts) {
  const auto work = problem.workspace();
  problem.load_weights(w, *work);
  if (parts) parts->assign(static_cast<std::size_t>(problem.part_offset(i + 1) - problem.part_offset(i)), NAN);
  return problem.oracle(i, w, smoothing, *work, parts ? parts->data() : nullptr);
}

std::vector<double> sum_of_gradients(const Problem& problem, const std::vector<double>& w, const Smoothing& smoothing,
                                     int threads) {
  std::vector<Answer> answers(static_cast<std::size_t>(problem.size()));
  std::vector<double> gradient(static_cast<std::size_t>(problem.dim()), NAN);
  casimir::full_pass(problem, w.data(), smoothing, threads, answers.data(), nullptr, gradient.data());
  return gradient;
}

double sum_of_values(const Problem& problem, const std::vector<double>& w, const Smoothing& smoothing) {
  std::vector<Answer> answers(static_cast<std::size_t>(problem.size()));
  casimir::full_pass(problem, w.data(), smoothing, 1, answers.data(), nullptr, nullptr);
  double sum = 0.0;
  for (const Answer& answer : answers) sum += answer.value;
  return sum;
}

void check_gradient(const Problem& problem, const Smoothing& smoothing, Random& random) {
  const std::vector<double> w = random.uniforms(problem.dim(), -0.5, 0.5);
  const std::vector<double> direction = random.uniforms(problem.dim(), -1.0, 1.0);
  const double h = 1e-5;
  std::vector<double> ahead = w, behind = w;
  for (std::size_t j = 0; j < w.size(); ++j) ahead[j] += h * direction[j], behind[j] -= h * direction[j];
  const double slope = (sum_of_values(problem, ahead, smoothing) - sum_of_values(problem, behind, smoothing)) / (2 * h);
  check_close(dot(sum_of_gradients(problem, w, smoothing, 1), direction), slope, 1e-6);
}

void check_affine_weights(const Problem& problem, const Smoothing& smoothing, Random& random) {
  const std::vector<double> v = random.uniforms(problem.dim(), -1.0, 1.0),
                            c = random.uniforms(problem.dim(), -1.0, 1.0);
  const double s = 0.3, a = 0.7;
  std::vector<double> w(v.size());
  for (std::size_t j = 0; j < w.size(); ++j) w[j] = a * c[j] + s * v[j];
  for (std::int64_t i = 0; i < problem.size(); ++i) {
    std::vector<double> parts, affine_parts;
    const Answer plain = answer_of(problem, i, {w.data()}, smoothing, &parts);
    const Answer affine = answer_of(problem, i, {v.data(), s, c.data(), a}, smoothing, &affine_parts);
    check_close(affine.value, plain.value, 1e-12);
    check_close(affine.cost, plain.cost, 1e-12);
    for (std::size_t j = 0; j < parts.size(); ++j) check_close(affine_parts[j], parts[j], 1e-12);
    check_close(answer_of(problem, i, {w.data()}, smoothing, nullptr).value, plain.value, 1e-14);
  }
}

void check_threads(const Problem& problem, const Smoothing& smoothing, Random& random) {
  const std::vector<double> w = random.uniforms(problem.dim(), -1.0, 1.0);
  const std::vector<double> gradient = sum_of_gradients(problem, w, smoothing, 1);
  for (const int threads : {2, 3, 8}) check(sum_of_gradients(problem, w, smoothing, threads) == gradient);
}

void check_scatter_ranges(const Problem& problem, Random& random) {
  const auto dim = static_cast<std::size_t>(problem.dim());
  const std::int64_t rows = problem.rows();
  const std::vector<double> w = random.uniforms(problem.dim(), -1.0, 1.0);
  for (std::int64_t i = 0; i < problem.size(); ++i) {
    std::vector<double> parts, whole(dim, 0.0), q(dim, 0.0), pieces(dim, 0.0);
    answer_of(problem, i, {w.data()}, {SmoothingKind::kEntropy, 1, 2.0}, &parts);
    problem.subtract_truth(i, parts.data());
    problem.scatter(i, parts.data(), {whole.data(), 2.0, q.data(), -0.5});
    for (std::int64_t begin = 0; begin < rows; begin += 5)
      problem.scatter(i, parts.data(), {pieces.data(), 2.0, nullptr, 0.0, begin, std::min(rows, begin + 5)});
    check(pieces == whole);
    for (std::size_t j = 0; j < dim; ++j) check_close(q[j], -0.25 * whole[j], 1e-14);
  }
}

void check_bounds(const Problem& problem, const Smoothing& smoothing, double bound, Random& random) {
  const std::vector<double> w = random.uniforms(problem.dim(), -1.0, 1.0);
  for (std::int64_t i = 0; i < problem.size(); ++i) {
    const Answer hard = answer_of(problem, i, {w.data()}, {}, nullptr);
    const Answer smooth = answer_of(problem, i, {w.data()}, smoothing, nullptr);
    check(hard.value >= -1e-12 && hard.value == hard.max_value);
    check(smooth.value >= hard.value - 1e-12 && smooth.value <= hard.value + smoothing.mu * bound + 1e-12);
    if (smoothing.kind == SmoothingKind::kEntropy)
      check(std::isnan(smooth.max_value));
    else
      check_close(smooth.max_value, hard.value, 1e-13);
  }
}

void check_labels_needed(const Problem& unlabelled) {
  const std::vector<double> w(static_cast<std::size_t>(unlabelled.dim()), 0.0);
  for (const Smoothing& smoothing :
       {Smoothing{}, Smoothing{SmoothingKind::kL2, 3, 1.0}, Smoothing{SmoothingKind::kEntropy, 1, 1.0}})
    for (const int threads : {1, 2}) check_refused([&] { sum_of_gradients(unlabelled, w, smoothing, threads); });
}

void check_non_finite_weights(const Problem& problem, Random& random) {
  for (const Smoothing& smoothing :
       {Smoothing{}, Smoothing{SmoothingKind::kL2, 3, 1.0}, Smoothing{SmoothingKind::kEntropy, 1, 1.0}}) {
    std::vector<double> w(static_cast<std::size_t>(problem.dim()), NAN);
    check(std::isnan(sum_of_values(problem, w, smoothing)));
    sum_of_gradients(problem, w, smoothing, 2);
    for (double& value : w) {
      const std::int64_t kind = random.below(4);
      value = kind == 0 ? NAN : kind == 1 ? INFINITY : kind == 2 ? -INFINITY : 1e308;
    }
    sum_of_gradients(problem, w, smoothing, 2);
  }
}

}  // namespace testing
