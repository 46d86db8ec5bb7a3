// States of potential blocks, changed at will: refused, or gone on from without an accident.
#include <numeric>

#include "fuzz/problems.hpp"
#include "fuzz/targets.hpp"
#include "solve/potential_blocks.hpp"

namespace fuzz {
namespace {

using testing::check;

constexpr casimir::Penalty kPenalty{0.0, 0.1};

void pass(casimir::PotentialBlocks& blocks, std::vector<double>& w) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(blocks.problem().n_examples()));
  std::iota(order.begin(), order.end(), 0);
  blocks.pass(order, 0.0, {kPenalty, kPenalty.sigma(), w.data()});
}

void change(Bytes& input, std::vector<double>& values) {
  if (const bool resizes = input.byte() > 240; resizes)
    values.resize(static_cast<std::size_t>(input.byte()));
  else if (!values.empty())
    values[static_cast<std::size_t>(input.raw<std::uint16_t>()) % values.size()] = input.raw<double>();
}

}  // namespace

void potentials(Bytes input) {
  const SomeProblem made = problem_of(input);
  if (!made.problem->has_expect()) return;
  const double mu = input.flag() ? 1.0 : 0.0, eta = input.flag() ? 0.3 : 0.0;
  std::vector<double> w(static_cast<std::size_t>(made.problem->n_params()), 0.0);
  casimir::PotentialBlocks blocks(*made.problem, mu, eta), twin(*made.problem, mu, eta);
  for (std::int64_t k = input.between(0, 3); k > 0; --k) pass(blocks, w);

  const auto copied = [](const auto& values) { return std::vector<double>(values.begin(), values.end()); };
  std::vector<double> potentials = copied(blocks.potentials()), marginals = copied(blocks.marginals()),
                      numbers = blocks.numbers();
  twin.restore(potentials, marginals, numbers);
  std::vector<double> other = w;
  pass(blocks, w);
  pass(twin, other);
  check(w == other && twin.potentials() == blocks.potentials() && twin.marginals() == blocks.marginals());

  for (std::int64_t k = input.between(1, 4); k > 0; --k) {
    const std::int64_t which = input.between(0, 2);
    change(input, which == 0 ? potentials : which == 1 ? marginals : numbers);
  }
  casimir::PotentialBlocks changed(*made.problem, mu, eta);
  try {
    changed.restore(potentials, marginals, numbers);
  } catch (const std::invalid_argument&) {
    return;
  }
  pass(changed, other);
}

}  // namespace fuzz
