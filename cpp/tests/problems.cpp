#include "problems.hpp"

#include "solve/epochs.hpp"

namespace testing {

using casimir::Answer;
using casimir::Problem;
using casimir::Smoothing;
using casimir::SmoothingKind;
using casimir::WeightView;

std::unique_ptr<ChainArrays> random_chains(std::int64_t n, int labels, bool real_valued, bool with_pairs,
                                           Random& random) {
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
  chains->fixed_nodes = random.uniforms(chains->offsets.back() * labels, 0.5, 1.5);
  for (std::size_t t = 0; t < chains->y.size(); ++t)
    chains->fixed_nodes[t * static_cast<std::size_t>(labels) + static_cast<std::size_t>(chains->y[t])] = 0.0;
  chains->fixed_pairs = random.uniforms(labels * labels, -0.5, 0.5);
  chains->problem = std::make_unique<casimir::LinearChain>(casimir::LinearTokensData{
      chains->offsets.data(),
      n,
      {chains->indptr.data(), chains->indices.data(), real_valued ? chains->values.data() : nullptr},
      n_features,
      labels,
      chains->y.data(),
      nullptr,
      chains->fixed_nodes.data(),
      with_pairs ? chains->fixed_pairs.data() : nullptr});
  return chains;
}

std::unique_ptr<TreeArrays> random_trees(const ChainArrays& chains, Random& random) {
  const casimir::LinearTokensData& data = chains.problem->data();
  std::vector<std::int64_t> parents;
  for (std::int64_t i = 0; i < data.n; ++i)
    for (std::int64_t v = 0; v < chains.problem->length(i); ++v) parents.push_back(random.below(v + 1) - 1);
  auto trees = std::make_unique<TreeArrays>();
  trees->order = casimir::tree_order(parents.data(), data.offsets, data.n);
  const casimir::TreeOrder& order = trees->order;
  trees->problem = std::make_unique<casimir::LinearTree>(
      data, casimir::TreeOrderView{order.node.data(), order.parent.data(), order.subtree.data()});
  return trees;
}

std::unique_ptr<ClassArrays> random_classes(std::int64_t n, std::int64_t dim, int labels, double bias, Random& random) {
  auto arrays = std::make_unique<ClassArrays>();
  arrays->indptr = {0};
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < dim; ++j) {
      const bool is_zero = random.below(3) == 0;
      arrays->f32.push_back(is_zero ? 0.0f : static_cast<float>(random.uniform(-1.0, 1.0)));
      arrays->f64.push_back(arrays->f32.back());
      if (is_zero) continue;
      arrays->indices.push_back(static_cast<std::uint32_t>(j));
      arrays->values.push_back(arrays->f64.back());
    }
    arrays->indptr.push_back(static_cast<std::int64_t>(arrays->indices.size()));
    arrays->y.push_back(static_cast<std::int32_t>(random.below(labels)));
  }
  arrays->cost = random.uniforms(n * labels, 0.2, 1.0);
  for (std::int64_t i = 0; i < n; ++i)
    arrays->cost[static_cast<std::size_t>(i * labels + arrays->y[static_cast<std::size_t>(i)])] = 0.0;
  const casimir::RowShape shape{labels, casimir::stride_of(labels)};
  const casimir::TokenFeatures x{arrays->indptr.data(), arrays->indices.data(), arrays->values.data()};
  const auto data_of = [&](const casimir::FeatureRows& rows) {
    return casimir::LinearClassesData{n, rows, arrays->y.data(), nullptr, arrays->cost.data()};
  };
  const auto make = [&](const casimir::FeatureRows& rows) {
    return std::make_unique<casimir::LinearClasses>(data_of(rows));
  };
  arrays->sparse = make({x, dim, bias, shape});
  arrays->dense = make({arrays->f64.data(), dim, bias, shape});
  arrays->dense32 = make({arrays->f32.data(), dim, bias, shape});
  return arrays;
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
    const casimir::Half value{static_cast<std::uint16_t>(random.below(0x3c00) + 0x8000 * random.below(2))};  // |x| < 1
    lists->f16.push_back(value);
    lists->f32.push_back(value);
    lists->f64.push_back(lists->f32.back());
  }
  lists->cost = random.uniforms(total, 0.2, 1.0);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    lists->cost[static_cast<std::size_t>(lists->offsets[k] + lists->y[k])] = 0.0;
  }
  const auto make = [&](const casimir::DenseRows& rows) {
    return std::make_unique<casimir::LinearCandidates>(
        casimir::LinearCandidatesData{lists->offsets.data(), n, rows, lists->y.data(), nullptr, lists->cost.data()});
  };
  lists->problem = make(casimir::DenseRows(lists->f64.data(), dim));
  lists->problem32 = make(casimir::DenseRows(lists->f32.data(), dim));
  lists->problem16 = make(casimir::DenseRows(lists->f16.data(), dim));
  return lists;
}

