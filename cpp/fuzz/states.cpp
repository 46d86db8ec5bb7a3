// States of dual blocks, changed at will: refused, or gone on from without an accident; unchanged ones to the same
// bits.
#include <numeric>

#include "fuzz/problems.hpp"
#include "fuzz/targets.hpp"
#include "solve/dual.hpp"

namespace fuzz {
namespace {

using casimir::DualState;
using testing::check;

constexpr casimir::Penalty kPenalty{0.0, 0.1};

void pass(casimir::DualBlocks& blocks, const casimir::Problem& problem, std::vector<double>& w) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(problem.n_examples()));
  std::iota(order.begin(), order.end(), 0);
  const casimir::DualIterate iterate{kPenalty, kPenalty.sigma(), w.data()};
  blocks.exact_pass(order, casimir::StepRule::kPairwise, 3, 0.0, iterate);
  blocks.cached_pass(order, 2, 0.0, iterate);
}

bool is_same(const DualState& a, const DualState& b) {
  return a.ell == b.ell && a.gaps == b.gaps && a.counts == b.counts && a.weights == b.weights &&
         a.outputs == b.outputs && a.tabulated == b.tabulated && a.products == b.products;
}

template <class T>
void change(Bytes& input, std::vector<T>& values) {
  const std::int64_t how = input.between(0, 3);
  if (how == 0) {
    values.resize(static_cast<std::size_t>(input.between(0, 40)));
  } else if (how == 1) {
    values.push_back(input.raw<T>());
  } else if (!values.empty()) {
    T& value = values[static_cast<std::size_t>(input.byte()) % values.size()];
    value = how == 2 ? input.raw<T>() : static_cast<T>(input.between(-1, 5));
  }
}

void change(Bytes& input, DualState& state) {
  switch (input.between(0, 6)) {
    case 0:
      return change(input, state.gaps);
    case 1:
      return change(input, state.counts);
    case 2:
      return change(input, state.weights);
    case 3:
      return change(input, state.outputs);
    case 4:
      return change(input, state.tabulated);
    case 5:
      return change(input, state.products);
    default:
      state.ell = input.raw<double>();
  }
}

}  // namespace

void states(Bytes input) {
  const SomeProblem made = problem_of(input);
  const casimir::Problem& problem = *made.problem;
  std::vector<double> w(static_cast<std::size_t>(problem.n_params()), 0.0);
  const auto blocks = problem.dual_blocks();
  for (std::int64_t k = input.between(0, 4); k > 0; --k) pass(*blocks, problem, w);

  DualState state = blocks->state();
  const auto twin = problem.dual_blocks();
  twin->restore(state);
  check(is_same(twin->state(), state));
  std::vector<double> other = w;
  pass(*blocks, problem, w);
  pass(*twin, problem, other);
  check(w == other);
  check(is_same(twin->state(), blocks->state()));

  for (std::int64_t k = input.between(1, 4); k > 0; --k) change(input, state);
  const auto changed = problem.dual_blocks();
  try {
    changed->restore(state);
  } catch (const std::invalid_argument&) {
    return;
  }
  const DualState restored = changed->state();
  check(restored.weights == state.weights && restored.outputs == state.outputs && restored.counts == state.counts);
  for (const double weight : state.weights) check(weight >= 0.0 && weight <= 1.0 + 1e-6);
  pass(*changed, problem, other);
}

}  // namespace fuzz
