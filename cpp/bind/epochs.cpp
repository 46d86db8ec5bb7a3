#include "solve/epochs.hpp"

#include <algorithm>
#include <vector>

#include "base/vectors.hpp"
#include "oracles.hpp"
#include "solve/online.hpp"
#include "spans.hpp"

namespace {

using casimir::Answer;
using casimir::MutableVector;
using casimir::Problem;
using casimir::Vector;

using ReleaseGil = nb::call_guard<nb::gil_scoped_release>;

void make_smoothing(casimir::Smoothing* self, const std::string& kind, std::int64_t k, double mu) {
  if (kind != "hard" && !(mu > 0.0)) throw std::invalid_argument("smoothing needs mu > 0.");
  if (kind == "hard")
    *self = {casimir::SmoothingKind::kHard, 1, 0.0};
  else if (kind == "entropy")
    *self = {casimir::SmoothingKind::kEntropy, 1, mu};
  else if (kind == "l2" && k >= 1)
    *self = {casimir::SmoothingKind::kL2, k, mu};
  else
    throw std::invalid_argument(kind == "l2" ? "l2 smoothing needs k >= 1." : "unknown smoothing " + kind + ".");
}

void make_penalty(casimir::Penalty* self, double l1, double l2, Vector strength, std::span<const std::uint8_t> mask,
                  double kappa, Vector center) {
  std::int64_t n = 0;
  for (const std::size_t size : {strength.size(), mask.size(), center.size()}) {
    if (size != 0 && n != 0 && static_cast<std::int64_t>(size) != n)
      throw std::invalid_argument("the arrays of a penalty must have one length.");
    if (size != 0) n = static_cast<std::int64_t>(size);
  }
  *self = {l1,
           l2,
           strength.empty() ? nullptr : strength.data(),
           mask.empty() ? nullptr : mask.data(),
           kappa,
           center.empty() ? nullptr : center.data(),
           n};
}

void make_online_rule(casimir::OnlineRule* self, const std::string& kind, int slack, double c, bool counts_labels,
                      double gamma) {
  if (!(c > 0.0) || !(gamma > 0.0)) throw std::invalid_argument("c and gamma must be above 0.");
  if (slack < 0 || slack > 2) throw std::invalid_argument("slack must be 0, 1 or 2.");
  if (kind == "perceptron")
    *self = {casimir::OnlineKind::kPerceptron};
  else if (kind == "passive-aggressive")
    *self = {casimir::OnlineKind::kPassiveAggressive, slack, c, counts_labels};
  else if (kind == "arow")
    *self = {casimir::OnlineKind::kArow, 1, 1.0, true, gamma};
  else
    throw std::invalid_argument("unknown online rule " + kind + ".");
}

template <class T, class Of>
nb::object column(const std::vector<Answer>& answers, Of&& of) {
  std::vector<T> values;
  values.reserve(answers.size());
  for (const Answer& answer : answers) values.push_back(of(answer));
  const std::size_t size = values.size();
  return make_array(std::move(values), {size});
}

nb::object full_pass(const Problem& problem, Vector w, const casimir::Smoothing& smoothing, int threads,
                     MutableVector marginals, MutableVector gradient) {
  std::vector<Answer> answers(static_cast<std::size_t>(problem.n_examples()));
  {
    nb::gil_scoped_release release;
    casimir::full_pass(problem, w, smoothing, threads, answers.data(), marginals, gradient);
  }
  return nb::make_tuple(column<double>(answers, [](const Answer& a) { return a.value; }),
                        column<double>(answers, [](const Answer& a) { return a.max_value; }),
                        column<double>(answers, [](const Answer& a) { return a.cost; }),
                        column<double>(answers, [](const Answer& a) { return a.upper; }),
                        column<std::uint8_t>(answers, [](const Answer& a) { return a.exact; }));
}

void check_example(const Problem& problem, std::int64_t i) {
  if (i < 0 || i >= problem.n_examples()) throw std::invalid_argument("there is no such example.");
}

/// Offsets have one entry more than there are examples.
std::int64_t marginal_offset(const Problem& problem, std::int64_t i) {
  if (i != problem.n_examples()) check_example(problem, i);
  return problem.marginal_offset(i);
}

std::int64_t output_offset(const Problem& problem, std::int64_t i) {
  if (i != problem.n_examples()) check_example(problem, i);
  return problem.output_offset(i);
}

nb::object oracle(const Problem& problem, std::int64_t i, Vector w, const casimir::Smoothing& smoothing) {
  check_example(problem, i);
  casimir::check_size(w.size(), problem.n_params(), "w");
  std::vector<double> marginals(static_cast<std::size_t>(problem.marginal_count(i)));
  const auto work = problem.workspace();
  const casimir::WeightView view{w.data()};
  problem.load_weights(view, *work);
  const Answer answer = problem.oracle(i, view, smoothing, *work, marginals.data());
  const std::size_t size = marginals.size();
  return nb::make_tuple(answer.value, answer.max_value, answer.cost, make_array(std::move(marginals), {size}));
}

void scatter(const Problem& problem, std::int64_t i, Vector marginals, double scale, MutableVector out) {
  check_example(problem, i);
  casimir::check_size(marginals.size(), problem.marginal_count(i), "marginals");
  casimir::check_size(out.size(), problem.n_params(), "out");
  problem.scatter(i, marginals.data(), {out.data(), scale});
}

/// Only the rows that the example touches are read, and set back to zero.
double squared_norm(const Problem& problem, std::int64_t i, Vector marginals, MutableVector zeros) {
  scatter(problem, i, marginals, 1.0, zeros);
  std::vector<casimir::RowRange> rows;
  problem.touched(i, rows);
  const std::int64_t width = problem.n_params() / problem.rows();
  double total = 0.0;
  for (const auto& [begin, end] : rows) {
    double* row = zeros.data() + begin * width;
    total += casimir::dot(row, row, (end - begin) * width);
    std::fill_n(row, (end - begin) * width, 0.0);  // so that a row that comes twice counts once
  }
  return total;
}

nb::object truth(const Problem& problem, std::int64_t i) {
  check_example(problem, i);
  std::vector<double> marginals(static_cast<std::size_t>(problem.marginal_count(i)));
  problem.subtract_truth(i, marginals.data());
  for (double& value : marginals) value = 0.0 - value;
  const std::size_t size = marginals.size();
  return make_array(std::move(marginals), {size});
}

nb::object decode(const Problem& problem, Vector w, int threads) {
  casimir::check_size(w.size(), problem.n_params(), "w");
  const std::int64_t n = problem.n_examples();
  return max_arrays(static_cast<std::size_t>(n), static_cast<std::size_t>(problem.output_offset(n)),
                    [&](double* values, std::int64_t* labels) { problem.decode(w.data(), threads, labels, values); });
}

/// whole: the active examples of the whole, where the problem is a part of one.
void set_scales(Problem& problem, Vector scales, std::optional<std::int64_t> whole) {
  casimir::check_size(scales.size(), problem.n_examples(), "scales");
  std::int64_t active = 0;
  for (const double scale : scales) active += scale > 0.0;
  problem.set_scales(scales.data(), whole.value_or(active));
}

}  // namespace

