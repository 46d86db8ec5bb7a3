// Sum-product of a chain in logs: one exp per pair of labels, for scores that overflow doubles otherwise.
#pragma once

#include "chain/chain_ops.hpp"

namespace casimir {

/// ChainOps::expect for scores whose range over mu overflows doubles, and for forbidden scores that keep labels apart.
double expect_in_logs(RowShape, std::int64_t p, const double* u, Transitions, double mu, double* nodes, double* edges,
                      std::int64_t edge_step, double* work);

}  // namespace casimir