Answer answer_of(const Problem& problem, std::int64_t i, const WeightView& w, const Smoothing& smoothing,
                 std::vector<double>* marginals) {
  const auto work = problem.workspace();
  problem.load_weights(w, *work);
  if (marginals) marginals->assign(static_cast<std::size_t>(problem.marginal_count(i)), NAN);
  return problem.oracle(i, w, smoothing, *work, marginals ? marginals->data() : nullptr);
}

std::vector<double> sum_of_gradients(const Problem& problem, const std::vector<double>& w, const Smoothing& smoothing,
                                     int threads) {
  std::vector<Answer> answers(static_cast<std::size_t>(problem.n_examples()));
  std::vector<double> gradient(static_cast<std::size_t>(problem.n_params()), NAN);
  casimir::full_pass(problem, w, smoothing, threads, answers.data(), {}, gradient);
  return gradient;
}

double sum_of_values(const Problem& problem, const std::vector<double>& w, const Smoothing& smoothing) {
  std::vector<Answer> answers(static_cast<std::size_t>(problem.n_examples()));
  casimir::full_pass(problem, w, smoothing, 1, answers.data(), {}, {});
  double sum = 0.0;
  for (const Answer& answer : answers) sum += answer.value;
  return sum;
}

void check_gradient(const Problem& problem, const Smoothing& smoothing, Random& random) {
  const std::vector<double> w = random.uniforms(problem.n_params(), -0.5, 0.5);
  const std::vector<double> direction = random.uniforms(problem.n_params(), -1.0, 1.0);
  const double h = 1e-5;
  std::vector<double> ahead = w, behind = w;
  for (std::size_t j = 0; j < w.size(); ++j) ahead[j] += h * direction[j], behind[j] -= h * direction[j];
  const double slope = (sum_of_values(problem, ahead, smoothing) - sum_of_values(problem, behind, smoothing)) / (2 * h);
  check_close(dot(sum_of_gradients(problem, w, smoothing, 1), direction), slope, 1e-6);
}

void check_affine_weights(const Problem& problem, const Smoothing& smoothing, Random& random) {
  const std::vector<double> v = random.uniforms(problem.n_params(), -1.0, 1.0),
                            c = random.uniforms(problem.n_params(), -1.0, 1.0);
  const double s = 0.3, a = 0.7;
  std::vector<double> w(v.size());
  for (std::size_t j = 0; j < w.size(); ++j) w[j] = a * c[j] + s * v[j];
  for (std::int64_t i = 0; i < problem.n_examples(); ++i) {
    std::vector<double> marginals, affine_marginals;
    const Answer plain = answer_of(problem, i, {w.data()}, smoothing, &marginals);
    const Answer affine = answer_of(problem, i, {v.data(), s, c.data(), a}, smoothing, &affine_marginals);
    check_close(affine.value, plain.value, 1e-12);
    check_close(affine.cost, plain.cost, 1e-12);
    for (std::size_t j = 0; j < marginals.size(); ++j) check_close(affine_marginals[j], marginals[j], 1e-12);
    check_close(answer_of(problem, i, {w.data()}, smoothing, nullptr).value, plain.value, 1e-14);
  }
}

