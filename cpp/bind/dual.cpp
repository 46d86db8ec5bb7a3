#include "casimir/dual.hpp"

#include "casimir/candidate_dual.hpp"
#include "casimir/chain_dual.hpp"
#include "casimir/tree_dual.hpp"
#include "problem.hpp"

namespace {

using OutVector = InOutArray<double, nb::ndim<1>>;
using Order = InArray<std::int64_t, nb::ndim<1>>;

struct DualHandle {
  nb::object problem;  // keeps the data alive
  std::unique_ptr<casimir::DualBlocks> blocks;
  std::int64_t size, dim;
};

DualHandle make_dual(nb::object problem) {
  const auto& handle = nb::cast<const ProblemHandle&>(problem);
  check_labelled(handle);
  DualHandle dual{problem, nullptr, handle.problem->size(), handle.problem->dim()};
  if (const auto* chain = dynamic_cast<const casimir::LinearChain*>(handle.problem.get())) {
    dual.blocks = std::make_unique<casimir::ChainDual>(*chain);
  } else if (const auto* candidates = dynamic_cast<const casimir::LinearCandidates*>(handle.problem.get())) {
    dual.blocks = std::make_unique<casimir::CandidateDual>(*candidates);
  } else if (const auto* trees = dynamic_cast<const casimir::LinearTree*>(handle.problem.get())) {
    dual.blocks = std::make_unique<casimir::TreeDual>(*trees);
  } else {
    throw std::invalid_argument("no native dual blocks for this problem.");
  }
  return dual;
}

void check(const DualHandle& dual, const Order& order, const OutVector& w, double sigma) {
  if (static_cast<std::int64_t>(w.size()) != dual.dim) throw std::invalid_argument("w has the wrong size.");
  if (!(sigma > 0.0)) throw std::invalid_argument("the dual solver needs lam + kappa > 0.");
  for (std::size_t t = 0; t < order.size(); ++t)
    if (order.data()[t] < 0 || order.data()[t] >= dual.size)
      throw std::invalid_argument("order names an example that does not exist.");
}

nb::object to_tuple(const casimir::PassResult& result) {
  return nb::make_tuple(result.gap, result.oracle_calls, result.visits);
}

}  // namespace

void bind_dual(nb::module_& m) {
  nb::class_<DualHandle>(m, "DualBlocks", "Dual weights of every example over the outputs it has seen.")
      .def_prop_ro("ell", [](const DualHandle& d) { return d.blocks->ell(); })
      .def_prop_ro("cached_outputs", [](const DualHandle& d) { return d.blocks->cached_outputs(); })
      .def_prop_ro("active_outputs", [](const DualHandle& d) { return d.blocks->active_outputs(); })
      .def(
          "exact_pass",
          [](DualHandle& d, Order order, double sigma, bool pairwise, int steps, OutVector w) {
            check(d, order, w, sigma);
            casimir::PassResult result;
            {
              nb::gil_scoped_release release;
              result = d.blocks->exact_pass(order.data(), static_cast<std::int64_t>(order.size()), sigma,
                                            pairwise ? casimir::StepRule::kPairwise : casimir::StepRule::kFrankWolfe,
                                            steps, w.data(), nullptr);
            }
            return to_tuple(result);
          },
          nb::arg("order").noconvert(), nb::arg("sigma"), nb::arg("pairwise"), nb::arg("steps"),
          nb::arg("w").noconvert(), "(mean block gap, oracle calls, visits); w is updated in place.")
      .def(
          "averaged_pass",
          [](DualHandle& d, Order order, double sigma, bool pairwise, int steps, OutVector w, OutVector q, double mass,
             double next_weight, double ell_sum) {
            check(d, order, w, sigma);
            check(d, order, q, sigma);
            casimir::DualAverage average{q.data(), mass, next_weight, ell_sum};
            casimir::PassResult result;
            {
              nb::gil_scoped_release release;
              result = d.blocks->exact_pass(order.data(), static_cast<std::int64_t>(order.size()), sigma,
                                            pairwise ? casimir::StepRule::kPairwise : casimir::StepRule::kFrankWolfe,
                                            steps, w.data(), &average);
            }
            return nb::make_tuple(to_tuple(result), average.mass, average.next_weight, average.ell_sum);
          },
          nb::arg("order").noconvert(), nb::arg("sigma"), nb::arg("pairwise"), nb::arg("steps"),
          nb::arg("w").noconvert(), nb::arg("q").noconvert(), nb::arg("mass"), nb::arg("next_weight"),
          nb::arg("ell_sum"), "An exact pass that also keeps sum_t t w_t = mass w - q and sum_t t ell_t.")
      .def(
          "cached_pass",
          [](DualHandle& d, Order order, double sigma, int steps, double skip_below, OutVector w) {
            check(d, order, w, sigma);
            casimir::PassResult result;
            {
              nb::gil_scoped_release release;
              result = d.blocks->cached_pass(order.data(), static_cast<std::int64_t>(order.size()), sigma, steps,
                                             skip_below, w.data());
            }
            return to_tuple(result);
          },
          nb::arg("order").noconvert(), nb::arg("sigma"), nb::arg("steps"), nb::arg("skip_below"),
          nb::arg("w").noconvert(), "(mean block gap, 0, visits); moves weight between cached outputs only.");
  m.def("dual_blocks", &make_dual, nb::arg("problem"), "Dual blocks of a Problem with labels, starting at the truth.");
}
