#include "chain/linear_chain.hpp"

#include "oracles.hpp"
#include "token_features.hpp"

namespace {

ProblemHandle make_linear_chain(Ints offsets, Ints indptr, Indices indices, nb::object values, std::int64_t n_features,
                                int n_labels, nb::object y, nb::object cost) {
  ProblemHandle handle;
  handle.problem = std::make_unique<casimir::LinearChain>(
      make_tokens(offsets, indptr, indices, values, n_features, n_labels, y, cost, handle));
  return handle;
}

nb::object decode(const ProblemHandle& handle, InArray<double, nb::ndim<1>> w, int threads) {
  const auto& chain = problem_as<casimir::LinearChain>(handle, w, "decode needs a linear chain.");
  const auto n = static_cast<std::size_t>(chain.size());
  return max_arrays(n, static_cast<std::size_t>(chain.data().offsets[n]),
                    [&](double* values, std::int64_t* labels) { chain.decode(w.data(), threads, labels, values); });
}

}  // namespace

void bind_linear_chain(nb::module_& m) {
  m.def("linear_chain", &make_linear_chain, nb::arg("offsets").noconvert(), nb::arg("indptr").noconvert(),
        nb::arg("indices").noconvert(), nb::arg("values").none(), nb::arg("n_features"), nb::arg("n_labels"),
        nb::arg("y").none(), nb::arg("cost").none(), "A Problem of chains with sparse token features.");
  m.def("decode", &decode, nb::arg("problem"), nb::arg("w").noconvert(), nb::arg("threads"),
        "(value f64[n], labels i64[tokens]) of the best outputs without cost.");
}