void check_threads(const Problem& problem, const Smoothing& smoothing, Random& random) {
  const std::vector<double> w = random.uniforms(problem.n_params(), -1.0, 1.0);
  const std::vector<double> gradient = sum_of_gradients(problem, w, smoothing, 1);
  for (const int threads : {2, 3, 8}) check(sum_of_gradients(problem, w, smoothing, threads) == gradient);
}

void check_scatter_ranges(const Problem& problem, Random& random) {
  const auto dim = static_cast<std::size_t>(problem.n_params());
  const std::int64_t rows = problem.rows();
  const std::vector<double> w = random.uniforms(problem.n_params(), -1.0, 1.0);
  for (std::int64_t i = 0; i < problem.n_examples(); ++i) {
    std::vector<double> marginals, whole(dim, 0.0), q(dim, 0.0), pieces(dim, 0.0);
    answer_of(problem, i, {w.data()}, {SmoothingKind::kEntropy, 1, 2.0}, &marginals);
    problem.subtract_truth(i, marginals.data());
    problem.scatter(i, marginals.data(), {whole.data(), 2.0, q.data(), -0.5});
    for (std::int64_t begin = 0; begin < rows; begin += 5)
      problem.scatter(i, marginals.data(), {pieces.data(), 2.0, nullptr, 0.0, begin, std::min(rows, begin + 5)});
    check(pieces == whole);
    for (std::size_t j = 0; j < dim; ++j) check_close(q[j], -0.25 * whole[j], 1e-14);
  }
}

void check_bounds(const Problem& problem, const Smoothing& smoothing, double bound, Random& random) {
  const std::vector<double> w = random.uniforms(problem.n_params(), -1.0, 1.0);
  for (std::int64_t i = 0; i < problem.n_examples(); ++i) {
    const Answer hard = answer_of(problem, i, {w.data()}, {}, nullptr);
    const Answer smooth = answer_of(problem, i, {w.data()}, smoothing, nullptr);
    check(hard.value >= -1e-12 && hard.value == hard.max_value);
    check(smooth.value >= hard.value - 1e-12 && smooth.upper <= hard.value + smoothing.mu * bound + 1e-12);
    check(smooth.exact ? smooth.upper == smooth.value : smooth.upper >= smooth.value - 1e-12);
    if (smoothing.kind == SmoothingKind::kEntropy)
      check(std::isnan(smooth.max_value));
    else
      check_close(smooth.max_value, hard.value, 1e-13);
  }
}

void check_touched(const Problem& problem, Random& random) {
  const std::int64_t rows = problem.rows(), width = problem.n_params() / rows;
  const Smoothing smoothing{SmoothingKind::kEntropy, 1, 1.0};
  for (std::int64_t i = 0; i < problem.n_examples(); ++i) {
    std::vector<casimir::RowRange> ranges;
    problem.touched(i, ranges);
    std::vector<double> w = random.uniforms(problem.n_params(), -1.0, 1.0), x, again;
    const double value = answer_of(problem, i, {w.data()}, smoothing, &x).value;
    std::vector<bool> named(static_cast<std::size_t>(rows), false);
    for (const auto& [begin, end] : ranges) {
      check(begin >= 0 && end <= rows);
      for (std::int64_t row = begin; row < end; ++row) named[static_cast<std::size_t>(row)] = true;
    }
    std::vector<double> sum(w.size(), 0.0);
    problem.scatter(i, x.data(), {sum.data(), 1.0});
    for (std::size_t j = 0; j < w.size(); ++j) {
      if (named[j / static_cast<std::size_t>(width)]) continue;
      check(sum[j] == 0.0);
      w[j] = NAN;
    }
    check(answer_of(problem, i, {w.data()}, smoothing, &again).value == value && again == x);
  }
}

