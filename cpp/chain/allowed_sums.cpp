#include "chain/allowed_sums.hpp"

#include <algorithm>

#include "chain/chain_logs.hpp"

namespace casimir {

double AllowedSums::expect(RowShape shape, std::int64_t p, const double* u, Transitions edges, double mu, double* nodes,
                           double* edge_out, std::int64_t edge_step, double* work) {
  if (potentials_.mu != mu) potentials_.load(shape, edges.to, mu, edges.allowed->pairs);
  if (!run(shape, p, u)) return expect_in_logs(shape, p, u, edges, mu, nodes, edge_out, edge_step, work);
  const std::int64_t stride = shape.stride, block = shape.labels * stride;
  for (std::int64_t t = 0; t < p; ++t) std::copy_n(group_.marginals(0, t), stride, nodes + t * stride);
  if (edge_step == 0) {
    pairs_.pack(potentials_, p - 1, group_.all_before(), group_.all_after());
    sums_.assign(potentials_.cells.size(), 0.0);
    pairs_.add_to(potentials_, 0, potentials_.width, sums_.data());
  }
  for (std::int64_t t = 1; edge_step != 0 && t < p; ++t) std::fill_n(edge_out + (t - 1) * edge_step, block, 0.0);
  for (std::int64_t y = 0; y < shape.labels; ++y)
    potentials_.for_each_after(y, [&](std::int64_t z, double potential, std::int64_t k) {
      double* out = edge_out + y * stride + z;
      if (edge_step == 0) *out += sums_[at(k)] * potential;
      for (std::int64_t t = 1; edge_step != 0 && t < p; ++t)
        out[(t - 1) * edge_step] = group_.before(0, t)[y] * potential * group_.after(0, t)[z];
    });
  return group_.value(0);
}

/// False where messages in doubles do not do.
bool AllowedSums::run(RowShape shape, std::int64_t p, const double* u) {
  group_.begin(potentials_, {&p, 1});
  for (std::int64_t t = 0; t < p; ++t)
    if (!group_.set_scores(0, t, u + t * shape.stride)) return false;
  group_.run(true);
  return !group_.is_lost(0);
}

}  // namespace casimir
