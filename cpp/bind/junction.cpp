#include <algorithm>

#include "junction/junction_batch.hpp"
#include "offsets.hpp"
#include "oracles.hpp"

namespace {

using casimir::JunctionGraphs;
using Nodes = InArray<double, nb::ndim<2>>;
using Edges = InArray<double, nb::ndim<3>>;
using Ends = InArray<std::int64_t, nb::shape<-1, 2>>;
using Ints = InArray<std::int64_t, nb::ndim<1>>;

void make_graphs(JunctionGraphs* self, const Ends& ends, const Ints& offsets, int labels, double max_cells) {
  checked_label_count(labels);
  const std::int64_t size = checked_examples(offsets, ends.shape(0), true, "offsets");
  new (self) JunctionGraphs(ends.data(), offsets.data(), size, labels, std::min(max_cells, 1e15));
}

JunctionGraphs select_graphs(const JunctionGraphs& graphs, const Ints& examples) {
  for (std::size_t i = 0; i < examples.size(); ++i)
    if (examples.data()[i] < 0 || examples.data()[i] >= graphs.size())
      throw std::invalid_argument("select names an example that is not there.");
  return graphs.select(examples.data(), static_cast<std::int64_t>(examples.size()));
}

nb::object prepare(const JunctionGraphs& graphs, const Ints& offsets, int threads) {
  const auto n = static_cast<std::size_t>(graphs.size());
  if (offsets.size() != n + 1) throw std::invalid_argument("offsets needs one entry more than there are graphs.");
  check_offsets(offsets.data(), n + 1, offsets.data()[n], true, "offsets");
  std::vector<std::int64_t> width(n), finished(n);
  std::vector<double> cells(n);
  without_gil(
      [&] { casimir::junction_prepare(graphs, offsets.data(), threads, width.data(), cells.data(), finished.data()); });
  return nb::make_tuple(make_array(std::move(width), {n}), make_array(std::move(cells), {n}),
                        make_array(std::move(finished), {n}));
}

/// Throws unless the offsets count the edges of the graphs.
void check_edge_counts(const JunctionGraphs& graphs, const Ints& edge_offsets) {
  bool fine = edge_offsets.data()[0] == 0;
  for (std::int64_t i = 0; fine && i < graphs.size(); ++i)
    fine = edge_offsets.data()[i + 1] - edge_offsets.data()[i] == graphs.edges(i);
  if (!fine) throw std::invalid_argument("edge_offsets must count the edges of the graphs.");
}

struct JunctionOracles {
  static CheckedBatch<casimir::JunctionBatch> batch(const JunctionGraphs& graphs, const Nodes& nodes,
                                                    const Ints& offsets, const std::optional<Edges>& edges,
                                                    const Ints& edge_offsets) {
    const auto n = static_cast<std::size_t>(graphs.size()), labels = static_cast<std::size_t>(graphs.labels());
    const std::size_t total = nodes.shape(0);
    if (nodes.shape(1) != labels) throw std::invalid_argument("nodes must be [N, labels].");
    checked_examples(offsets, total, true, "offsets");
    if (offsets.size() != n + 1 || edge_offsets.size() != n + 1)
      throw std::invalid_argument("offsets need one entry more than there are graphs.");
    check_edge_counts(graphs, edge_offsets);
    const auto m = static_cast<std::size_t>(edge_offsets.data()[n]);
    if (edges && (edges->shape(0) != m || edges->shape(1) != labels || edges->shape(2) != labels))
      throw std::invalid_argument("edges must be [M, labels, labels].");
    return {{graphs, nodes.data(), offsets.data(), edges ? edges->data() : nullptr, edge_offsets.data()},
            n,
            total,
            {total, labels},
            {m, labels, labels}};
  }
  static auto arguments() {
    return std::tuple{nb::arg("graphs"), nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
                      nb::arg("edges").noconvert().none(), nb::arg("edge_offsets").noconvert()};
  }
  static constexpr auto max = &casimir::junction_max;
  static constexpr auto topk = &casimir::junction_topk;
  static constexpr auto expect = &casimir::junction_expect;
  static constexpr auto max_marginals = &casimir::junction_max_marginals;
  static constexpr OracleDocs docs{};
};

}  // namespace

void bind_junction(nb::module_& m) {
  nb::class_<JunctionGraphs>(m, "JunctionGraphs", "The graphs of a batch, and how to eliminate their nodes.")
      .def("__init__", &make_graphs, nb::arg("ends").noconvert(), nb::arg("offsets").noconvert(), nb::arg("labels"),
           nb::arg("max_cells"))
      .def("select", &select_graphs, nb::arg("examples").noconvert(),
           "Some of the graphs; what was found out is shared.")
      .def("prepare", &prepare, nb::arg("offsets").noconvert(), nb::arg("threads"),
           "(width i64[n], cells f64[n], finished i64[n]) of the clique tables; where finished is 0, of some of them.");
  bind_oracles<JunctionOracles>(m, "junction");
}
