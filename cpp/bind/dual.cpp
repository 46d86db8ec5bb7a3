#include "solve/dual.hpp"

#include "candidates/candidate_dual.hpp"
#include "chain/chain_dual.hpp"
#include "problem.hpp"
#include "tree/tree_dual.hpp"

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

/// (gap, oracle calls, visits) of a pass over `order`, run without the GIL.
template <class Pass>
nb::object run_pass(const DualHandle& dual, const Order& order, const OutVector& w, double sigma, Pass&& pass) {
  check(dual, order, w, sigma);
  casimir::PassResult result;
  {
    nb::gil_scoped_release release;
    result = pass(order.data(), static_cast<std::int64_t>(order.size()), w.data());
  }
  return nb::make_tuple(result.gap, result.oracle_calls, result.visits);
}

nb::object exact_pass(DualHandle& dual, Order order, double sigma, bool pairwise, int steps, OutVector w,
                      casimir::DualAverage* average) {
  const auto rule = pairwise ? casimir::StepRule::kPairwise : casimir::StepRule::kFrankWolfe;
  return run_pass(dual, order, w, sigma, [&](const std::int64_t* examples, std::int64_t count, double* out) {
    return dual.blocks->exact_pass(examples, count, sigma, rule, steps, out, average);
  });
}

nb::object cached_pass(DualHandle& dual, Order order, double sigma, int steps, double skip_below, OutVector w) {
  return run_pass(dual, order, w, sigma, [&](const std::int64_t* examples, std::int64_t count, double* out) {
    return dual.blocks->cached_pass(examples, count, sigma, steps, skip_below, out);
  });
}

nb::object averaged_pass(DualHandle& dual, Order order, double sigma, bool pairwise, int steps, OutVector w,
                         OutVector q, double mass, double next_weight, double ell_sum) {
  check(dual, order, q, sigma);
  casimir::DualAverage average{q.data(), mass, next_weight, ell_sum};
  nb::object result = exact_pass(dual, order, sigma, pairwise, steps, w, &average);
  return nb::make_tuple(result, average.mass, average.next_weight, average.ell_sum);
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
            return exact_pass(d, order, sigma, pairwise, steps, w, nullptr);
          },
          nb::arg("order").noconvert(), nb::arg("sigma"), nb::arg("pairwise"), nb::arg("steps"),
          nb::arg("w").noconvert(), "(mean block gap, oracle calls, visits); w is updated in place.")
      .def("averaged_pass", &averaged_pass, nb::arg("order").noconvert(), nb::arg("sigma"), nb::arg("pairwise"),
           nb::arg("steps"), nb::arg("w").noconvert(), nb::arg("q").noconvert(), nb::arg("mass"),
           nb::arg("next_weight"), nb::arg("ell_sum"),
           "An exact pass that also keeps sum_t t w_t = mass w - q and sum_t t ell_t.")
      .def("cached_pass", &cached_pass, nb::arg("order").noconvert(), nb::arg("sigma"), nb::arg("steps"),
           nb::arg("skip_below"), nb::arg("w").noconvert(),
           "(mean block gap, 0, visits); moves weight between cached outputs only.");
  m.def("dual_blocks", &make_dual, nb::arg("problem"), "Dual blocks of a Problem with labels, starting at the truth.");
}
