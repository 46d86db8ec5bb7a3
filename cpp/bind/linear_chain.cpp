#include "casimir/linear_chain.hpp"

#include "problem.hpp"

namespace {

using Ints = InArray<std::int64_t, nb::ndim<1>>;

ProblemHandle make_linear_chain(Ints offsets, Ints indptr, InArray<std::uint32_t, nb::ndim<1>> indices,
                                nb::object values, std::int64_t n_features, int n_labels, nb::object y,
                                nb::object cost) {
  if (n_labels < 1) throw std::invalid_argument("a chain needs at least one label.");
  if (n_features < 1 || n_features > 0xffffffff)
    throw std::invalid_argument("n_features must be 1 or larger and below 2^32.");
  if (indptr.size() < 1) throw std::invalid_argument("indptr needs at least one entry.");
  const auto tokens = static_cast<std::int64_t>(indptr.size()) - 1;
  check_offsets(offsets.data(), offsets.size(), tokens, false, "offsets");
  check_offsets(indptr.data(), indptr.size(), static_cast<std::int64_t>(indices.size()), true, "indptr");
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t f = indptr.data()[t]; f < indptr.data()[t + 1]; ++f) {
      if (static_cast<std::int64_t>(indices.data()[f]) >= n_features)
        throw std::invalid_argument("a feature index is not below n_features.");
      if (f > indptr.data()[t] && indices.data()[f] < indices.data()[f - 1])
        throw std::invalid_argument("the feature indices of a token must be sorted.");
    }
  casimir::LinearChainData data{offsets.data(),
                                static_cast<std::int64_t>(offsets.size()) - 1,
                                {indptr.data(), indices.data(), nullptr},
                                n_features,
                                n_labels,
                                nullptr,
                                nullptr};
  ProblemHandle handle;
  handle.owners = {nb::cast(offsets), nb::cast(indptr), nb::cast(indices)};
  if (!values.is_none()) {
    const auto array = array_of<InArray<double, nb::ndim<1>>>(values, "values");
    if (array.size() != indices.size()) throw std::invalid_argument("values must have one entry per feature index.");
    data.features.values = array.data();
    handle.owners.push_back(nb::cast(array));
  }
  if (!y.is_none()) {
    const auto array = array_of<InArray<std::int32_t, nb::ndim<1>>>(y, "y");
    if (static_cast<std::int64_t>(array.size()) != tokens)
      throw std::invalid_argument("y must have one label per token.");
    for (std::size_t t = 0; t < array.size(); ++t)
      if (array.data()[t] < 0 || array.data()[t] >= n_labels) throw std::invalid_argument("a label is out of range.");
    data.y = array.data();
    handle.labelled = true;
    handle.owners.push_back(nb::cast(array));
  }
  if (!cost.is_none()) {
    const auto array = array_of<InArray<double, nb::ndim<2>>>(cost, "cost");
    if (array.shape(0) != static_cast<std::size_t>(n_labels) || array.shape(1) != static_cast<std::size_t>(n_labels))
      throw std::invalid_argument("cost must be [labels, labels].");
    data.cost = array.data();
    handle.owners.push_back(nb::cast(array));
  }
  handle.problem = std::make_unique<casimir::LinearChain>(data);
  return handle;
}

nb::object decode(const ProblemHandle& handle, InArray<double, nb::ndim<1>> w, int threads) {
  const auto* chain = dynamic_cast<const casimir::LinearChain*>(handle.problem.get());
  if (!chain) throw std::invalid_argument("decode needs a linear chain.");
  if (static_cast<std::int64_t>(w.size()) != chain->dim()) throw std::invalid_argument("w has the wrong size.");
  const auto n = static_cast<std::size_t>(chain->size());
  const auto tokens = static_cast<std::size_t>(chain->data().offsets[n]);
  std::vector<std::int64_t> labels(tokens);
  std::vector<double> values(n);
  {
    nb::gil_scoped_release release;
    chain->decode(w.data(), threads, labels.data(), values.data());
  }
  return nb::make_tuple(make_array(std::move(values), {n}), make_array(std::move(labels), {tokens}));
}

}  // namespace

void bind_linear_chain(nb::module_& m) {
  m.def("linear_chain", &make_linear_chain, nb::arg("offsets").noconvert(), nb::arg("indptr").noconvert(),
        nb::arg("indices").noconvert(), nb::arg("values").none(), nb::arg("n_features"), nb::arg("n_labels"),
        nb::arg("y").none(), nb::arg("cost").none(), "A Problem of chains with sparse token features.");
  m.def("decode", &decode, nb::arg("problem"), nb::arg("w").noconvert(), nb::arg("threads"),
        "(value f64[n], labels i64[tokens]) of the best outputs without cost.");
}
