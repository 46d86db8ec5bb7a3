#include "solve/potential_blocks.hpp"

#include <algorithm>
#include <cmath>

#include "base/lanes.hpp"
#include "solve/visit_point.hpp"

namespace casimir {
namespace {

constexpr double kMargin = 20.0;      // in units of the temperature, by which the truth's labels lead at the start
constexpr double kFixedMargin = 5.0;  // the same where steps have one length and are not searched for
constexpr double kFirstEta = 0.8;     // of an example's first step, log losses
constexpr double kFirstHinge = 16.0;  // the same for hinge losses: most of the way back from the margin
constexpr double kLeastEta = 1e-3;    // no step is shorter
constexpr double kMostHinge = 1e3;    // nor longer, for hinge losses
constexpr int kTrials = 6;            // of a visit
constexpr double kRounding = 1e-12;   // relative to the example's part of the dual: gains that mean nothing

/// <u, s> over parts; what has no weight does not count, whatever its score.
double expected(const double* u, const double* s, std::int64_t count) {
  using L = Lanes<8>;
  L::V sum{};
  std::int64_t j = 0;
  for (; j + 8 <= count; j += 8) {
    const L::V weight = L::load(u + j);
    sum += weight != 0.0 ? weight * L::load(s + j) : weight;
  }
  double total = L::sum(sum);
  for (; j < count; ++j)
    if (u[j] != 0.0) total += u[j] * s[j];
  return total;
}

}  // namespace

/// Where a step of length eta leads. It changes the example's part of D by p_i (climb - turn).
struct PotentialBlocks::Trial {
  bool is_log;
  double eta;
  double entropy;  // mu H(u) of the new distribution
  double climb;    // mu H(u) + <u, s>, new less old
  double turn;     // (p_i / 2 sigma) |A_i^T (new - old)|^2

  /// The eta of the largest change if turn = c eta^2 and, as near the optimum, climb = v (eta - eta^2 / 2) for a log
  /// loss, v eta for a hinge loss.
  double best() const {
    const double c = turn / (eta * eta);
    if (!is_log) return std::clamp(climb / eta / (2.0 * c), kLeastEta, kMostHinge);
    const double v = climb / (eta - 0.5 * eta * eta);
    return std::clamp(v / (v + 2.0 * c), kLeastEta, 1.0);
  }
  /// max^mu { s } - (mu H(u) + <u, s>) at the old u. For a log loss a step of 1 climbs as much, and one of eta leaves
  /// about (1 - eta)^2 of it; for a hinge loss it is at least what any step climbs.
  double gap() const { return std::max(0.0, is_log ? climb / (2.0 * eta - eta * eta) : climb); }
};

PotentialBlocks::PotentialBlocks(const Problem& problem, double mu, double eta)
    : problem_(problem),
      mu_(mu),
      temperature_(mu > 0.0 ? mu : 1.0),
      fixed_eta_(eta),
      potentials_(static_cast<std::size_t>(problem.marginal_offset(problem.n_examples())), problem.memory()),
      marginals_(potentials_.size(), problem.memory()),
      blocks_(static_cast<std::size_t>(problem.n_examples()), problem.memory()),
      norm_(problem.block_norm()),
      work_(problem.workspace()) {
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < problem.n_examples(); ++i) {
    const std::int64_t begin = problem.marginal_offset(i), end = problem.marginal_offset(i + 1);
    longest = std::max(longest, end - begin);
    double* own = marginals_.data() + begin;
    problem.subtract_truth(i, own);
    for (std::int64_t j = 0; j < end - begin; ++j) own[j] = 0.0 - own[j];
  }
  for (auto* scratch : {&scores_, &new_potentials_, &new_marginals_, &change_})
    scratch->resize(static_cast<std::size_t>(longest));
}

std::vector<double> PotentialBlocks::numbers() const {
  std::vector<double> found;
  found.reserve(kNumbers * blocks_.size());
  for (const Block& own : blocks_) found.insert(found.end(), {own.entropy, own.ell, own.gap, own.eta});
  return found;
}

void PotentialBlocks::restore(std::span<const double> potentials, std::span<const double> marginals,
                              std::span<const double> numbers) {
  if (potentials.size() != potentials_.size() || marginals.size() != marginals_.size() ||
      numbers.size() != kNumbers * blocks_.size())
    throw std::invalid_argument("the state of potential blocks does not fit their problem.");
  std::copy(potentials.begin(), potentials.end(), potentials_.begin());
  std::copy(marginals.begin(), marginals.end(), marginals_.begin());
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const double* own = numbers.data() + kNumbers * i;
    blocks_[i] = {own[0], own[1], own[2], own[3]};
  }
}

double PotentialBlocks::ell() const {
  double total = 0.0;
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    total += problem_.scale(static_cast<std::int64_t>(i)) * blocks_[i].ell;
  return total / static_cast<double>(problem_.active());
}

double PotentialBlocks::mean_gap() const {
  double total = 0.0;
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    total += problem_.scale(static_cast<std::int64_t>(i)) * blocks_[i].gap;
  return total / static_cast<double>(problem_.active());
}

