// The sum-product of several chains that share their transitions, step by step together: what is a product of a vector
// and a matrix for one chain is one of two matrices for all of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/numbers.hpp"
#include "base/products.hpp"
#include "base/scratch.hpp"
#include "chain/allowed_pairs.hpp"
#include "chain/chain_ops.hpp"

namespace casimir {

/// With fewer labels, a chain's messages stay in registers, and chains run one by one.
constexpr int kFewestLabelsOfGroups = 33;

/// Chains of these lengths in groups, the longest first. The groups depend on the lengths alone; chains of length 0 are
/// left out.
std::vector<std::vector<std::int64_t>> grouped(std::span<const std::int64_t> lengths, int labels);

/// exp((T - offset) / mu) of the matrix that all chains share, ready for products.
class GroupPotentials {
 public:
  /// to: rows [from][to] of T, its padding -inf; allowed: its pairs, where these are few, kept by the caller.
  void load(RowShape shape, const double* to, double mu, const AllowedPairs* allowed = nullptr);

  /// Messages [rows][width] one step to the right, and one to the left.
  void step_right(std::int64_t rows, const double* messages, double* out) const;
  void step_left(std::int64_t rows, const double* messages, double* out) const;

  /// Calls see(z, potential, k) for the pairs (y, z) that are allowed; k is where sums over pairs keep theirs.
  template <class See>
  void for_each_after(std::int64_t y, See&& see) const {
    if (!allowed) {
      for (std::int64_t z = 0; z < labels; ++z) see(z, cells[at(y * width + z)], y * width + z);
      return;
    }
    const SparseColumns pairs = allowed->from(cells.data());
    for (std::int64_t k = pairs.begin[y]; k < pairs.begin[y + 1]; ++k) see(pairs.row[k], pairs.value[k], k);
  }

  /// Where the pair (y, z), which is allowed, keeps its sums.
  std::int64_t cell(std::int64_t y, std::int64_t z) const { return allowed ? allowed->find(y, z) : y * width + z; }

  double mu = 0.0, offset = 0.0, range = 0.0;
  int labels = 0;
  std::int64_t width = 0;  // of the rows of a group
  const AllowedPairs* allowed = nullptr;
  std::vector<double> cells;  // the matrix [width][width] with 0 as its padding, or those of the allowed pairs

 private:
  Panels to_, from_;
  std::vector<double> turned_;
};

/// Sums over pairs of before(y) after(z), for all pairs of labels or for the allowed ones.
class PairSums {
 public:
  void pack(const GroupPotentials& potentials, std::int64_t count, const double* before, const double* after);
  /// Multiplies each pair by a weight of its own.
  void scale(const double* weights);
  /// Adds those of labels [begin, end) before to the cells of the potentials; both multiples of kProductWidth.
  void add_to(const GroupPotentials& potentials, std::int64_t begin, std::int64_t end, double* sums) const;

 private:
  OuterProducts all_;
  SampledProducts some_;
};

/// Positions and chains of a group as rows: all chains' first tokens, then all second ones, and so on.
class ChainGroup {
 public:
  /// lengths: of its chains, in descending order. All their scores are to be given then.
  void begin(const GroupPotentials& potentials, std::span<const std::int64_t> lengths);
  /// scores: a row with its padding -inf. False where they are too far apart for messages in doubles: the chain is
  /// lost.
  bool set_scores(std::int64_t chain, std::int64_t t, const double* scores);

  /// The values of all chains, and where marginals are asked for these.
  void run(bool with_marginals);

  /// Whether this chain needs logs: it has no value, and no marginals.
  bool is_lost(std::int64_t chain) const { return lost_[at(chain)]; }
  /// mu logsumexp(score / mu)
  double value(std::int64_t chain) const { return values_[at(chain)]; }
  /// The marginals of a token.
  const double* marginals(std::int64_t chain, std::int64_t t) const { return local_.data() + cell(row(chain, t)); }
  double* marginals(std::int64_t chain, std::int64_t t) { return local_.data() + cell(row(chain, t)); }

  /// Marginals of pairs: before(y) * the potential of (y, z) * after(z), for the pair that ends in token t >= 1.
  double* before(std::int64_t chain, std::int64_t t) { return before_.data() + cell(row(chain, t)); }
  const double* after(std::int64_t chain, std::int64_t t) const { return right_.data() + cell(row(chain, t)); }
  /// These of all pairs, row by row.
  std::int64_t n_pairs() const { return rows() - chains(); }
  const double* all_before() const { return before_.data() + cell(chains()); }
  const double* all_after() const { return right_.data() + cell(chains()); }

 private:
  std::size_t cell(std::int64_t row) const { return at(row * potentials_->width); }
  std::int64_t chains() const { return static_cast<std::int64_t>(lengths_.size()); }
  std::int64_t longest() const { return lengths_.empty() ? 0 : lengths_[0]; }
  std::int64_t rows() const { return first_.back(); }
  std::int64_t active(std::int64_t t) const { return first_[at(t + 1)] - first_[at(t)]; }
  std::int64_t row(std::int64_t chain, std::int64_t t) const { return first_[at(t)] + chain; }

  void run_backward();
  void run_forward(bool with_marginals);
  void join(std::int64_t t, bool with_marginals);
  void drop_lost();

  const GroupPotentials* potentials_ = nullptr;
  std::vector<std::int64_t> lengths_;
  std::vector<std::int64_t> first_;  // [longest + 1]: the first row of a position; its chains are a prefix of all
  std::vector<char> lost_;
  std::vector<double> values_, scales_, logs_;  // of a chain; scales: factors whose logs are not yet in logs
  Scratch local_;                               // exp(u / mu), scaled by its row's maximum; then marginals of tokens
  Scratch right_;                               // local * (message from the right), up to a factor
  Scratch before_;  // messages from the left at the position before, local included, up to a factor
  Scratch here_;    // messages from the left of one position
};

}  // namespace casimir
