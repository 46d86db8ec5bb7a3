#include "tree/linear_tree.hpp"

#include "oracles.hpp"
#include "token_features.hpp"
#include "tree_order.hpp"

namespace {

ProblemHandle make_linear_tree(Ints offsets, Ints indptr, Indices indices, nb::object values, std::int64_t n_features,
                               int n_labels, Ints node, Ints parent, Ints subtree, nb::object y, nb::object cost) {
  ProblemHandle handle;
  const auto data = make_tokens(offsets, indptr, indices, values, n_features, n_labels, y, cost, handle);
  const std::size_t nodes = indptr.size() - 1;
  if (node.size() != nodes || parent.size() != nodes || subtree.size() != nodes)
    throw std::invalid_argument("node, parent and subtree need one entry per node.");
  const casimir::TreeOrderView order{node.data(), parent.data(), subtree.data()};
  check_tree_order(order, data.offsets, data.size);
  for (const nb::object& owner : {nb::cast(node), nb::cast(parent), nb::cast(subtree)}) handle.owners.push_back(owner);
  handle.problem = std::make_unique<casimir::LinearTree>(data, order);
  return handle;
}

nb::object decode_trees(const ProblemHandle& handle, InArray<double, nb::ndim<1>> w, int threads) {
  const auto& trees = problem_as<casimir::LinearTree>(handle, w, "decode_trees needs linear trees.");
  const auto n = static_cast<std::size_t>(trees.size());
  return max_arrays(n, static_cast<std::size_t>(trees.data().offsets[n]),
                    [&](double* values, std::int64_t* labels) { trees.decode(w.data(), threads, labels, values); });
}

}  // namespace

void bind_linear_tree(nb::module_& m) {
  m.def("linear_tree", &make_linear_tree, nb::arg("offsets").noconvert(), nb::arg("indptr").noconvert(),
        nb::arg("indices").noconvert(), nb::arg("values").none(), nb::arg("n_features"), nb::arg("n_labels"),
        nb::arg("node").noconvert(), nb::arg("parent").noconvert(), nb::arg("subtree").noconvert(), nb::arg("y").none(),
        nb::arg("cost").none(), "A Problem of trees with sparse node features.");
  m.def("decode_trees", &decode_trees, nb::arg("problem"), nb::arg("w").noconvert(), nb::arg("threads"),
        "(value f64[n], labels i64[nodes]) of the best outputs without cost.");
}
