// Stochastic epochs that touch only the weights of their example equal dense loops.
#include <array>

#include "problems.hpp"
#include "solve/epochs.hpp"

using namespace testing;
using casimir::IterateSum;
using casimir::Penalty;
using casimir::Problem;
using casimir::Smoothing;
using casimir::SmoothingKind;

namespace {

constexpr double kClose = 1e-10;
constexpr std::int64_t kSteps = 150;
const Smoothing kSmoothing{SmoothingKind::kEntropy, 1, 0.8};

void check_all_close(const std::vector<double>& actual, const std::vector<double>& expected,
                     const Place& place = Place::current()) {
  check_equal(static_cast<std::int64_t>(actual.size()), static_cast<std::int64_t>(expected.size()), place);
  for (std::size_t j = 0; j < actual.size(); ++j) check_close(actual[j], expected[j], kClose, place);
}

constexpr int kKinds = 64;

/// Arrays of a random penalty; `kind` says which of its parts there are, and whether all strengths are different.
struct RandomPenalty {
  std::vector<double> strength, center;
  std::vector<std::uint8_t> nonnegative;
  Penalty penalty;

  RandomPenalty(int kind, std::int64_t n, Random& random) : center(random.uniforms(n, -1.0, 1.0)) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double different = kind & 32 ? random.uniform(0.5, 2.0) : 1.0;
      strength.push_back(different *
                         std::array{0.2, 1.0, 3.0, double(INFINITY)}[static_cast<std::size_t>(random.below(4))]);
      nonnegative.push_back(random.below(3) == 0);
    }
    penalty.l1 = kind & 1 ? random.uniform(0.01, 0.3) : 0.0;
    penalty.l2 = kind & 2 ? random.uniform(0.01, 0.8) : 0.0;
    if (kind & 4) penalty.strength = strength.data();
    if (kind & 8) penalty.nonnegative = nonnegative.data();
    if (kind & 16) penalty.kappa = random.uniform(0.1, 0.5), penalty.center = center.data();
    penalty.n_params = n;
  }
  /// Weights to start from that the penalty allows.
  std::vector<double> start(Random& random) const {
    std::vector<double> w = random.uniforms(penalty.n_params, -1.0, 1.0);
    for (std::size_t j = 0; j < w.size(); ++j) {
      if (penalty.is_fixed(static_cast<std::int64_t>(j))) w[j] = 0.0;
      if (penalty.nonnegative && nonnegative[j]) w[j] = std::abs(w[j]);
    }
    return w;
  }
};

/// Dense weights, their weighted sum, and the steps that move all of them.
struct DenseIterate {
  const Problem& problem;
  const Penalty& penalty;
  std::vector<double> w, total, gradient;
  std::int64_t crossings = 0;

  DenseIterate(const Problem& p, const Penalty& r, const std::vector<double>& start)
      : problem(p), penalty(r), w(start), total(start.size(), 0.0), gradient(total) {}

  /// x: marginals of example i; h: what is added to every gradient, or empty.
  void step(std::int64_t i, const std::vector<double>& x, const std::vector<double>& h, double gamma, double weight) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    problem.scatter(i, x.data(), {gradient.data(), 1.0});
    for (std::size_t j = 0; j < w.size(); ++j) {
      const auto index = static_cast<std::int64_t>(j);
      const double g = gradient[j] + (h.empty() ? 0.0 : h[j]), before = w[j];
      if (penalty.is_quadratic())
        w[j] -= gamma * (g + penalty.sigma() * w[j] - penalty.pull_of(index));
      else
        w[j] = penalty.step(index, w[j], g, gamma);
      crossings += before * w[j] < 0.0 || (before == 0.0) != (w[j] == 0.0);
      total[j] += weight * w[j];
    }
  }
};

std::vector<double> at(const std::vector<double>& marginals, const Problem& problem, std::int64_t i) {
  return {marginals.begin() + problem.marginal_offset(i), marginals.begin() + problem.marginal_offset(i + 1)};
}

/// scale_i (u_i(w) - reference); `fresh` becomes u_i(w).
std::vector<double> change_of(const Problem& problem, std::int64_t i, const std::vector<double>& w,
                              const std::vector<double>& reference, std::vector<double>& fresh) {
  answer_of(problem, i, {w.data()}, kSmoothing, &fresh);
  std::vector<double> x(fresh);
  if (reference.empty())
    problem.subtract_truth(i, x.data());
  else
    for (std::size_t j = 0; j < x.size(); ++j) x[j] -= reference[j];
  for (double& value : x) value *= problem.scale(i);
  return x;
}

