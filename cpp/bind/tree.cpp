#include "oracles.hpp"
#include "tree/tree_batch.hpp"
#include "tree_order.hpp"

namespace {

using Nodes = InArray<double, nb::ndim<2>>;
using Ints = InArray<std::int64_t, nb::ndim<1>>;
using AnyEdges = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

/// Offsets that rise from 0 to `total`, with at least one node per tree.
std::int64_t check_offsets(const Ints& offsets, std::size_t total) {
  if (offsets.size() < 1) throw std::invalid_argument("offsets needs at least one entry.");
  const auto size = static_cast<std::int64_t>(offsets.size()) - 1;
  if (offsets.data()[0] != 0 || offsets.data()[size] != static_cast<std::int64_t>(total))
    throw std::invalid_argument("offsets must go from 0 to the number of nodes.");
  for (std::int64_t i = 0; i < size; ++i)
    if (offsets.data()[i + 1] <= offsets.data()[i]) throw std::invalid_argument("a tree needs at least one node.");
  return size;
}

/// Checks that the arrays fit together before any kernel reads them.
casimir::TreeBatch make_batch(const Nodes& nodes, const Ints& offsets, const AnyEdges& edges, const Ints& node,
                              const Ints& parent, const Ints& subtree) {
  const std::size_t labels = nodes.shape(1), total = nodes.shape(0);
  if (labels < 1) throw std::invalid_argument("a tree needs at least one label.");
  const std::int64_t size = check_offsets(offsets, total);
  if (node.size() != total || parent.size() != total || subtree.size() != total)
    throw std::invalid_argument("node, parent and subtree need one entry per node.");
  const casimir::TreeOrderView order{node.data(), parent.data(), subtree.data()};
  check_tree_order(order, offsets.data(), size);
  const bool shared = edges.ndim() == 2;
  if ((edges.ndim() != 2 && edges.ndim() != 3) || edges.shape(edges.ndim() - 1) != labels ||
      edges.shape(edges.ndim() - 2) != labels || (!shared && edges.shape(0) != total))
    throw std::invalid_argument("edges must be [labels, labels] or [nodes, labels, labels].");
  return {nodes.data(), offsets.data(), size, edges.data(), shared, static_cast<int>(labels), order};
}

nb::object order_oracle(Ints parents, Ints offsets) {
  const std::int64_t size = check_offsets(offsets, parents.size());
  casimir::TreeOrder order;
  {
    nb::gil_scoped_release release;
    order = casimir::tree_order(parents.data(), offsets.data(), size);
  }
  const std::size_t total = parents.size();
  return nb::make_tuple(make_array(std::move(order.node), {total}), make_array(std::move(order.parent), {total}),
                        make_array(std::move(order.subtree), {total}));
}

nb::object max_oracle(Nodes nodes, Ints offsets, AnyEdges edges, Ints node, Ints parent, Ints subtree, int threads) {
  const auto batch = make_batch(nodes, offsets, edges, node, parent, subtree);
  return max_arrays(offsets.size() - 1, nodes.shape(0),
                    [&](double* values, std::int64_t* labels) { casimir::tree_max(batch, threads, values, labels); });
}

nb::object topk_oracle(Nodes nodes, Ints offsets, AnyEdges edges, Ints node, Ints parent, Ints subtree, std::int64_t k,
                       double mu, int threads) {
  const auto batch = make_batch(nodes, offsets, edges, node, parent, subtree);
  return topk_arrays(k, mu, [&] { return casimir::tree_topk(batch, k, mu, threads); });
}

nb::object exp_oracle(Nodes nodes, Ints offsets, AnyEdges edges, Ints node, Ints parent, Ints subtree, double mu,
                      int threads) {
  const auto batch = make_batch(nodes, offsets, edges, node, parent, subtree);
  return expect_arrays(offsets.size() - 1, nodes.shape(0), nodes.shape(0), nodes.shape(1), mu,
                       [&](double* values, double* node_out, double* edge_out) {
                         casimir::tree_expect(batch, mu, threads, values, node_out, edge_out);
                       });
}

nb::object max_marginals(Nodes nodes, Ints offsets, AnyEdges edges, Ints node, Ints parent, Ints subtree, int threads) {
  const auto batch = make_batch(nodes, offsets, edges, node, parent, subtree);
  return table_array(nodes.shape(0), nodes.shape(1),
                     [&](double* out) { casimir::tree_max_marginals(batch, threads, out); });
}

template <class Function, class... Extra>
void define(nb::module_& m, const char* name, Function function, const Extra&... extra) {
  m.def(name, function, nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(), nb::arg("edges").noconvert(),
        nb::arg("node").noconvert(), nb::arg("parent").noconvert(), nb::arg("subtree").noconvert(), extra...);
}

}  // namespace

void bind_tree(nb::module_& m) {
  m.def("tree_order", &order_oracle, nb::arg("parents").noconvert(), nb::arg("offsets").noconvert(),
        "(node, parent, subtree) i64[N]: preorder of each forest; positions, and the number of nodes below each.");
  define(m, "tree_max", &max_oracle, nb::arg("threads"), "(value f64[n], labels i64[N]) of the best outputs.");
  define(
      m, "tree_topk", &topk_oracle, nb::arg("k"), nb::arg("mu"), nb::arg("threads"),
      "(values f64[sum k_i], counts i64[n], labels i64[sum k_i p_i]); a finite mu stops once l2 smoothing is exact.");
  define(m, "tree_expect", &exp_oracle, nb::arg("mu"), nb::arg("threads"),
         "(value f64[n], node marginals f64[N, L], edge marginals f64[N, L, L]).");
  define(m, "tree_max_marginals", &max_marginals, nb::arg("threads"), "f64[N, L]: best score with node v labelled j.");
}
