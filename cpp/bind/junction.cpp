#include <algorithm>

#include "junction/junction_batch.hpp"
#include "oracles.hpp"

namespace {

using casimir::JunctionGraphs;
using Nodes = InArray<double, nb::ndim<2>>;
using Edges = InArray<double, nb::ndim<3>>;
using Ends = InArray<std::int64_t, nb::shape<-1, 2>>;
using Integers = InArray<std::int64_t, nb::ndim<1>>;

void check_offsets(const Integers& offsets, std::size_t rows, const char* message) {
  bool fine = offsets.size() >= 1 && offsets.data()[0] == 0 &&
              offsets.data()[offsets.size() - 1] == static_cast<std::int64_t>(rows);
  for (std::size_t i = 0; fine && i + 1 < offsets.size(); ++i) fine = offsets.data()[i] <= offsets.data()[i + 1];
  if (!fine) throw std::invalid_argument(message);
}

void make_graphs(JunctionGraphs* self, Ends ends, Integers offsets, int labels, double max_cells) {
  if (labels < 1) throw std::invalid_argument("a graph needs at least one label.");
  check_offsets(offsets, ends.shape(0), "offsets must rise from 0 to the number of edges.");
  new (self) JunctionGraphs(ends.data(), offsets.data(), static_cast<std::int64_t>(offsets.size()) - 1, labels,
                            std::min(max_cells, 1e15));
}

JunctionGraphs select_graphs(const JunctionGraphs& graphs, Integers examples) {
  for (std::size_t i = 0; i < examples.size(); ++i)
    if (examples.data()[i] < 0 || examples.data()[i] >= graphs.size())
      throw std::invalid_argument("select names an example that is not there.");
  return graphs.select(examples.data(), static_cast<std::int64_t>(examples.size()));
}

nb::object prepare(const JunctionGraphs& graphs, Integers offsets, int threads) {
  const auto n = static_cast<std::size_t>(graphs.size());
  if (offsets.size() != n + 1) throw std::invalid_argument("offsets needs one entry more than there are graphs.");
  std::vector<std::int64_t> width(n), finished(n);
  std::vector<double> cells(n);
  {
    nb::gil_scoped_release release;
    casimir::junction_prepare(graphs, offsets.data(), threads, width.data(), cells.data(), finished.data());
  }
  return nb::make_tuple(make_array(std::move(width), {n}), make_array(std::move(cells), {n}),
                        make_array(std::move(finished), {n}));
}

/// Checks that the arrays fit together before any kernel reads them.
casimir::JunctionBatch make_batch(const JunctionGraphs& graphs, const Nodes& nodes, const Integers& offsets,
                                  const std::optional<Edges>& edges, const Integers& edge_offsets) {
  const auto n = static_cast<std::size_t>(graphs.size()), labels = static_cast<std::size_t>(graphs.labels());
  if (nodes.shape(1) != labels) throw std::invalid_argument("nodes must be [N, labels].");
  check_offsets(offsets, nodes.shape(0), "offsets must rise from 0 to the number of rows of nodes.");
  if (offsets.size() != n + 1 || edge_offsets.size() != n + 1)
    throw std::invalid_argument("offsets need one entry more than there are graphs.");
  bool fine = edge_offsets.data()[0] == 0;
  for (std::size_t i = 0; fine && i < n; ++i)
    fine = edge_offsets.data()[i + 1] - edge_offsets.data()[i] == graphs.edges(static_cast<std::int64_t>(i));
  if (!fine) throw std::invalid_argument("edge_offsets must count the edges of the graphs.");
  if (edges && (static_cast<std::int64_t>(edges->shape(0)) != edge_offsets.data()[n] || edges->shape(1) != labels ||
                edges->shape(2) != labels))
    throw std::invalid_argument("edges must be [M, labels, labels].");
  return {graphs, nodes.data(), offsets.data(), edges ? edges->data() : nullptr, edge_offsets.data()};
}

nb::object max_oracle(const JunctionGraphs& graphs, Nodes nodes, Integers offsets, std::optional<Edges> edges,
                      Integers edge_offsets, int threads) {
  const auto batch = make_batch(graphs, nodes, offsets, edges, edge_offsets);
  return max_arrays(offsets.size() - 1, nodes.shape(0), [&](double* values, std::int64_t* labels) {
    casimir::junction_max(batch, threads, values, labels);
  });
}

nb::object topk_oracle(const JunctionGraphs& graphs, Nodes nodes, Integers offsets, std::optional<Edges> edges,
                       Integers edge_offsets, std::int64_t k, double mu, int threads) {
  const auto batch = make_batch(graphs, nodes, offsets, edges, edge_offsets);
  return topk_arrays(k, mu, [&] { return casimir::junction_topk(batch, k, mu, threads); });
}

nb::object exp_oracle(const JunctionGraphs& graphs, Nodes nodes, Integers offsets, std::optional<Edges> edges,
                      Integers edge_offsets, double mu, int threads) {
  const auto batch = make_batch(graphs, nodes, offsets, edges, edge_offsets);
  return expect_arrays(offsets.size() - 1, nodes.shape(0), static_cast<std::size_t>(edge_offsets.data()[graphs.size()]),
                       nodes.shape(1), mu, [&](double* values, double* node_out, double* edge_out) {
                         casimir::junction_expect(batch, mu, threads, values, node_out, edge_out);
                       });
}

nb::object max_marginals(const JunctionGraphs& graphs, Nodes nodes, Integers offsets, std::optional<Edges> edges,
                         Integers edge_offsets, int threads) {
  const auto batch = make_batch(graphs, nodes, offsets, edges, edge_offsets);
  return table_array(nodes.shape(0), nodes.shape(1),
                     [&](double* out) { casimir::junction_max_marginals(batch, threads, out); });
}

}  // namespace