std::vector<std::int64_t> draw(const Problem& problem, Random& random) {
  std::vector<std::int64_t> order;
  while (static_cast<std::int64_t>(order.size()) < kSteps) {
    const std::int64_t i = random.below(problem.n_examples());
    if (problem.scale(i) > 0.0) order.push_back(i);
  }
  return order;
}

/// mass w - q
std::vector<double> sum_of(const IterateSum& sum, const std::vector<double>& w) {
  std::vector<double> total(w.size());
  for (std::size_t j = 0; j < w.size(); ++j) total[j] = sum.mass * w[j] - sum.q[j];
  return total;
}

/// The lazy iterate itself, with random marginals, steps of random length and sums that go on from an earlier one.
/// Returns how often a weight went through 0, onto it or off it.
std::int64_t check_prox_iterate(const Problem& problem, const RandomPenalty& own, double gamma, Random& random) {
  const std::vector<double> start = own.start(random), h = random.uniforms(problem.n_params(), -0.3, 0.3);
  std::vector<double> w = start, q = random.uniforms(problem.n_params(), -1.0, 1.0);
  IterateSum sum{q.data(), 0.7};
  DenseIterate dense(problem, own.penalty, start);
  dense.total = sum_of(sum, w);
  casimir::ProxIterate lazy(problem, own.penalty, h.data(), w.data(), sum);
  double length = gamma, weight = 1.0;
  const std::int64_t same = 1 + random.below(30);  // steps that are alike, on average
  for (const std::int64_t i : draw(problem, random)) {
    std::vector<double> x = random.uniforms(problem.marginal_count(i), -1.0, 1.0);
    if (random.below(same) == 0) length = gamma * random.uniform(0.1, 1.5), weight = random.uniform(0.0, 2.0);
    lazy.view(i);
    std::vector<double> copy = x;
    lazy.step(i, copy.data(), length, weight);
    dense.step(i, x, h, length, weight);
  }
  lazy.finish();
  check_all_close(w, dense.w);
  check_all_close(sum_of(sum, w), dense.total);
  for (std::size_t j = 0; j < w.size(); ++j) check((w[j] == 0.0) == (dense.w[j] == 0.0));
  return dense.crossings;
}

void check_sgd(const Problem& problem, const RandomPenalty& own, double scale, Random& random) {
  const std::vector<double> start = own.start(random), averaging = random.uniforms(kSteps, 0.0, 2.0);
  std::vector<double> gamma = random.uniforms(kSteps, 0.1 * scale, 1.5 * scale), w = start, q(w.size(), 0.0), fresh;
  const std::vector<std::int64_t> order = draw(problem, random);
  IterateSum sum{q.data(), 0.0};
  const auto seen = casimir::sgd_epoch(problem, order, gamma, averaging, own.penalty, kSmoothing, w, sum);
  DenseIterate dense(problem, own.penalty, start);
  double loss = 0.0, cost = 0.0;
  for (std::size_t t = 0; t < order.size(); ++t) {
    const auto answer = answer_of(problem, order[t], {dense.w.data()}, kSmoothing, nullptr);
    loss += problem.scale(order[t]) * answer.value;
    cost += problem.scale(order[t]) * answer.cost;
    dense.step(order[t], change_of(problem, order[t], dense.w, {}, fresh), {}, gamma[t], averaging[t]);
  }
  check_all_close(w, dense.w);
  check_all_close(sum_of(sum, w), dense.total);
  check_close(seen.loss, loss, kClose);
  check_close(seen.cost, cost, kClose);
}

void check_svrg(const Problem& problem, const RandomPenalty& own, double gamma, Random& random) {
  const std::vector<double> start = own.start(random), full = random.uniforms(problem.n_params(), -0.3, 0.3);
  const std::vector<double> snapshot = random.uniforms(problem.marginal_offset(problem.n_examples()), 0.0, 1.0);
  std::vector<double> w = start, average(w.size(), NAN), fresh;
  const std::vector<std::int64_t> order = draw(problem, random);
  casimir::svrg_epoch(problem, order, gamma, own.penalty, full, snapshot, kSmoothing, w, average);
  DenseIterate dense(problem, own.penalty, start);
  for (const std::int64_t i : order)
    dense.step(i, change_of(problem, i, dense.w, at(snapshot, problem, i), fresh), full, gamma, 1.0 / kSteps);
  check_all_close(w, dense.w);
  check_all_close(average, dense.total);
}

