// chain_soft_loss for chains of many labels with one matrix for all edges, in groups.
#pragma once

#include <vector>

#include "chain/chain_batch.hpp"

namespace casimir {

/// As chain_soft_loss; marks in done[size] the chains that it has seen to.
void soft_losses_of_groups(const ChainBatch& batch, const std::int64_t* y, double mu, int threads, double* losses,
                           double* nodes, double* edges, std::vector<char>& done);

}  // namespace casimir