void bind_epochs(nb::module_& m) {
  nb::class_<casimir::Smoothing>(m, "Smoothing", "Which smoothed max: 'hard', 'l2' with k, or 'entropy'; and mu.")
      .def("__init__", &make_smoothing, nb::arg("kind"), nb::arg("k"), nb::arg("mu"));
  nb::class_<casimir::Penalty>(m, "Penalty", "sum_j s_j (l1 |w_j| + l2/2 w_j^2) + kappa/2 |w - z|^2, some w_j >= 0.")
      .def("__init__", &make_penalty, nb::arg("l1"), nb::arg("l2"), nb::arg("strength").none(),
           nb::arg("nonnegative").none(), nb::arg("kappa"), nb::arg("center").none(), nb::keep_alive<1, 4>(),
           nb::keep_alive<1, 5>(), nb::keep_alive<1, 7>());
  nb::class_<casimir::IterateSum>(m, "IterateSum", "sum_t a_t w_t = mass w - q, given the last iterate w.")
      .def(
          "__init__",
          [](casimir::IterateSum* self, MutableVector q, double mass) {
            *self = {q.empty() ? nullptr : q.data(), mass};
            self->n_params = static_cast<std::int64_t>(q.size());
          },
          nb::arg("q").none(), nb::arg("mass"), nb::keep_alive<1, 2>())
      .def_ro("mass", &casimir::IterateSum::mass);
  nb::class_<casimir::SeenSums>(m, "SeenSums", "Sums of losses and of expected costs over the steps of an epoch.")
      .def_ro("loss", &casimir::SeenSums::loss)
      .def_ro("cost", &casimir::SeenSums::cost)
      .def_ro("max_loss", &casimir::SeenSums::max_loss);

  nb::class_<Problem>(m, "Problem", "A finite sum with linear scores whose epochs run natively.")
      .def_prop_ro("n_examples", &Problem::n_examples)
      .def_prop_ro("n_params", &Problem::n_params)
      .def_prop_ro("n_marginals", [](const Problem& p) { return p.marginal_offset(p.n_examples()); })
      .def_prop_ro("has_expect", &Problem::has_expect)
      .def("marginal_offset", &marginal_offset, nb::arg("i"))
      .def("output_offset", &output_offset, nb::arg("i"))
      .def("set_scales", &set_scales, nb::arg("scales"), nb::arg("active") = nb::none(), nb::keep_alive<1, 2>(),
           "How much every example counts.")
      .def("full_pass", &full_pass, nb::arg("w"), nb::arg("smoothing"), nb::arg("threads"), nb::arg("marginals").none(),
           nb::arg("gradient").none(),
           "(value, max_value, cost, upper, exact) of every example; fills marginals and gradient when given.")
      .def("oracle", &oracle, nb::arg("i"), nb::arg("w"), nb::arg("smoothing"),
           "(value, max_value, cost, marginals) of one example.")
      .def("scatter", &scatter, nb::arg("i"), nb::arg("marginals"), nb::arg("scale"), nb::arg("out"),
           "out += scale J_i^T marginals.")
      .def("squared_norm", &squared_norm, nb::arg("i"), nb::arg("marginals"), nb::arg("zeros"),
           "|J_i^T marginals|^2; zeros float64[d] is all zeros, before and after.")
      .def("truth", &truth, nb::arg("i"), "The marginals of the true output.")
      .def("decode", &decode, nb::arg("w"), nb::arg("threads"),
           "(value f64[n], outputs i64) of the best outputs, fixed scores included.")
      .def("dual_blocks", &Problem::dual_blocks, nb::call_guard<nb::gil_scoped_release>(), nb::arg("threads") = 1,
           nb::keep_alive<0, 1>(), "Dual blocks that start at the truth.");

  m.def("sgd_epoch", &casimir::sgd_epoch, ReleaseGil(), nb::arg("problem"), nb::arg("order"), nb::arg("gamma"),
        nb::arg("averaging").none(), nb::arg("penalty"), nb::arg("smoothing"), nb::arg("w"), nb::arg("sum"));
  nb::class_<casimir::OnlineRule>(m, "OnlineRule", "'perceptron', 'passive-aggressive' or 'arow', and their numbers.")
      .def("__init__", &make_online_rule, nb::arg("kind"), nb::arg("slack") = 1, nb::arg("c") = 1.0,
           nb::arg("counts_labels") = true, nb::arg("gamma") = 1.0);
  m.def("online_epoch", &casimir::online_epoch, ReleaseGil(), nb::arg("problem"), nb::arg("order"), nb::arg("rule"),
        nb::arg("kept"), nb::arg("first"), nb::arg("w"), nb::arg("sum").none(), nb::arg("variance").none(),
        "The sum of the losses of one visit to every example of order.");
  m.def("svrg_epoch", &casimir::svrg_epoch, ReleaseGil(), nb::arg("problem"), nb::arg("order"), nb::arg("gamma"),
        nb::arg("penalty"), nb::arg("full"), nb::arg("snapshot"), nb::arg("smoothing"), nb::arg("w"),
        nb::arg("average"));
  m.def("saga_epoch", &casimir::saga_epoch, ReleaseGil(), nb::arg("problem"), nb::arg("order"), nb::arg("gamma"),
        nb::arg("averaging").none(), nb::arg("penalty"), nb::arg("table"), nb::arg("mean"), nb::arg("smoothing"),
        nb::arg("w"), nb::arg("sum"));
}
