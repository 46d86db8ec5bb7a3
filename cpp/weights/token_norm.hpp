// Norms of blocks of marginals of tokens and pairs, from the inner products of an example's tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "solve/block_norm.hpp"
#include "weights/token_gram.hpp"

namespace casimir {

class TokenNorm final : public BlockNorm {
 public:
  /// has_ends: the first and the last token have a start and a stop score.
  TokenNorm(const LinearTokens& tokens, bool has_ends) : tokens_(tokens), gram_(tokens, has_ends) {}

  double squared(std::int64_t i, const double* x) override;

 private:
  double gathered(std::int64_t i, const double* x);

  const LinearTokens& tokens_;
  TokenGram gram_;
  std::vector<double> weights_;  // as long as w, zero between uses
  std::vector<RowRange> rows_;
};

}  // namespace casimir