PassResult PotentialBlocks::pass(std::span<const std::int64_t> order, double skip_below, const DualIterate& iterate) {
  const double least = skip_below * mean_gap();
  chosen_.clear();
  for (const std::int64_t i : order)
    if (blocks_[static_cast<std::size_t>(i)].gap >= least) chosen_.push_back(i);
  PassResult result;
  for (std::size_t k = 0; k < chosen_.size(); ++k) {
    prefetch_ahead(problem_, chosen_, k, {iterate.w});
    result.oracle_calls += visit(chosen_[k], iterate);
  }
  result.visits = static_cast<std::int64_t>(chosen_.size());
  result.gap = mean_gap();
  return result;
}

/// Potentials near the truth; what is not allowed has scores of -inf, and keeps them.
void PotentialBlocks::begin(std::int64_t i) {
  const std::int64_t count = problem_.marginal_count(i);
  double* own = potentials_.data() + problem_.marginal_offset(i);
  const double* s = scores_.data();
  for (std::int64_t j = 0; j < count; ++j) own[j] = std::isinf(s[j]) ? s[j] : 0.0;
  problem_.add_truth_scores(i, (fixed_eta_ > 0.0 ? kFixedMargin : kMargin) * temperature_, own);
  blocks_[static_cast<std::size_t>(i)].eta = fixed_eta_ > 0.0 ? fixed_eta_ : is_log() ? kFirstEta : kFirstHinge;
}

/// A step of example i, its length found by trials. Returns the oracle calls that it took. The first step is taken
/// whatever it gains: a truth that is a distribution has no potentials here, and until a block has moved to where its
/// potentials are, short steps do not lead to it.
std::int64_t PotentialBlocks::visit(std::int64_t i, const DualIterate& iterate) {
  Block& block = blocks_[static_cast<std::size_t>(i)];
  const std::int64_t offset = problem_.marginal_offset(i), count = problem_.marginal_count(i);
  const WeightView view{iterate.w};
  problem_.load_weights(view, *work_);
  problem_.scores(i, view, *work_, scores_.data());
  const bool is_first = block.eta == 0.0;
  if (is_first) begin(i);
  const double before = block.entropy + expected(marginals_.data() + offset, scores_.data(), count);
  const double curvature = 0.5 * problem_.share(i) / iterate.sigma;
  double eta = block.eta;
  for (int trials = 1; trials <= kTrials; ++trials) {
    const Trial trial = attempt(i, eta, before, curvature);
    if (trials == 1) block.gap = trial.gap();
    if (fixed_eta_ > 0.0) {
      take(i, iterate, trial);
      return trials;
    }
    if (trial.climb <= kRounding * std::abs(before)) {
      block.gap = 0.0;
      // Outputs of no weight yet may be on their way up: the potentials of a hinge loss add up over visits.
      if (!is_log() && trial.turn <= kRounding * std::abs(before)) take(i, iterate, trial);
      return trials;
    }
    const double best = trial.best();
    if (trial.climb > trial.turn && best >= 0.5 * eta) {
      take(i, iterate, trial);
      block.eta = std::min(best, 2.0 * eta);
      return trials;
    }
    if (is_first && trials == kTrials) take(i, iterate, trial);
    eta = std::min(best, 0.5 * eta);
  }
  block.eta = eta;
  return kTrials;
}

PotentialBlocks::Trial PotentialBlocks::attempt(std::int64_t i, double eta, double before, double curvature) {
  const std::int64_t offset = problem_.marginal_offset(i), count = problem_.marginal_count(i);
  const double *theta = potentials_.data() + offset, *u = marginals_.data() + offset, *s = scores_.data();
  double *new_theta = new_potentials_.data(), *new_u = new_marginals_.data(), *change = change_.data();
  const double kept = is_log() ? 1.0 - eta : 1.0;
  if (kept == 0.0)
    std::copy_n(s, count, new_theta);
  else
    for (std::int64_t j = 0; j < count; ++j) new_theta[j] = kept * theta[j] + eta * s[j];
  const double value = problem_.expect(i, new_theta, temperature_, *work_, new_u);
  Trial trial{is_log(), eta, is_log() ? value - expected(new_u, new_theta, count) : 0.0, 0.0, 0.0};
  trial.climb = trial.entropy + expected(new_u, s, count) - before;
  for (std::int64_t j = 0; j < count; ++j) change[j] = new_u[j] - u[j];
  trial.turn = curvature * norm_->squared(i, change);
  return trial;
}

void PotentialBlocks::take(std::int64_t i, const DualIterate& iterate, const Trial& trial) {
  Block& block = blocks_[static_cast<std::size_t>(i)];
  const std::int64_t offset = problem_.marginal_offset(i), count = problem_.marginal_count(i);
  std::copy_n(new_potentials_.data(), count, potentials_.data() + offset);
  std::copy_n(new_marginals_.data(), count, marginals_.data() + offset);
  block.entropy = trial.entropy;
  block.ell = trial.entropy + problem_.expected_cost(i, new_marginals_.data());
  const VisitPoint point = visit_point(problem_, i, iterate);
  problem_.scatter(i, change_.data(), point.target());
  if (point.is_linear()) return;
  rows_.clear();
  problem_.touched(i, rows_);
  for (const auto& [begin, end] : rows_) point.refresh(begin, end);
}

}  // namespace casimir
