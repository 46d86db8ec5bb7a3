#include "boxes/box_search.hpp"

#include "offsets.hpp"
#include "oracles.hpp"

namespace {

using Floats = InArray<double, nb::ndim<1>>;
using Ints = InArray<std::int64_t, nb::ndim<1>>;
using Rows = InArray<std::int64_t, nb::ndim<2>>;

void check_shapes(const Rows& shapes, const Ints& offsets, std::int64_t size) {
  if (static_cast<std::int64_t>(shapes.shape(0)) != size || shapes.shape(1) != 2)
    throw std::invalid_argument("shapes must be [n, 2].");
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t height = shapes(i, 0), width = shapes(i, 1);
    if (height < 1 || width < 1 || height > (1 << 20) || width > (1 << 20) ||
        height * width != offsets.data()[i + 1] - offsets.data()[i])
      throw std::invalid_argument("a map needs as many cells as its shape says, at least one, at most 2^20 per side.");
  }
}

void check_truth(const Floats& weights, const Rows& truth, const Rows& shapes, std::int64_t size) {
  if (static_cast<std::int64_t>(weights.size()) != size || static_cast<std::int64_t>(truth.shape(0)) != size ||
      truth.shape(1) != 4)
    throw std::invalid_argument("weights must be [n] and true boxes [n, 4].");
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t* t = truth.data() + 4 * i;
    if (t[0] < 0 || t[1] < 0 || t[0] > t[2] || t[1] > t[3] || t[2] >= shapes(i, 0) || t[3] >= shapes(i, 1))
      throw std::invalid_argument("a true box must lie in its map.");
  }
}

/// Checks that the arrays fit together before any kernel reads them.
casimir::BoxBatch make_batch(const Floats& maps, const Ints& offsets, const Rows& shapes,
                             const std::optional<Floats>& weights, const std::optional<Rows>& truth) {
  const std::int64_t size = checked_examples(offsets, maps.size(), false, "offsets");
  check_shapes(shapes, offsets, size);
  if (weights.has_value() != truth.has_value())
    throw std::invalid_argument("weights and true boxes must be given together.");
  if (weights) check_truth(*weights, *truth, shapes, size);
  return {maps.data(),
          offsets.data(),
          shapes.data(),
          size,
          weights ? weights->data() : nullptr,
          truth ? truth->data() : nullptr};
}

nb::object search(const Floats& maps, const Ints& offsets, const Rows& shapes, const std::optional<Floats>& weights,
                  const std::optional<Rows>& truth, std::int64_t k, double mu, std::int64_t budget, bool columns,
                  int threads) {
  check_k(k), check_mu(mu);
  if (budget < 1) throw std::invalid_argument("budget must be at least 1.");
  const auto batch = make_batch(maps, offsets, shapes, weights, truth);
  const casimir::BoxSearchOptions options{k, mu, budget,
                                          columns ? casimir::BoxBound::columns : casimir::BoxBound::corners};
  casimir::BoxSearchResult found = without_gil([&] { return casimir::box_search(batch, options, threads); });
  const std::size_t n = found.counts.size(), total = found.values.size();
  return nb::make_tuple(make_array(std::move(found.values), {total}), make_array(std::move(found.boxes), {total, 4}),
                        make_array(std::move(found.counts), {n}), make_array(std::move(found.expanded), {n}),
                        make_array(std::move(found.complete), {n}), make_array(std::move(found.open), {n}));
}

}  // namespace

void bind_box_search(nb::module_& m) {
  m.def("box_search", &search, nb::arg("maps").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("shapes").noconvert(), nb::arg("weights").noconvert().none(), nb::arg("truth").noconvert().none(),
        nb::arg("k"), nb::arg("mu"), nb::arg("budget"), nb::arg("columns"), nb::arg("threads"),
        "(values f64[sum k_i], boxes i64[sum k_i, 4], counts i64[n], expanded i64[n], complete i64[n], open f64[n]); a "
        "finite mu stops once l2 smoothing is exact.");
}