void bind_junction(nb::module_& m) {
  nb::class_<JunctionGraphs>(m, "JunctionGraphs", "The graphs of a batch, and how to eliminate their nodes.")
      .def("__init__", &make_graphs, nb::arg("ends").noconvert(), nb::arg("offsets").noconvert(), nb::arg("labels"),
           nb::arg("max_cells"))
      .def("select", &select_graphs, nb::arg("examples").noconvert(),
           "Some of the graphs; what was found out is shared.")
      .def("prepare", &prepare, nb::arg("offsets").noconvert(), nb::arg("threads"),
           "(width i64[n], cells f64[n], finished i64[n]) of the clique tables; where finished is 0, of some of them.");
  m.def("junction_max", &max_oracle, nb::arg("graphs"), nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("edges").noconvert().none(), nb::arg("edge_offsets").noconvert(), nb::arg("threads"),
        "(value f64[n], labels i64[N]) of the best outputs.");
  m.def("junction_topk", &topk_oracle, nb::arg("graphs"), nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("edges").noconvert().none(), nb::arg("edge_offsets").noconvert(), nb::arg("k"), nb::arg("mu"),
        nb::arg("threads"),
        "(values f64[sum k_i], counts i64[n], labels i64[sum k_i p_i]); a finite mu stops once l2 smoothing is exact.");
  m.def("junction_expect", &exp_oracle, nb::arg("graphs"), nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("edges").noconvert().none(), nb::arg("edge_offsets").noconvert(), nb::arg("mu"), nb::arg("threads"),
        "(value f64[n], node marginals f64[N, L], edge marginals f64[M, L, L]).");
  m.def("junction_max_marginals", &max_marginals, nb::arg("graphs"), nb::arg("nodes").noconvert(),
        nb::arg("offsets").noconvert(), nb::arg("edges").noconvert().none(), nb::arg("edge_offsets").noconvert(),
        nb::arg("threads"), "f64[N, L]: best score with node v labelled j.");
}
