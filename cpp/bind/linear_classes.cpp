#include "classes/linear_classes.hpp"

#include "feature_rows.hpp"

namespace {

std::unique_ptr<casimir::Problem> make_classes(std::size_t n, const casimir::FeatureRows& features, int n_labels,
                                               const nb::object& y, const nb::object& cost, const nb::object& truth) {
  const double* of_truth = checked_marginals(truth, n * static_cast<std::size_t>(features.shape().stride));
  return std::make_unique<casimir::LinearClasses>(
      casimir::LinearClassesData{static_cast<std::int64_t>(n), features, checked_labels(y, n, n_labels), of_truth,
                                 checked_scores(cost, n, n_labels, "cost")});
}

std::unique_ptr<casimir::Problem> make_sparse_classes(Ints indptr, Indices indices, nb::object values,
                                                      std::int64_t n_features, double bias, int n_labels, nb::object y,
                                                      nb::object cost, nb::object truth) {
  const auto features = sparse_rows(indptr, indices, values, n_features, bias, n_labels);
  return make_classes(indptr.size() - 1, features, n_labels, y, cost, truth);
}

template <class T>
std::unique_ptr<casimir::Problem> make_dense_classes(InArray<T, nb::ndim<2>> x, double bias, int n_labels, nb::object y,
                                                     nb::object cost, nb::object truth) {
  return make_classes(x.shape(0), dense_rows(x, bias, n_labels), n_labels, y, cost, truth);
}

template <class T>
void bind_dense_classes(nb::module_& m) {
  m.def("dense_classes", &make_dense_classes<T>, nb::arg("features").noconvert(), nb::arg("bias"), nb::arg("n_labels"),
        nb::arg("y").none(), nb::arg("cost").none(), nb::arg("truth").none() = nb::none(), nb::keep_alive<0, 1>(),
        nb::keep_alive<0, 4>(), nb::keep_alive<0, 6>(),
        "A Problem of classes with dense features, float64 or float32 [n, d].");
}

}  // namespace

void bind_linear_classes(nb::module_& m) {
  m.def("sparse_classes", &make_sparse_classes, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
        nb::arg("values").none(), nb::arg("n_features"), nb::arg("bias"), nb::arg("n_labels"), nb::arg("y").none(),
        nb::arg("cost").none(), nb::arg("truth").none() = nb::none(), nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(),
        nb::keep_alive<0, 3>(), nb::keep_alive<0, 7>(), nb::keep_alive<0, 9>(),
        "A Problem of classes with sparse features.");
  bind_dense_classes<double>(m);
  bind_dense_classes<float>(m);
}
