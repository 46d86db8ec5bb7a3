#include "tree/linear_tree.hpp"

#include "token_features.hpp"
#include "tree_order.hpp"

namespace {

std::unique_ptr<casimir::Problem> make_linear_tree(Ints offsets, Ints indptr, Indices indices, nb::object values,
                                                   std::int64_t n_features, int n_labels, Ints node, Ints parent,
                                                   Ints subtree, nb::object y, nb::object fixed_nodes,
                                                   nb::object fixed_pairs, nb::object truth, nb::object cells,
                                                   std::int64_t n_weights) {
  const auto data =
      checked_tokens(offsets, indptr, indices, values, n_features, n_labels, y, truth, fixed_nodes, fixed_pairs);
  const std::size_t nodes = indptr.size() - 1;
  if (node.size() != nodes || parent.size() != nodes || subtree.size() != nodes)
    throw std::invalid_argument("node, parent and subtree need one entry per node.");
  const casimir::TreeOrderView order{node.data(), parent.data(), subtree.data()};
  check_tree_order(order, data.offsets, data.n);
  return std::make_unique<casimir::LinearTree>(data, order,
                                               checked_cells(cells, n_features + n_labels, n_labels, n_weights));
}

}  // namespace

void bind_linear_tree(nb::module_& m) {
  m.def("linear_tree", &make_linear_tree, nb::arg("offsets").noconvert(), nb::arg("indptr").noconvert(),
        nb::arg("indices").noconvert(), nb::arg("values").none(), nb::arg("n_features"), nb::arg("n_labels"),
        nb::arg("node").noconvert(), nb::arg("parent").noconvert(), nb::arg("subtree").noconvert(), nb::arg("y").none(),
        nb::arg("fixed_nodes").none(), nb::arg("fixed_pairs").none(), nb::arg("truth").none() = nb::none(),
        nb::arg("cells").none() = nb::none(), nb::arg("n_weights") = 0, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(),
        nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>(), nb::keep_alive<0, 7>(), nb::keep_alive<0, 8>(),
        nb::keep_alive<0, 9>(), nb::keep_alive<0, 10>(), nb::keep_alive<0, 12>(), nb::keep_alive<0, 13>(),
        nb::keep_alive<0, 14>(), "A Problem of trees with sparse node features.");
}
