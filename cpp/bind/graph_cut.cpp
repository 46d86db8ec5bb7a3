#include "cut/graph_cut.hpp"

#include "offsets.hpp"
#include "oracles.hpp"

namespace {

using BinaryNodes = InArray<double, nb::shape<-1, 2>>;
using Ints = InArray<std::int64_t, nb::ndim<1>>;
using BinaryEdges = InArray<double, nb::shape<-1, 2, 2>>;
using Ends = InArray<std::int64_t, nb::shape<-1, 2>>;

/// Throws unless every edge joins two nodes of its example, and all can be numbered.
void check_graphs(const Ints& offsets, const Ends& ends, const Ints& edge_offsets) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;  // arcs are numbered by 32 bits
  const std::int64_t *at = offsets.data(), *edge_at = edge_offsets.data();
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::int64_t n = at[i + 1] - at[i];
    if (n >= kMost || edge_at[i + 1] - edge_at[i] >= kMost)
      throw std::invalid_argument("an example must have fewer than 2^30 nodes and edges.");
    for (std::int64_t j = 2 * edge_at[i]; j < 2 * edge_at[i + 1]; ++j)
      if (ends.data()[j] < 0 || ends.data()[j] >= n)
        throw std::invalid_argument("an edge names a node that is not there.");
  }
}

struct GraphCutOracles {
  static CheckedBatch<casimir::GraphBatch> batch(const BinaryNodes& nodes, const Ints& offsets,
                                                 const BinaryEdges& edges, const Ends& ends, const Ints& edge_offsets) {
    const std::size_t total = nodes.shape(0);
    const std::int64_t size = checked_examples(offsets, total, true, "offsets");
    if (checked_examples(edge_offsets, ends.shape(0), true, "edge_offsets") != size || edges.shape(0) != ends.shape(0))
      throw std::invalid_argument("offsets and edge_offsets, edges and ends must be of the same length.");
    check_graphs(offsets, ends, edge_offsets);
    return {{nodes.data(), offsets.data(), size, edges.data(), ends.data(), edge_offsets.data()},
            static_cast<std::size_t>(size),
            total,
            {total, 2}};
  }
  static auto arguments() {
    return std::tuple{nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(), nb::arg("edges").noconvert(),
                      nb::arg("ends").noconvert(), nb::arg("edge_offsets").noconvert()};
  }
  static constexpr auto max = &casimir::graph_cut_max;
  static constexpr auto topk = &casimir::graph_cut_topk;
  static constexpr auto max_marginals = &casimir::graph_cut_max_marginals;
  static constexpr OracleDocs docs{.max = "(value f64[n], labels i64[N]) of the lowest best outputs.",
                                   .max_marginals = "f64[N, 2]: best score with node v labelled j."};
};

}  // namespace

void bind_graph_cut(nb::module_& m) { bind_oracles<GraphCutOracles>(m, "graph_cut"); }
