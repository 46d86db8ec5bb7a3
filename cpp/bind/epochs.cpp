#include "solve/epochs.hpp"

#include <limits>

#include "problem.hpp"

namespace {

using Vector = InArray<double, nb::ndim<1>>;
using OutVector = InOutArray<double, nb::ndim<1>>;
using Order = InArray<std::int64_t, nb::ndim<1>>;

casimir::Smoothing make_smoothing(const std::string& kind, std::int64_t k, double mu) {
  if (kind == "hard") return {casimir::SmoothingKind::kHard, 1, 0.0};
  if (!(mu > 0.0)) throw std::invalid_argument("smoothing needs mu > 0.");
  if (kind == "entropy") return {casimir::SmoothingKind::kEntropy, 1, mu};
  if (kind != "l2") throw std::invalid_argument("unknown smoothing " + kind + ".");
  if (k < 1) throw std::invalid_argument("l2 smoothing needs k >= 1.");
  return {casimir::SmoothingKind::kL2, k, mu};
}

void check_size(std::size_t size, std::int64_t expected, const char* name) {
  if (static_cast<std::int64_t>(size) != expected)
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(size) + " entries instead of " +
                                std::to_string(expected) + ".");
}

void check_order(const Order& order, std::int64_t n) {
  for (std::size_t t = 0; t < order.size(); ++t)
    if (order.data()[t] < 0 || order.data()[t] >= n)
      throw std::invalid_argument("order names an example that does not exist.");
}

nb::object full_pass(const ProblemHandle& handle, Vector w, const std::string& kind, std::int64_t k, double mu,
                     int threads, nb::object parts, nb::object gradient) {
  const casimir::Problem& problem = *handle.problem;
  check_labelled(handle);
  const std::int64_t n = problem.size();
  check_size(w.size(), problem.dim(), "w");
  const auto smoothing = make_smoothing(kind, k, mu);
  double *parts_data = nullptr, *gradient_data = nullptr;
  if (!parts.is_none()) {
    const auto array = array_of<OutVector>(parts, "parts");
    check_size(array.size(), problem.part_offset(n), "parts");
    parts_data = array.data();
  }
  if (!gradient.is_none()) {
    const auto array = array_of<OutVector>(gradient, "gradient");
    check_size(array.size(), problem.dim(), "gradient");
    gradient_data = array.data();
  }
  std::vector<casimir::Answer> answers(static_cast<std::size_t>(n));
  {
    nb::gil_scoped_release release;
    casimir::full_pass(problem, w.data(), smoothing, threads, answers.data(), parts_data, gradient_data);
  }
  std::vector<double> value, max_value, cost;
  std::vector<std::uint8_t> exact;
  for (auto* column : {&value, &max_value, &cost}) column->reserve(answers.size());
  exact.reserve(answers.size());
  for (const auto& answer : answers) {
    value.push_back(answer.value);
    max_value.push_back(answer.max_value);
    cost.push_back(answer.cost);
    exact.push_back(answer.exact);
  }
  const std::size_t size = answers.size();
  return nb::make_tuple(make_array(std::move(value), {size}), make_array(std::move(max_value), {size}),
                        make_array(std::move(cost), {size}), make_array(std::move(exact), {size}));
}

nb::object sgd_epoch(const ProblemHandle& handle, Order order, Vector gamma, nb::object averaging, double lam,
                     const std::string& kind, std::int64_t k, double mu, OutVector w, nb::object q, double mass) {
  const casimir::Problem& problem = *handle.problem;
  check_labelled(handle);
  check_size(w.size(), problem.dim(), "w");
  check_size(gamma.size(), static_cast<std::int64_t>(order.size()), "gamma");
  check_order(order, problem.size());
  const auto smoothing = make_smoothing(kind, k, mu);
  casimir::AveragedIterate iterate{w.data(), 1.0, nullptr, mass};
  const double* weights = nullptr;
  if (!q.is_none()) {
    const auto array = array_of<OutVector>(q, "q");
    check_size(array.size(), problem.dim(), "q");
    const auto given = array_of<Vector>(averaging, "averaging");
    check_size(given.size(), static_cast<std::int64_t>(order.size()), "averaging");
    iterate.q = array.data();
    weights = given.data();
  }
  casimir::SeenSums seen;
  {
    nb::gil_scoped_release release;
    seen = casimir::sgd_epoch(problem, order.data(), static_cast<std::int64_t>(order.size()), gamma.data(), weights,
                              lam, smoothing, iterate);
  }
  return nb::make_tuple(seen.loss, seen.cost, iterate.mass);
}

double svrg_epoch(const ProblemHandle& handle, Order order, double gamma, double sigma, Vector c, Vector snapshot,
                  const std::string& kind, std::int64_t k, double mu, OutVector w, OutVector average) {
  const casimir::Problem& problem = *handle.problem;
  check_labelled(handle);
  check_size(w.size(), problem.dim(), "w");
  check_size(c.size(), problem.dim(), "c");
  check_size(average.size(), problem.dim(), "average");
  check_size(snapshot.size(), problem.part_offset(problem.size()), "snapshot");
  check_order(order, problem.size());
  if (order.size() == 0) throw std::invalid_argument("an SVRG epoch needs at least one step.");
  const auto smoothing = make_smoothing(kind, k, mu);
  nb::gil_scoped_release release;
  return casimir::svrg_epoch(problem, order.data(), static_cast<std::int64_t>(order.size()), gamma, sigma, c.data(),
                             snapshot.data(), smoothing, w.data(), average.data());
}

}  // namespace

void bind_epochs(nb::module_& m) {
  nb::class_<ProblemHandle>(m, "Problem", "A finite sum with linear scores whose epochs run natively.")
      .def_prop_ro("size", [](const ProblemHandle& h) { return h.problem->size(); })
      .def_prop_ro("dim", [](const ProblemHandle& h) { return h.problem->dim(); })
      .def_prop_ro("n_parts", [](const ProblemHandle& h) { return h.problem->part_offset(h.problem->size()); })
      .def("full_pass", &full_pass, nb::arg("w").noconvert(), nb::arg("kind"), nb::arg("k"), nb::arg("mu"),
           nb::arg("threads"), nb::arg("parts").none(), nb::arg("gradient").none(),
           "(value, max_value, cost, exact) of every example; fills parts and gradient when given.")
      .def("sgd_epoch", &sgd_epoch, nb::arg("order").noconvert(), nb::arg("gamma").noconvert(),
           nb::arg("averaging").none(), nb::arg("lam"), nb::arg("kind"), nb::arg("k"), nb::arg("mu"),
           nb::arg("w").noconvert(), nb::arg("q").none(), nb::arg("mass"),
           "(sum of losses, sum of costs, mass); w and q are updated in place, and sum_t a_t w_t = mass w - q.")
      .def("svrg_epoch", &svrg_epoch, nb::arg("order").noconvert(), nb::arg("gamma"), nb::arg("sigma"),
           nb::arg("c").noconvert(), nb::arg("snapshot").noconvert(), nb::arg("kind"), nb::arg("k"), nb::arg("mu"),
           nb::arg("w").noconvert(), nb::arg("average").noconvert(),
           "Sum of losses; w is updated in place and average becomes the mean iterate.");
}
