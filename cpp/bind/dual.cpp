#include "solve/dual.hpp"

#include "bind.hpp"
#include "solve/potential_blocks.hpp"
#include "solve/steps.hpp"
#include "spans.hpp"

namespace {

using casimir::DualAverage;
using casimir::DualBlocks;
using casimir::MutableVector;
using casimir::Order;
using casimir::Penalty;

casimir::DualIterate checked(const casimir::Problem& problem, Order order, const Penalty& penalty, double sigma,
                             MutableVector w, MutableVector g, DualAverage* average) {
  casimir::check_epoch(problem, order, penalty, w);
  if (!(sigma > 0.0)) throw std::invalid_argument("the dual solver needs a strongly convex penalty.");
  if (!penalty.is_quadratic()) casimir::check_size(g.size(), problem.n_params(), "g");
  if (average) casimir::check_size(static_cast<std::size_t>(average->n_params), problem.n_params(), "average");
  return {penalty, sigma, w.data(), penalty.is_quadratic() ? nullptr : g.data(), average};
}

casimir::PassResult exact_pass(DualBlocks& blocks, Order order, bool pairwise, int steps, double skip_below,
                               const Penalty& penalty, double sigma, MutableVector w, MutableVector g,
                               DualAverage* average) {
  const auto rule = pairwise ? casimir::StepRule::kPairwise : casimir::StepRule::kFrankWolfe;
  return blocks.exact_pass(order, rule, steps, skip_below,
                           checked(blocks.problem(), order, penalty, sigma, w, g, average));
}

double answered_pass(DualBlocks& blocks, Order order, std::span<const std::int32_t> labels, int steps,
                     const Penalty& penalty, double sigma, MutableVector w, MutableVector g) {
  return blocks.answered_pass(order, labels, steps, checked(blocks.problem(), order, penalty, sigma, w, g, nullptr))
      .gap;
}

double cached_pass(DualBlocks& blocks, Order order, int steps, double skip_below, const Penalty& penalty, double sigma,
                   MutableVector w, MutableVector g) {
  return blocks.cached_pass(order, steps, skip_below, checked(blocks.problem(), order, penalty, sigma, w, g, nullptr))
      .gap;
}

casimir::PassResult potential_pass(casimir::PotentialBlocks& blocks, Order order, double skip_below,
                                   const Penalty& penalty, double sigma, MutableVector w, MutableVector g) {
  return blocks.pass(order, skip_below, checked(blocks.problem(), order, penalty, sigma, w, g, nullptr));
}

template <class T>
nb::object flat(std::vector<T>&& values) {
  const std::size_t size = values.size();
  return make_array(std::move(values), {size});
}

nb::tuple state_of(const DualBlocks& blocks) {
  casimir::DualState s = blocks.state();
  return nb::make_tuple(s.ell, flat(std::move(s.gaps)), flat(std::move(s.counts)), flat(std::move(s.weights)),
                        flat(std::move(s.outputs)), flat(std::move(s.tabulated)), flat(std::move(s.products)));
}

template <class T>
std::vector<T> copied(std::span<const T> values) {
  return {values.begin(), values.end()};
}

void restore(DualBlocks& blocks, double ell, std::span<const double> gaps, Order counts,
             std::span<const double> weights, std::span<const std::int32_t> outputs, Order tabulated,
             std::span<const double> products) {
  blocks.restore(
      {ell, copied(gaps), copied(counts), copied(weights), copied(outputs), copied(tabulated), copied(products)});
}

nb::tuple potential_state(const casimir::PotentialBlocks& blocks) {
  return nb::make_tuple(flat(copied(std::span(blocks.potentials()))), flat(copied(std::span(blocks.marginals()))),
                        flat(blocks.numbers()));
}

}  // namespace

void bind_dual(nb::module_& m) {
  using ReleaseGil = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<DualAverage>(m, "DualAverage", "sum_t t x_t = mass x - q, and sum_t t ell_t.")
      .def(
          "__init__",
          [](DualAverage* self, MutableVector q) {
            *self = {q.data(), 0.0, 1.0, 0.0, static_cast<std::int64_t>(q.size())};
          },
          nb::arg("q"), nb::keep_alive<1, 2>())
      .def_rw("mass", &DualAverage::mass)
      .def_rw("next_weight", &DualAverage::next_weight)
      .def_rw("ell_sum", &DualAverage::ell_sum);
  nb::class_<DualBlocks>(m, "DualBlocks", "Dual weights of every example over the outputs it has seen.")
      .def_prop_ro("ell", &DualBlocks::ell)
      .def_prop_ro("cached_outputs", &DualBlocks::cached_outputs)
      .def_prop_ro("active_outputs", &DualBlocks::active_outputs)
      .def("ask_together", &DualBlocks::ask_together, nb::arg("at_once"), nb::arg("threads"),
           "Oracles of passes with pairwise steps are asked so many at a time, at one w.")
      .def("exact_pass", &exact_pass, ReleaseGil(), nb::arg("order"), nb::arg("pairwise"), nb::arg("steps"),
           nb::arg("skip_below"), nb::arg("penalty"), nb::arg("sigma"), nb::arg("w"), nb::arg("g").none(),
           nb::arg("average").none(), "An oracle call and steps per example; w (and g) are updated in place.")
      .def("cached_pass", &cached_pass, ReleaseGil(), nb::arg("order"), nb::arg("steps"), nb::arg("skip_below"),
           nb::arg("penalty"), nb::arg("sigma"), nb::arg("w"), nb::arg("g").none(),
           "The mean block gap; moves weight between cached outputs only.")
      .def("answered_pass", &answered_pass, ReleaseGil(), nb::arg("order"), nb::arg("labels"), nb::arg("steps"),
           nb::arg("penalty"), nb::arg("sigma"), nb::arg("w"), nb::arg("g").none(),
           "The mean block gap; labels are the oracle's answers for the examples of the order, given elsewhere.")
      .def("state", &state_of, "All that the next passes depend on: ell and arrays.")
      .def("restore", &restore, nb::arg("ell"), nb::arg("gaps"), nb::arg("counts"), nb::arg("weights"),
           nb::arg("outputs"), nb::arg("tabulated"), nb::arg("products"), "Of new blocks: go on from such a state.");
  nb::class_<casimir::PassResult>(m, "PassResult", "What a pass over dual blocks has seen.")
      .def_ro("gap", &casimir::PassResult::gap)
      .def_ro("oracle_calls", &casimir::PassResult::oracle_calls)
      .def_ro("visits", &casimir::PassResult::visits);
  nb::class_<casimir::PotentialBlocks>(m, "PotentialBlocks", "A distribution over the outputs of every example.")
      .def(nb::init<const casimir::Problem&, double, double>(), nb::arg("problem"), nb::arg("mu"), nb::arg("eta"),
           nb::keep_alive<1, 2>())
      .def_prop_ro("ell", &casimir::PotentialBlocks::ell)
      .def("step_pass", &potential_pass, ReleaseGil(), nb::arg("order"), nb::arg("skip_below"), nb::arg("penalty"),
           nb::arg("sigma"), nb::arg("w"), nb::arg("g").none(), "A step per example; w (and g) are updated in place.")
      .def("state", &potential_state, "Potentials, marginals and a few numbers of every example.")
      .def("restore", &casimir::PotentialBlocks::restore, nb::arg("potentials"), nb::arg("marginals"),
           nb::arg("numbers"), "Go on from such a state.");
}
