#include "candidates/linear_candidates.hpp"

#include "problem.hpp"

// numpy.float16
template <>
struct nb::detail::dtype_traits<casimir::Half> {
  static constexpr nb::dlpack::dtype value{static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
  static constexpr auto name = const_name("float16");
};

namespace {

using Ints = InArray<std::int64_t, nb::ndim<1>>;
using Labels = InArray<std::int32_t, nb::ndim<1>>;
using Vector = InArray<double, nb::ndim<1>>;

void check_labels(const Labels& y, const Ints& offsets) {
  if (y.size() + 1 != offsets.size())
    throw std::invalid_argument("y has " + std::to_string(y.size()) + " entries for " +
                                std::to_string(offsets.size() - 1) + " examples.");
  for (std::size_t i = 0; i < y.size(); ++i)
    if (y.data()[i] < 0 || y.data()[i] >= offsets.data()[i + 1] - offsets.data()[i])
      throw std::invalid_argument("y[" + std::to_string(i) + "] is not a candidate of its example.");
}

template <class T>
std::unique_ptr<casimir::Problem> make_linear_candidates(Ints offsets, InArray<T, nb::ndim<2>> features,
                                                         std::optional<Labels> y, std::optional<Vector> cost,
                                                         std::optional<Vector> truth) {
  const auto total = static_cast<std::int64_t>(features.shape(0));
  const auto dim = static_cast<std::int64_t>(features.shape(1));
  if (dim < 1) throw std::invalid_argument("features needs at least one column.");
  check_offsets(offsets.data(), offsets.size(), total, false, "offsets");
  if (y) check_labels(*y, offsets);
  if (truth && static_cast<std::int64_t>(truth->size()) != total)
    throw std::invalid_argument("truth has the wrong size.");
  if (cost && static_cast<std::int64_t>(cost->size()) != total)
    throw std::invalid_argument("cost has " + std::to_string(cost->size()) + " entries for " + std::to_string(total) +
                                " candidates.");
  return std::make_unique<casimir::LinearCandidates>(casimir::LinearCandidatesData{
      offsets.data(), static_cast<std::int64_t>(offsets.size()) - 1, casimir::DenseRows(features.data(), dim),
      y ? y->data() : nullptr, truth ? truth->data() : nullptr, cost ? cost->data() : nullptr});
}

template <class T>
void bind_storage(nb::module_& m) {
  m.def("linear_candidates", &make_linear_candidates<T>, nb::arg("offsets").noconvert(),
        nb::arg("features").noconvert(), nb::arg("y").noconvert().none(), nb::arg("cost").noconvert().none(),
        nb::arg("truth").noconvert().none() = nb::none(), nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(),
        nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>(), nb::keep_alive<0, 5>(),
        "A Problem of candidate lists with dense features, float64, float32 or float16 [N, d].");
}

}  // namespace

void bind_linear_candidates(nb::module_& m) {
  bind_storage<double>(m);
  bind_storage<float>(m);
  bind_storage<casimir::Half>(m);
}
