#include "cut/graph_cut.hpp"

#include "oracles.hpp"

namespace {

using Nodes = InArray<double, nb::shape<-1, 2>>;
using Offsets = InArray<std::int64_t, nb::ndim<1>>;
using Edges = InArray<double, nb::shape<-1, 2, 2>>;
using Ends = InArray<std::int64_t, nb::shape<-1, 2>>;

void check_offsets(const Offsets& offsets, std::size_t rows, const char* name) {
  const std::int64_t* at = offsets.data();
  bool rises = offsets.size() >= 1 && at[0] == 0 && at[offsets.size() - 1] == static_cast<std::int64_t>(rows);
  for (std::size_t i = 0; rises && i + 1 < offsets.size(); ++i) rises = at[i] <= at[i + 1];
  if (!rises) throw std::invalid_argument(std::string(name) + " must rise from 0 to the number of rows.");
}

/// Checks that the arrays fit together before any kernel reads them.
casimir::GraphBatch make_batch(const Nodes& nodes, const Offsets& offsets, const Edges& edges, const Ends& ends,
                               const Offsets& edge_offsets) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;  // arcs are numbered by 32 bits
  check_offsets(offsets, nodes.shape(0), "offsets");
  check_offsets(edge_offsets, ends.shape(0), "edge_offsets");
  if (edge_offsets.size() != offsets.size() || edges.shape(0) != ends.shape(0))
    throw std::invalid_argument("offsets and edge_offsets, edges and ends must be of the same length.");
  const std::int64_t *at = offsets.data(), *edge_at = edge_offsets.data();
  const auto size = static_cast<std::int64_t>(offsets.size()) - 1;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t n = at[i + 1] - at[i];
    if (n >= kMost || edge_at[i + 1] - edge_at[i] >= kMost)
      throw std::invalid_argument("an example must have fewer than 2^30 nodes and edges.");
    for (std::int64_t j = 2 * edge_at[i]; j < 2 * edge_at[i + 1]; ++j)
      if (ends.data()[j] < 0 || ends.data()[j] >= n)
        throw std::invalid_argument("an edge names a node that is not there.");
  }
  return {nodes.data(), at, size, edges.data(), ends.data(), edge_at};
}

nb::object max_oracle(Nodes nodes, Offsets offsets, Edges edges, Ends ends, Offsets edge_offsets, int threads) {
  const auto batch = make_batch(nodes, offsets, edges, ends, edge_offsets);
  return max_arrays(offsets.size() - 1, nodes.shape(0), [&](double* values, std::int64_t* labels) {
    casimir::graph_cut_max(batch, threads, values, labels);
  });
}

nb::object topk_oracle(Nodes nodes, Offsets offsets, Edges edges, Ends ends, Offsets edge_offsets, std::int64_t k,
                       double mu, int threads) {
  const auto batch = make_batch(nodes, offsets, edges, ends, edge_offsets);
  return topk_arrays(k, mu, [&] { return casimir::graph_cut_topk(batch, k, mu, threads); });
}

nb::object max_marginals(Nodes nodes, Offsets offsets, Edges edges, Ends ends, Offsets edge_offsets, int threads) {
  const auto batch = make_batch(nodes, offsets, edges, ends, edge_offsets);
  return table_array(nodes.shape(0), nodes.shape(1),
                     [&](double* out) { casimir::graph_cut_max_marginals(batch, threads, out); });
}

}  // namespace

void bind_graph_cut(nb::module_& m) {
  m.def("graph_cut_max", &max_oracle, nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("ends").noconvert(), nb::arg("edge_offsets").noconvert(),
        nb::arg("threads"), "(value f64[n], labels i64[N]) of the lowest best outputs.");
  m.def("graph_cut_topk", &topk_oracle, nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("ends").noconvert(), nb::arg("edge_offsets").noconvert(), nb::arg("k"),
        nb::arg("mu"), nb::arg("threads"),
        "(values f64[sum k_i], counts i64[n], labels i64[sum k_i p_i]); a finite mu stops once l2 smoothing is exact.");
  m.def("graph_cut_max_marginals", &max_marginals, nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("ends").noconvert(), nb::arg("edge_offsets").noconvert(),
        nb::arg("threads"), "f64[N, 2]: best score with node v labelled j.");
}
