#include "chain/linear_chain.hpp"

#include "base/chunk_memory.hpp"
#include "oracles.hpp"
#include "token_features.hpp"

namespace {

/// (label int32[M], pairs float64[M, M], first float64[M], last float64[M]) of wide labels, or none.
casimir::UnfoldingData checked_automaton(const nb::object& automaton, int n_labels) {
  if (automaton.is_none()) return {};
  if (!nb::isinstance<nb::tuple>(automaton) || nb::len(automaton) != 4)
    throw std::invalid_argument("automaton must be a tuple of four arrays.");
  const auto label = array_of<InArray<std::int32_t, nb::ndim<1>>>(automaton[0], "automaton[0]");
  const auto pairs = array_of<InArray<double, nb::ndim<2>>>(automaton[1], "automaton[1]");
  const auto first = array_of<InArray<double, nb::ndim<1>>>(automaton[2], "automaton[2]");
  const auto last = array_of<InArray<double, nb::ndim<1>>>(automaton[3], "automaton[3]");
  const std::size_t wide = label.size();
  if (wide < 1 || pairs.shape(0) != wide || pairs.shape(1) != wide || first.size() != wide || last.size() != wide)
    throw std::invalid_argument("the arrays of automaton do not fit together.");
  for (std::size_t m = 0; m < wide; ++m)
    if (label.data()[m] < 0 || label.data()[m] >= n_labels)
      throw std::invalid_argument("a label of automaton is out of range.");
  return {{label.data(), label.data() + wide},
          {pairs.data(), pairs.data() + wide * wide},
          {first.data(), first.data() + wide},
          {last.data(), last.data() + wide}};
}

/// Features of edges by the token in which they end, or none.
casimir::EdgeFeatureData checked_edges(const nb::object& indptr, const nb::object& indices, const nb::object& values,
                                       std::int64_t n_features, std::size_t size) {
  if (indptr.is_none()) return {};
  const auto starts = array_of<Ints>(indptr, "edge_indptr");
  const auto features = array_of<Indices>(indices, "edge_indices");
  if (starts.size() != size) throw std::invalid_argument("edge_indptr must be as long as indptr.");
  check_features(starts, features, n_features);
  return {{starts.data(), features.data(), checked_values(values, features.size())}, n_features};
}

std::unique_ptr<casimir::Problem> make_linear_chain(Ints offsets, Ints indptr, Indices indices, nb::object values,
                                                    std::int64_t n_features, int n_labels, nb::object y,
                                                    nb::object fixed_nodes, nb::object fixed_pairs, nb::object truth,
                                                    nb::object automaton, nb::object edge_indptr,
                                                    nb::object edge_indices, nb::object edge_values,
                                                    std::int64_t n_edge_features, casimir::ChunkMemory* memory) {
  const auto edges = checked_edges(edge_indptr, edge_indices, edge_values, n_edge_features, indptr.size());
  casimir::LinearTokensData data = checked_tokens(offsets, indptr, indices, values, n_features, n_labels, y, truth,
                                                  fixed_nodes, fixed_pairs, edges.features.indptr != nullptr);
  data.memory = memory;
  return std::make_unique<casimir::LinearChain>(data, checked_automaton(automaton, n_labels), edges);
}

using Vector = InArray<double, nb::ndim<1>>;

nb::object linear_chain_scores(Ints offsets, Ints indptr, Indices indices, nb::object values, std::int64_t n_features,
                               int n_labels, Vector w, int threads) {
  const nb::object none = nb::none();
  const casimir::LinearChain chain(
      checked_tokens(offsets, indptr, indices, values, n_features, n_labels, none, none, none, none));
  if (static_cast<std::int64_t>(w.size()) != chain.n_params()) throw std::invalid_argument("w has the wrong size.");
  const std::size_t tokens = indptr.size() - 1, labels = static_cast<std::size_t>(n_labels);
  std::vector<double> scores(tokens * labels);
  {
    nb::gil_scoped_release release;
    chain.all_token_scores(w.data(), threads, scores.data());
  }
  return make_array(std::move(scores), {tokens, labels});
}

nb::object linear_chain_topk(const casimir::Problem& problem, Vector w, std::int64_t k, std::optional<double> mu,
                             int threads) {
  const auto* chain = dynamic_cast<const casimir::LinearChain*>(&problem);
  if (!chain) throw std::invalid_argument("problem has no chains.");
  if (static_cast<std::int64_t>(w.size()) != chain->n_params()) throw std::invalid_argument("w has the wrong size.");
  check_k(k);
  if (mu) check_mu(*mu);
  std::vector<double> sums(mu ? static_cast<std::size_t>(chain->n_examples()) : 0);
  auto top =
      without_gil([&] { return chain->topk(w.data(), k, mu.value_or(1.0), threads, mu ? sums.data() : nullptr); });
  check_values(sums);
  const std::size_t size = sums.size();
  return nb::make_tuple(topk_arrays(std::move(top)), make_array(std::move(sums), {size}));
}

}  // namespace

void bind_linear_chain(nb::module_& m) {
  m.def("linear_chain", &make_linear_chain, nb::arg("offsets").noconvert(), nb::arg("indptr").noconvert(),
        nb::arg("indices").noconvert(), nb::arg("values").none(), nb::arg("n_features"), nb::arg("n_labels"),
        nb::arg("y").none(), nb::arg("fixed_nodes").none(), nb::arg("fixed_pairs").none(),
        nb::arg("truth").none() = nb::none(), nb::arg("automaton").none() = nb::none(),
        nb::arg("edge_indptr").none() = nb::none(), nb::arg("edge_indices").none() = nb::none(),
        nb::arg("edge_values").none() = nb::none(), nb::arg("n_edge_features") = 0,
        nb::arg("memory").none() = nb::none(), nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(),
        nb::keep_alive<0, 4>(), nb::keep_alive<0, 7>(), nb::keep_alive<0, 9>(), nb::keep_alive<0, 10>(),
        nb::keep_alive<0, 12>(), nb::keep_alive<0, 13>(), nb::keep_alive<0, 14>(), nb::keep_alive<0, 16>(),
        "A Problem of chains with sparse features of tokens, and of edges by the token in which they end.");
  m.def("linear_chain_scores", &linear_chain_scores, nb::arg("offsets").noconvert(), nb::arg("indptr").noconvert(),
        nb::arg("indices").noconvert(), nb::arg("values").none(), nb::arg("n_features"), nb::arg("n_labels"),
        nb::arg("w").noconvert(), nb::arg("threads"),
        "f64[tokens, labels]: scores of the labels of all tokens, those of the first and last label included.");
  m.def("linear_chain_topk", &linear_chain_topk, nb::arg("problem"), nb::arg("w").noconvert(), nb::arg("k"),
        nb::arg("mu").none(), nb::arg("threads"),
        "(what chain_topk gives, mu logsumexp(score / mu) f64[n], or f64[0] without mu), fixed scores included.");
}
