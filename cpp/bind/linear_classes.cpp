#include "classes/linear_classes.hpp"

#include "token_features.hpp"

namespace {

casimir::RowShape shape_of(int n_labels) {
  if (n_labels < 1) throw std::invalid_argument("there must be at least one class.");
  return {n_labels, casimir::stride_of(n_labels)};
}

std::unique_ptr<casimir::Problem> make(std::size_t n, const casimir::FeatureRows& features, int n_labels,
                                       const nb::object& y, const nb::object& cost, const nb::object& truth) {
  if (n < 1) throw std::invalid_argument("there must be at least one example.");
  const double* of_truth = nullptr;
  if (!truth.is_none()) {
    const auto array = array_of<InArray<double, nb::ndim<1>>>(truth, "truth");
    if (array.size() != n * static_cast<std::size_t>(features.shape().stride))
      throw std::invalid_argument("truth has the wrong size.");
    of_truth = array.data();
  }
  return std::make_unique<casimir::LinearClasses>(
      casimir::LinearClassesData{static_cast<std::int64_t>(n), features, checked_labels(y, n, n_labels), of_truth,
                                 checked_scores(cost, n, n_labels, "cost")});
}

std::unique_ptr<casimir::Problem> make_sparse(Ints indptr, Indices indices, nb::object values, std::int64_t n_features,
                                              double bias, int n_labels, nb::object y, nb::object cost,
                                              nb::object truth) {
  if (indptr.size() < 2) throw std::invalid_argument("there must be at least one example.");
  check_features(indptr, indices, n_features);
  const casimir::TokenFeatures x{indptr.data(), indices.data(), checked_values(values, indices.size())};
  return make(indptr.size() - 1, casimir::FeatureRows(x, n_features, bias, shape_of(n_labels)), n_labels, y, cost,
              truth);
}

template <class T>
std::unique_ptr<casimir::Problem> make_dense(InArray<T, nb::ndim<2>> x, double bias, int n_labels, nb::object y,
                                             nb::object cost, nb::object truth) {
  const auto dim = static_cast<std::int64_t>(x.shape(1));
  if (dim < 1) throw std::invalid_argument("features needs at least one column.");
  return make(x.shape(0), casimir::FeatureRows(x.data(), dim, bias, shape_of(n_labels)), n_labels, y, cost, truth);
}

template <class T>
void bind_dense(nb::module_& m) {
  m.def("dense_classes", &make_dense<T>, nb::arg("features").noconvert(), nb::arg("bias"), nb::arg("n_labels"),
        nb::arg("y").none(), nb::arg("cost").none(), nb::arg("truth").none() = nb::none(), nb::keep_alive<0, 1>(),
        nb::keep_alive<0, 4>(), nb::keep_alive<0, 6>(),
        "A Problem of classes with dense features, float64 or float32 [n, d].");
}

}  // namespace

void bind_linear_classes(nb::module_& m) {
  m.def("sparse_classes", &make_sparse, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
        nb::arg("values").none(), nb::arg("n_features"), nb::arg("bias"), nb::arg("n_labels"), nb::arg("y").none(),
        nb::arg("cost").none(), nb::arg("truth").none() = nb::none(), nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(),
        nb::keep_alive<0, 3>(), nb::keep_alive<0, 7>(), nb::keep_alive<0, 9>(),
        "A Problem of classes with sparse features.");
  bind_dense<double>(m);
  bind_dense<float>(m);
}
