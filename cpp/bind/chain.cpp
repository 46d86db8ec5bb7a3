#include "chain/chain_batch.hpp"
#include "chain/shared_pairs.hpp"
#include "edge_scores.hpp"
#include "offsets.hpp"
#include "oracles.hpp"

namespace {

using Nodes = InArray<double, nb::ndim<2>>;
using Ints = InArray<std::int64_t, nb::ndim<1>>;

struct ChainOracles {
  static CheckedBatch<casimir::ChainBatch> batch(const Nodes& nodes, const Ints& offsets, const EdgeScores& edges) {
    const std::size_t total = nodes.shape(0), labels = nodes.shape(1);
    checked_label_count(labels);
    const std::int64_t size = checked_examples(offsets, total, false, "offsets");
    const auto n = static_cast<std::size_t>(size);
    const bool shared = checked_shared(edges, total - n, labels, "nodes - chains");
    return {{nodes.data(), offsets.data(), size, edges.data(), shared, static_cast<int>(labels)},
            n,
            total,
            {total, labels},
            {total - n, labels, labels}};
  }
  static auto arguments() {
    return std::tuple{nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(), nb::arg("edges").noconvert()};
  }
  static constexpr auto max = &casimir::chain_max;
  static constexpr auto topk = &casimir::chain_topk;
  static constexpr auto expect = &casimir::chain_expect;
  static constexpr auto max_marginals = &casimir::chain_max_marginals;
  static constexpr bool writes_every_entry = true;
  static constexpr OracleDocs docs{.expect =
                                       "(value f64[n], node marginals f64[N, L], edge marginals f64[N - n, L, L])."};
};

/// A batch, with one of its labels for each node.
CheckedBatch<casimir::ChainBatch> with_labels(const Nodes& nodes, const Ints& offsets, const EdgeScores& edges,
                                              const Ints& y, double mu) {
  const auto checked = ChainOracles::batch(nodes, offsets, edges);
  if (y.size() != checked.entries) throw std::invalid_argument("y needs one label per node.");
  for (std::size_t t = 0; t < y.size(); ++t)
    if (y.data()[t] < 0 || y.data()[t] >= checked.batch.labels)
      throw std::invalid_argument("y has a label that is not there.");
  check_mu(mu);
  return checked;
}

nb::object soft_loss(const Nodes& nodes, const Ints& offsets, const EdgeScores& edges, const Ints& y, double mu,
                     int threads) {
  const auto checked = with_labels(nodes, offsets, edges, y, mu);
  if (checked.batch.shared_edges) throw std::invalid_argument("chain_shared_soft_loss is for edges that are shared.");
  return expect_arrays(checked.examples, checked.nodes, checked.edges, true,
                       [&](double* losses, double* node_out, double* edge_out) {
                         casimir::chain_soft_loss(checked.batch, y.data(), mu, threads, losses, node_out, edge_out);
                       });
}

nb::object log_sum(const Nodes& nodes, const Ints& offsets, const EdgeScores& edges, double mu, int threads) {
  const auto checked = ChainOracles::batch(nodes, offsets, edges);
  check_mu(mu);
  std::vector<double> sums(checked.examples);
  without_gil([&] { casimir::chain_log_sum(checked.batch, mu, threads, sums.data()); });
  check_values(sums);
  return make_array(std::move(sums), {checked.examples});
}

nb::object shared_soft_loss(const Nodes& nodes, const Ints& offsets, const EdgeScores& edges, const Ints& y, double mu,
                            int threads) {
  const auto checked = with_labels(nodes, offsets, edges, y, mu);
  if (!checked.batch.shared_edges) throw std::invalid_argument("chain_soft_loss is for edges that are not shared.");
  std::vector<double> losses(checked.examples);
  Room<double> of_nodes(count_of(checked.nodes), false);
  std::unique_ptr<casimir::SharedPairs> pairs;
  without_gil([&] {
    pairs =
        std::make_unique<casimir::SharedPairs>(checked.batch, y.data(), mu, threads, losses.data(), of_nodes.data());
  });
  check_values(losses);
  return nb::make_tuple(make_array(std::move(losses), {checked.examples}), std::move(of_nodes).array(checked.nodes),
                        std::move(pairs));
}

nb::object weighted_pairs(const casimir::SharedPairs& pairs, const InArray<double, nb::ndim<1>>& weights, int threads) {
  if (static_cast<std::int64_t>(weights.size()) != pairs.size())
    throw std::invalid_argument("weights needs one number per chain.");
  const auto labels = static_cast<std::size_t>(pairs.labels());
  std::vector<double> out(labels * labels);
  without_gil([&] { pairs.weighted(weights.data(), threads, out.data()); });
  return make_array(std::move(out), {labels, labels});
}

nb::object best_spans(const Nodes& nodes, const Ints& offsets, const EdgeScores& edges,
                      const InArray<bool, nb::ndim<2>>& begins, const Ints& types, double mu, int threads) {
  const auto checked = ChainOracles::batch(nodes, offsets, edges);
  const auto labels = static_cast<std::size_t>(checked.batch.labels);
  if (types.size() != labels || begins.shape(0) != labels + 1 || begins.shape(1) != labels)
    throw std::invalid_argument("begins needs a row for each label and one for the first, types an entry for each.");
  check_mu(mu);
  const casimir::SpanRules rules{reinterpret_cast<const std::uint8_t*>(begins.data()), types.data(),
                                 checked.batch.labels};
  std::vector<double> values(checked.examples);
  auto found = without_gil([&] { return casimir::chain_best_spans(checked.batch, rules, mu, threads, values.data()); });
  check_values(values);
  const std::size_t chains = found.counts.size(), spans = found.probabilities.size();
  return nb::make_tuple(make_array(std::move(found.counts), {chains}), make_array(std::move(found.spans), {spans, 3}),
                        make_array(std::move(found.probabilities), {spans}));
}

}  // namespace

void bind_chain(nb::module_& m) {
  bind_oracles<ChainOracles>(m, "chain");
  m.def("chain_soft_loss", &soft_loss, nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("y").noconvert(), nb::arg("mu"), nb::arg("threads"),
        "(mu logsumexp(score / mu) - score(y) f64[n], its gradient by nodes f64[N, L] and by edges f64[N - n, L, L]).");
  nb::class_<casimir::SharedPairs>(m, "SharedPairs", "The gradient of losses by a matrix that all pairs share.")
      .def("weighted", &weighted_pairs, nb::arg("weights").noconvert(), nb::arg("threads"),
           "f64[L, L]: the sum over chains, times weights f64[n].");
  m.def("chain_shared_soft_loss", &shared_soft_loss, nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("y").noconvert(), nb::arg("mu"), nb::arg("threads"),
        "As chain_soft_loss for edges f64[L, L], with SharedPairs for the gradient by them.");
  m.def("chain_log_sum", &log_sum, nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("mu"), nb::arg("threads"), "f64[n]: mu logsumexp(score / mu).");
  m.def("chain_best_spans", &best_spans, nb::arg("nodes").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("edges").noconvert(), nb::arg("begins").noconvert(), nb::arg("types").noconvert(), nb::arg("mu"),
        nb::arg("threads"),
        "(counts i64[n], (start, end, type) i64[m, 3], probabilities f64[m]) of the spans that the best labels write.");
}
