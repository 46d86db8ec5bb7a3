#include "chain/chain_batch.hpp"
#include "oracles.hpp"

namespace {

using Nodes = InArray<double, nb::ndim<2>>;
using Offsets = InArray<std::int64_t, nb::ndim<1>>;

/// Checks that the arrays fit together before any kernel reads them.
casimir::ChainBatch make_batch(const Nodes& nodes, const Offsets& offsets,
                               const nb::ndarray<const double, nb::c_contig, nb::device::cpu>& edges) {
  const auto labels = static_cast<std::int64_t>(nodes.shape(1));
  if (labels < 1) throw std::invalid_argument("a chain needs at least one label.");
  if (offsets.size() < 1) throw std::invalid_argument("offsets needs at least one entry.");
  const auto size = static_cast<std::int64_t>(offsets.size()) - 1;
  if (offsets.data()[0] != 0 || offsets.data()[size] != static_cast<std::int64_t>(nodes.shape(0)))
    throw std::invalid_argument("offsets must go from 0 to the number of rows of nodes.");
  for (std::int64_t i = 0; i < size; ++i)
    if (offsets.data()[i + 1] <= offsets.data()[i]) throw std::invalid_argument("a chain needs at least one node.");
  const bool shared = edges.ndim() == 2;
  const auto edge_count = static_cast<std::int64_t>(shared ? 1 : edges.shape(0));
  if ((edges.ndim() != 2 && edges.ndim() != 3) || static_cast<std::int64_t>(edges.shape(edges.ndim() - 1)) != labels ||
      static_cast<std::int64_t>(edges.shape(edges.ndim() - 2)) != labels ||
      (!shared && edge_count != offsets.data()[size] - size))
    throw std::invalid_argument("edges must be [labels, labels] or [nodes - chains, labels, labels].");
  return {nodes.data(), offsets.data(), size, edges.data(), shared, static_cast<int>(labels)};
}

using AnyEdges = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

nb::object max_oracle(Nodes nodes, Offsets offsets, AnyEdges edges, int threads) {
  const auto batch = make_batch(nodes, offsets, edges);
  return max_arrays(offsets.size() - 1, nodes.shape(0),
                    [&](double* values, std::int64_t* labels) { casimir::chain_max(batch, threads, values, labels); });
}

nb::object topk_oracle(Nodes nodes, Offsets offsets, AnyEdges edges, std::int64_t k, double mu, int threads) {
  const auto batch = make_batch(nodes, offsets, edges);
  return topk_arrays(k, mu, [&] { return casimir::chain_topk(batch, k, mu, threads); });
}

nb::object exp_oracle(Nodes nodes, Offsets offsets, AnyEdges edges, double mu, int threads) {
  const auto batch = make_batch(nodes, offsets, edges);
  return expect_arrays(offsets.size() - 1, nodes.shape(0), nodes.shape(0) - (offsets.size() - 1), nodes.shape(1), mu,
                       [&](double* values, double* node_out, double* edge_out) {
                         casimir::chain_expect(batch, mu, threads, values, node_out, edge_out);
                       });
}

nb::object soft_loss(Nodes nodes, Offsets offsets, AnyEdges edges, Offsets y, double mu, int threads) {
  const auto batch = make_batch(nodes, offsets, edges);
  const std::size_t n = offsets.size() - 1, total = nodes.shape(0), labels = nodes.shape(1);
  if (y.size() != total) throw std::invalid_argument("y needs one label per node.");
  for (std::size_t t = 0; t < total; ++t)
    if (y.data()[t] < 0 || y.data()[t] >= batch.labels) throw std::invalid_argument("y has a label that is not there.");
  if (!(mu > 0)) throw std::invalid_argument("mu must be positive.");
  const std::size_t matrices = batch.shared_edges ? n : total - n;
  std::vector<double> losses(n), node_out(total * labels), edge_out(matrices * labels * labels);
  {
    nb::gil_scoped_release release;
    casimir::chain_soft_loss(batch, y.data(), mu, threads, losses.data(), node_out.data(), edge_out.data());
  }
  return nb::make_tuple(make_array(std::move(losses), {n}), make_array(std::move(node_out), {total, labels}),
                        make_array(std::move(edge_out), {matrices, labels, labels}));
}

nb::object max_marginals(Nodes nodes, Offsets offsets, AnyEdges edges, int threads) {
  const auto batch = make_batch(nodes, offsets, edges);
  return table_array(nodes.shape(0), nodes.shape(1),
                     [&](double* out) { casimir::chain_max_marginals(batch, threads, out); });
}

}  // namespace

void bind_chain(nb::module_& m) {
  m.def("chain_max", &max_oracle, nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("threads"), "(value f64[n], labels i64[N]) of the best outputs.");
  m.def("chain_topk", &topk_oracle, nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("k"), nb::arg("mu"), nb::arg("threads"),
        "(values f64[sum k_i], counts i64[n], labels i64[sum k_i p_i]); a finite mu stops once l2 smoothing is exact.");
  m.def("chain_expect", &exp_oracle, nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("mu"), nb::arg("threads"),
        "(value f64[n], node marginals f64[N, L], edge marginals f64[N - n, L, L]).");
  m.def(
      "chain_soft_loss", &soft_loss, nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
      nb::arg("edges").noconvert(), nb::arg("y").noconvert(), nb::arg("mu"), nb::arg("threads"),
      "(mu logsumexp(score / mu) - score(y) f64[n], its gradient by nodes f64[N, L] and by edges f64[N - n, L, L], or, "
      "where they are shared, by the matrix f64[n, L, L] of each example).");
  m.def("chain_max_marginals", &max_marginals, nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("threads"), "f64[N, L]: best score with node v labelled j.");
}