void check_scales(Problem& problem, const Smoothing& smoothing, Random& random) {
  const std::int64_t n = problem.n_examples();
  const std::vector<double> w = random.uniforms(problem.n_params(), -1.0, 1.0);
  std::vector<double> scales = random.uniforms(n, 0.5, 2.0), expected(w.size(), 0.0), gradient(w.size(), NAN);
  std::vector<double> marginals(static_cast<std::size_t>(problem.marginal_offset(n)), NAN);
  scales[1] = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<double> x;
    answer_of(problem, i, {w.data()}, smoothing, &x);
    problem.subtract_truth(i, x.data());
    problem.scatter(i, x.data(), {expected.data(), scales[static_cast<std::size_t>(i)]});
  }
  problem.set_scales(scales.data(), n - 1);
  check_equal(problem.active(), n - 1);
  check_close(problem.share(0), scales[0] / static_cast<double>(n - 1), 1e-15);
  std::vector<Answer> answers(static_cast<std::size_t>(n));
  casimir::full_pass(problem, w, smoothing, 2, answers.data(), marginals, gradient);
  problem.set_scales(nullptr, 0);
  for (std::size_t j = 0; j < w.size(); ++j) check_close(gradient[j], expected[j], 1e-12);
  check(answers[1].value == 0.0 && answers[1].cost == 0.0);
  for (std::int64_t j = problem.marginal_offset(1); j < problem.marginal_offset(2); ++j)
    check(marginals[static_cast<std::size_t>(j)] == 0.0);
}

void check_without_truth(const Problem& problem, Random& random) {
  const std::int64_t n = problem.n_examples();
  const std::vector<double> w = random.uniforms(problem.n_params(), -1.0, 1.0);
  std::vector<double> best(static_cast<std::size_t>(n));
  std::vector<std::int64_t> outputs(static_cast<std::size_t>(problem.output_offset(n)));
  problem.decode(w.data(), 2, outputs.data(), best.data());
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<double> truth(static_cast<std::size_t>(problem.marginal_count(i)), 0.0);
    check_close(answer_of(problem, i, {w.data()}, {}, nullptr).value, best[static_cast<std::size_t>(i)], 1e-13);
    problem.subtract_truth(i, truth.data());
    check(std::all_of(truth.begin(), truth.end(), [](double u) { return u == 0.0; }));
  }
  check_refused([&] { problem.dual_blocks(); });
}

std::vector<double> truth_of(const Problem& problem) {
  std::vector<double> truth(static_cast<std::size_t>(problem.marginal_offset(problem.n_examples())), 0.0);
  for (std::int64_t i = 0; i < problem.n_examples(); ++i)
    problem.subtract_truth(i, truth.data() + problem.marginal_offset(i));
  for (double& value : truth) value = 0.0 - value;
  return truth;
}

void check_same_losses(const Problem& problem, const Problem& other, Random& random) {
  const std::vector<double> w = random.uniforms(problem.n_params(), -1.0, 1.0);
  for (const Smoothing& smoothing :
       {Smoothing{}, Smoothing{SmoothingKind::kL2, 3, 1.0}, Smoothing{SmoothingKind::kEntropy, 1, 1.0}}) {
    for (std::int64_t i = 0; i < problem.n_examples(); ++i) {
      const Answer a = answer_of(problem, i, {w.data()}, smoothing, nullptr);
      const Answer b = answer_of(other, i, {w.data()}, smoothing, nullptr);
      check_close(a.value, b.value, 1e-12);
      check_close(a.upper, b.upper, 1e-12);
      check_close(a.cost, b.cost, 1e-12);
    }
    const auto a = sum_of_gradients(problem, w, smoothing, 1), b = sum_of_gradients(other, w, smoothing, 1);
    for (std::size_t j = 0; j < a.size(); ++j) check_close(a[j], b[j], 1e-12);
  }
}

void check_non_finite_weights(const Problem& problem, Random& random) {
  for (const Smoothing& smoothing :
       {Smoothing{}, Smoothing{SmoothingKind::kL2, 3, 1.0}, Smoothing{SmoothingKind::kEntropy, 1, 1.0}}) {
    std::vector<double> w(static_cast<std::size_t>(problem.n_params()), NAN);
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
