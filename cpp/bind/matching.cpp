#include <limits>

#include "matching/matching_batch.hpp"
#include "oracles.hpp"

namespace {

using Weights = InArray<double, nb::ndim<1>>;
using Offsets = InArray<std::int64_t, nb::ndim<1>>;
using Shapes = InArray<std::int64_t, nb::shape<-1, 2>>;

/// Checks that the arrays fit together before any kernel reads them.
casimir::MatchingBatch make_batch(const Weights& weights, const Offsets& offsets, const Shapes& shapes, bool null) {
  if (offsets.size() < 1 || shapes.shape(0) + 1 != offsets.size())
    throw std::invalid_argument("offsets needs one entry more than shapes.");
  const auto size = static_cast<std::int64_t>(shapes.shape(0));
  if (offsets.data()[0] != 0 || offsets.data()[size] != static_cast<std::int64_t>(weights.size()))
    throw std::invalid_argument("offsets must go from 0 to the number of weights.");
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t rows = shapes.data()[2 * i], columns = shapes.data()[2 * i + 1];
    if (rows < 1 || columns < 1 || rows > std::numeric_limits<std::int32_t>::max() / 2 ||
        columns > std::numeric_limits<std::int32_t>::max() / 2 ||
        rows * columns != offsets.data()[i + 1] - offsets.data()[i])
      throw std::invalid_argument("shapes must give rows and columns, 1 or more, of as many weights as offsets say.");
    if (!null && rows > columns) throw std::invalid_argument("a matching without null needs a column for every row.");
  }
  return {weights.data(), offsets.data(), shapes.data(), size, null};
}

nb::object max_oracle(Weights weights, Offsets offsets, Shapes shapes, bool null, int threads) {
  const auto batch = make_batch(weights, offsets, shapes, null);
  return max_arrays(
      offsets.size() - 1, static_cast<std::size_t>(batch.row_offsets().back()),
      [&](double* values, std::int64_t* columns) { casimir::matching_max(batch, threads, values, columns); });
}

nb::object topk_oracle(Weights weights, Offsets offsets, Shapes shapes, bool null, std::int64_t k, double mu,
                       int threads) {
  const auto batch = make_batch(weights, offsets, shapes, null);
  return topk_arrays(k, mu, [&] { return casimir::matching_topk(batch, k, mu, threads); });
}

nb::object max_marginals(Weights weights, Offsets offsets, Shapes shapes, bool null, int threads) {
  const auto batch = make_batch(weights, offsets, shapes, null);
  std::vector<double> out(weights.size());
  {
    nb::gil_scoped_release release;
    casimir::matching_max_marginals(batch, threads, out.data());
  }
  const std::size_t total = out.size();
  return make_array(std::move(out), {total});
}

}  // namespace

void bind_matching(nb::module_& m) {
  m.def("matching_max", &max_oracle, nb::arg("weights").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("shapes").noconvert(), nb::arg("null"), nb::arg("threads"),
        "(value f64[n], columns i64[sum p_i]) of the heaviest matchings.");
  m.def(
      "matching_topk", &topk_oracle, nb::arg("weights").noconvert(), nb::arg("offsets").noconvert(),
      nb::arg("shapes").noconvert(), nb::arg("null"), nb::arg("k"), nb::arg("mu"), nb::arg("threads"),
      "(values f64[sum k_i], counts i64[n], columns i64[sum k_i p_i]); a finite mu stops once l2 smoothing is exact.");
  m.def("matching_max_marginals", &max_marginals, nb::arg("weights").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("shapes").noconvert(), nb::arg("null"), nb::arg("threads"),
        "f64[N]: the largest weight of a matching in which row v takes column z.");
}
