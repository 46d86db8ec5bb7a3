#include "labels/linear_labels.hpp"

#include <algorithm>
#include <span>

#include "feature_rows.hpp"
#include "labels/label_tree.hpp"
#include "labels/pairwise_labels.hpp"

namespace {

using casimir::LabelGraph;
using Ends = InArray<std::int64_t, nb::shape<-1, 2>>;
using Graph = std::shared_ptr<const LabelGraph>;

struct SharedGraph {
  Graph graph;
};

SharedGraph make_tree(Ints parents, Ints children) {
  if (parents.size() < 1) throw std::invalid_argument("there must be at least one label.");
  return {std::make_shared<casimir::LabelTree>(std::span(parents.data(), parents.size()),
                                               std::span(children.data(), children.size()))};
}

SharedGraph make_junction(int labels, Ends ends, double max_cells) {
  shape_of(labels);
  return {
      std::make_shared<casimir::LabelJunction>(labels, std::span(ends.data(), ends.size()), std::min(max_cells, 1e15))};
}

SharedGraph make_cut(int labels, Ends ends) {
  shape_of(labels);
  return {std::make_shared<casimir::LabelCut>(labels, std::span(ends.data(), ends.size()))};
}

std::unique_ptr<casimir::Problem> make_labels(const SharedGraph& graph, std::size_t n,
                                              const casimir::FeatureRows& features, const nb::object& y,
                                              const nb::object& fixed, const nb::object& truth) {
  const int labels = graph.graph->labels();
  const std::size_t cells = n * static_cast<std::size_t>(labels);
  const auto marginals = static_cast<std::size_t>(casimir::label_width(*graph.graph)) * n;
  return std::make_unique<casimir::LinearLabels>(
      casimir::LinearLabelsData{static_cast<std::int64_t>(n), features, graph.graph, checked_labels(y, cells, 2),
                                checked_marginals(truth, marginals), checked_scores(fixed, cells, 2, "fixed")});
}

std::unique_ptr<casimir::Problem> make_sparse_labels(const SharedGraph& graph, Ints indptr, Indices indices,
                                                     nb::object values, std::int64_t n_features, double bias,
                                                     nb::object y, nb::object fixed, nb::object truth) {
  const auto features = sparse_rows(indptr, indices, values, n_features, bias, graph.graph->labels());
  return make_labels(graph, indptr.size() - 1, features, y, fixed, truth);
}

template <class T>
std::unique_ptr<casimir::Problem> make_dense_labels(const SharedGraph& graph, InArray<T, nb::ndim<2>> x, double bias,
                                                    nb::object y, nb::object fixed, nb::object truth) {
  return make_labels(graph, x.shape(0), dense_rows(x, bias, graph.graph->labels()), y, fixed, truth);
}

template <class T>
void bind_dense_labels(nb::module_& m) {
  m.def("dense_labels", &make_dense_labels<T>, nb::arg("graph"), nb::arg("features").noconvert(), nb::arg("bias"),
        nb::arg("y").none(), nb::arg("fixed").none(), nb::arg("truth").none() = nb::none(), nb::keep_alive<0, 2>(),
        nb::keep_alive<0, 4>(), nb::keep_alive<0, 6>(),
        "A Problem of sets of labels with dense features, float64 or float32 [n, d].");
}

}  // namespace

void bind_linear_labels(nb::module_& m) {
  nb::class_<SharedGraph>(m, "LabelGraph", "Which pairs of labels interact.");
  m.def("label_tree", &make_tree, nb::arg("parents").noconvert(), nb::arg("children").noconvert(),
        "A forest: the parent of every label, and the lower end of every edge in the order of the weights.");
  m.def("label_junction", &make_junction, nb::arg("n_labels"), nb::arg("ends").noconvert(), nb::arg("max_cells"),
        "A graph of small treewidth.");
  m.def("label_cut", &make_cut, nb::arg("n_labels"), nb::arg("ends").noconvert(),
        "A graph whose pairs have weights of 0 or more.");
  m.def("sparse_labels", &make_sparse_labels, nb::arg("graph"), nb::arg("indptr").noconvert(),
        nb::arg("indices").noconvert(), nb::arg("values").none(), nb::arg("n_features"), nb::arg("bias"),
        nb::arg("y").none(), nb::arg("fixed").none(), nb::arg("truth").none() = nb::none(), nb::keep_alive<0, 2>(),
        nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>(), nb::keep_alive<0, 7>(), nb::keep_alive<0, 9>(),
        "A Problem of sets of labels with sparse features.");
  bind_dense_labels<double>(m);
  bind_dense_labels<float>(m);
}
