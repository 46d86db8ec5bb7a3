#include "chain/linear_chain.hpp"

#include "token_features.hpp"

namespace {

std::unique_ptr<casimir::Problem> make_linear_chain(Ints offsets, Ints indptr, Indices indices, nb::object values,
                                                    std::int64_t n_features, int n_labels, nb::object y,
                                                    nb::object fixed_nodes, nb::object fixed_pairs, nb::object truth) {
  return std::make_unique<casimir::LinearChain>(
      checked_tokens(offsets, indptr, indices, values, n_features, n_labels, y, truth, fixed_nodes, fixed_pairs));
}

}  // namespace

void bind_linear_chain(nb::module_& m) {
  m.def("linear_chain", &make_linear_chain, nb::arg("offsets").noconvert(), nb::arg("indptr").noconvert(),
        nb::arg("indices").noconvert(), nb::arg("values").none(), nb::arg("n_features"), nb::arg("n_labels"),
        nb::arg("y").none(), nb::arg("fixed_nodes").none(), nb::arg("fixed_pairs").none(),
        nb::arg("truth").none() = nb::none(), nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(),
        nb::keep_alive<0, 4>(), nb::keep_alive<0, 7>(), nb::keep_alive<0, 9>(), nb::keep_alive<0, 10>(),
        "A Problem of chains with sparse token features.");
}