void check_saga(const Problem& problem, const RandomPenalty& own, double gamma, Random& random) {
  const std::vector<double> start = own.start(random), averaging = random.uniforms(kSteps, 0.0, 2.0);
  std::vector<double> table = random.uniforms(problem.marginal_offset(problem.n_examples()), 0.0, 1.0), w = start,
                      fresh;
  std::vector<double> mean = random.uniforms(problem.n_params(), -0.3, 0.3), q(w.size(), 0.0);
  std::vector<double> dense_table = table, dense_mean = mean;
  const std::vector<std::int64_t> order = draw(problem, random);
  IterateSum sum{q.data(), 0.0};
  casimir::saga_epoch(problem, order, gamma, averaging, own.penalty, table, mean, kSmoothing, w, sum);
  DenseIterate dense(problem, own.penalty, start);
  for (std::size_t t = 0; t < order.size(); ++t) {
    const std::int64_t i = order[t];
    const std::vector<double> x = change_of(problem, i, dense.w, at(dense_table, problem, i), fresh);
    dense.step(i, x, dense_mean, gamma, averaging[t]);
    problem.scatter(i, x.data(), {dense_mean.data(), 1.0 / static_cast<double>(problem.active())});
    std::copy(fresh.begin(), fresh.end(), dense_table.begin() + problem.marginal_offset(i));
  }
  check_all_close(w, dense.w);
  check_all_close(sum_of(sum, w), dense.total);
  check_all_close(mean, dense_mean);
  check_all_close(table, dense_table);
}

void check_problem(Problem& problem, Random& random) {
  std::vector<double> scales = random.uniforms(problem.n_examples(), 0.5, 2.0);
  scales[1] = 0.0;
  std::int64_t crossings = 0;
  for (int kind = 0; kind < kKinds; ++kind) {
    if (kind >= 32 && !(kind & 4)) continue;  // no strengths
    const RandomPenalty own(kind, problem.n_params(), random);
    if (kind % 3 == 0) problem.set_scales(scales.data(), problem.n_examples() - 1);
    for (const double gamma : {0.02, 0.8}) {
      if (!own.penalty.is_quadratic()) crossings += check_prox_iterate(problem, own, gamma, random);
      check_sgd(problem, own, gamma, random);
      check_svrg(problem, own, gamma, random);
      check_saga(problem, own, gamma, random);
    }
    problem.set_scales(nullptr, 0);
  }
  check(crossings > 20 * kSteps);
}

/// Powers that leave the range of digits, and of doubles, many times within an epoch.
void check_renewals(Problem& problem, Random& random) {
  for (int kind = 2; kind < kKinds; kind += 3)
    for (const double sigma : {5.0, 1e4}) {
      RandomPenalty own(kind, problem.n_params(), random);
      own.penalty.l2 = sigma;
      if (own.penalty.is_quadratic()) continue;
      check_prox_iterate(problem, own, 0.5, random);
      check_svrg(problem, own, 0.5, random);
    }
}

void check_arguments(const Problem& problem, Random& random) {
  const RandomPenalty own(31, problem.n_params(), random);
  std::vector<double> w = own.start(random), short_w(w.size() - 1, 0.0), table(3, 0.0), q(w);
  const std::vector<std::int64_t> none, odd{problem.n_examples()}, one{0};
  const std::vector<double> gamma{0.1};
  IterateSum sum{};
  const auto sgd = [&](const std::vector<std::int64_t>& order, std::vector<double>& weights, const Penalty& penalty) {
    return [&] { casimir::sgd_epoch(problem, order, gamma, {}, penalty, kSmoothing, weights, sum); };
  };
  Penalty other = own.penalty;
  other.n_params += 1;
  check_refused(sgd(odd, w, own.penalty));
  check_refused(sgd(none, w, own.penalty));  // gamma has one entry too many
  check_refused(sgd(one, short_w, own.penalty));
  check_refused(sgd(one, w, other));
  check_refused([&] { casimir::svrg_epoch(problem, none, 0.1, own.penalty, w, table, kSmoothing, w, q); });
  check_refused([&] { casimir::svrg_epoch(problem, one, 0.1, own.penalty, w, table, kSmoothing, w, q); });
  check_refused([&] { casimir::saga_epoch(problem, one, 0.1, {}, own.penalty, table, q, kSmoothing, w, sum); });
}

}  // namespace

void test_epochs() {
  Random random(13);
  const auto chains = random_chains(12, 3, true, true, random);
  const auto trees = random_trees(*chains, random);
  const auto lists = random_candidates(12, 7, random);
  check_problem(*chains->problem, random);
  check_problem(*trees->problem, random);
  check_problem(*lists->problem, random);
  const auto classes = random_classes(12, 7, 5, 0.5, random);
  check_problem(*classes->sparse, random);
  check_problem(*classes->dense, random);
  check_renewals(*chains->problem, random);
  check_renewals(*lists->problem, random);
  check_arguments(*random_chains(12, 9, false, false, random)->problem, random);
}
