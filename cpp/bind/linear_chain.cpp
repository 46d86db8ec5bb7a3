#include "chain/linear_chain.hpp"

#include "token_features.hpp"

namespace {

std::unique_ptr<casimir::Problem> make_linear_chain(Ints offsets, Ints indptr, Indices indices, nb::object values,
                                                    std::int64_t n_features, int n_labels, nb::object y,
                                                    nb::object fixed_nodes, nb::object fixed_pairs, nb::object truth) {
  return std::make_unique<casimir::LinearChain>(
      checked_tokens(offsets, indptr, indices, values, n_features, n_labels, y, truth, fixed_nodes, fixed_pairs));
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

}  // namespace

void bind_linear_chain(nb::module_& m) {
  m.def("linear_chain", &make_linear_chain, nb::arg("offsets").noconvert(), nb::arg("indptr").noconvert(),
        nb::arg("indices").noconvert(), nb::arg("values").none(), nb::arg("n_features"), nb::arg("n_labels"),
        nb::arg("y").none(), nb::arg("fixed_nodes").none(), nb::arg("fixed_pairs").none(),
        nb::arg("truth").none() = nb::none(), nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(),
        nb::keep_alive<0, 4>(), nb::keep_alive<0, 7>(), nb::keep_alive<0, 9>(), nb::keep_alive<0, 10>(),
        "A Problem of chains with sparse token features.");
  m.def("linear_chain_scores", &linear_chain_scores, nb::arg("offsets").noconvert(), nb::arg("indptr").noconvert(),
        nb::arg("indices").noconvert(), nb::arg("values").none(), nb::arg("n_features"), nb::arg("n_labels"),
        nb::arg("w").noconvert(), nb::arg("threads"),
        "f64[tokens, labels]: scores of the labels of all tokens, those of the first and last label included.");
}
