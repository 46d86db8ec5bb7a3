#include <limits>

#include "matching/matching_batch.hpp"
#include "offsets.hpp"
#include "oracles.hpp"

namespace {

using Weights = InArray<double, nb::ndim<1>>;
using Ints = InArray<std::int64_t, nb::ndim<1>>;
using Shapes = InArray<std::int64_t, nb::shape<-1, 2>>;

void check_shapes(const Shapes& shapes, const Ints& offsets, bool null) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() / 2;
  for (std::size_t i = 0; i < shapes.shape(0); ++i) {
    const std::int64_t rows = shapes.data()[2 * i], columns = shapes.data()[2 * i + 1];
    if (rows < 1 || columns < 1 || rows > kMost || columns > kMost ||
        rows * columns != offsets.data()[i + 1] - offsets.data()[i])
      throw std::invalid_argument("shapes must give rows and columns, 1 or more, of as many weights as offsets say.");
    if (!null && rows > columns) throw std::invalid_argument("a matching without null needs a column for every row.");
  }
}

struct MatchingOracles {
  static CheckedBatch<casimir::MatchingBatch> batch(const Weights& weights, const Ints& offsets, const Shapes& shapes,
                                                    bool null) {
    const std::int64_t size = checked_examples(offsets, weights.size(), false, "offsets");
    if (static_cast<std::int64_t>(shapes.shape(0)) != size)
      throw std::invalid_argument("offsets needs one entry more than shapes.");
    check_shapes(shapes, offsets, null);
    const casimir::MatchingBatch batch{weights.data(), offsets.data(), shapes.data(), size, null};
    return {
        batch, static_cast<std::size_t>(size), static_cast<std::size_t>(batch.row_offsets().back()), {weights.size()}};
  }
  static auto arguments() {
    return std::tuple{nb::arg("weights").noconvert(), nb::arg("offsets").noconvert(), nb::arg("shapes").noconvert(),
                      nb::arg("null")};
  }
  static constexpr auto max = &casimir::matching_max;
  static constexpr auto topk = &casimir::matching_topk;
  static constexpr auto max_marginals = &casimir::matching_max_marginals;
  static constexpr OracleDocs docs{
      .max = "(value f64[n], columns i64[sum p_i]) of the heaviest matchings.",
      .topk =
          "(values f64[sum k_i], counts i64[n], columns i64[sum k_i p_i]); a finite mu stops once l2 smoothing is "
          "exact.",
      .max_marginals = "f64[N]: the largest weight of a matching in which row v takes column z."};
};

}  // namespace

void bind_matching(nb::module_& m) { bind_oracles<MatchingOracles>(m, "matching"); }
