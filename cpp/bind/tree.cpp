#include "edge_scores.hpp"
#include "offsets.hpp"
#include "oracles.hpp"
#include "tree/tree_batch.hpp"
#include "tree_order.hpp"

namespace {

using Nodes = InArray<double, nb::ndim<2>>;
using Ints = InArray<std::int64_t, nb::ndim<1>>;

struct TreeOracles {
  static CheckedBatch<casimir::TreeBatch> batch(const Nodes& nodes, const Ints& offsets, const EdgeScores& edges,
                                                const Ints& node, const Ints& parent, const Ints& subtree) {
    const std::size_t total = nodes.shape(0), labels = nodes.shape(1);
    checked_label_count(labels);
    const std::int64_t size = checked_examples(offsets, total, false, "offsets");
    if (node.size() != total || parent.size() != total || subtree.size() != total)
      throw std::invalid_argument("node, parent and subtree need one entry per node.");
    const casimir::TreeOrderView order{node.data(), parent.data(), subtree.data()};
    check_tree_order(order, offsets.data(), size);
    const bool shared = checked_shared(edges, total, labels, "nodes");
    return {{nodes.data(), offsets.data(), size, edges.data(), shared, static_cast<int>(labels), order},
            static_cast<std::size_t>(size),
            total,
            {total, labels},
            {total, labels, labels}};
  }
  static auto arguments() {
    return std::tuple{nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(), nb::arg("edges").noconvert(),
                      nb::arg("node").noconvert(),  nb::arg("parent").noconvert(),  nb::arg("subtree").noconvert()};
  }
  static constexpr auto max = &casimir::tree_max;
  static constexpr auto topk = &casimir::tree_topk;
  static constexpr auto expect = &casimir::tree_expect;
  static constexpr auto max_marginals = &casimir::tree_max_marginals;
  static constexpr OracleDocs docs{.expect = "(value f64[n], node marginals f64[N, L], edge marginals f64[N, L, L])."};
};

nb::object order(const Ints& parents, const Ints& offsets) {
  const std::size_t total = parents.size();
  const std::int64_t size = checked_examples(offsets, total, false, "offsets");
  casimir::TreeOrder found = without_gil([&] { return casimir::tree_order(parents.data(), offsets.data(), size); });
  return nb::make_tuple(make_frozen_array(std::move(found.node), {total}),
                        make_frozen_array(std::move(found.parent), {total}),
                        make_frozen_array(std::move(found.subtree), {total}));
}

}  // namespace

void bind_tree(nb::module_& m) {
  m.def("tree_order", &order, nb::arg("parents").noconvert(), nb::arg("offsets").noconvert(),
        "(node, parent, subtree) i64[N]: preorder of each forest; positions, and the number of nodes below each.");
  bind_oracles<TreeOracles>(m, "tree");
}
