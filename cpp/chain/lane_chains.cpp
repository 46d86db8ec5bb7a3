#include "chain/lane_chains.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/numbers.hpp"
#include "chain/chain_ops.hpp"

namespace casimir {
namespace {

constexpr int kMostLabels = 32;               // with more, a chain fills its vectors by itself
constexpr std::int64_t kMostCells = 1 << 11;  // labels times tokens of a chain, so that the tables stay in near caches

constexpr int kLanes = LaneChains::kLanes;
using OfLanes = Lanes<kLanes>;

/// out[y]: lane c is rows[c][y].
void to_lanes(const double* const (&rows)[kLanes], int labels, double* out) {
  int y = 0;
  for (; y + kLanes <= labels; y += kLanes) {
    OfLanes::V block[kLanes];
    for (int c = 0; c < kLanes; ++c) block[c] = OfLanes::load(rows[c] + y);
    OfLanes::transpose(block);
    for (int c = 0; c < kLanes; ++c) OfLanes::store(out + (y + c) * kLanes, block[c]);
  }
  for (; y < labels; ++y) {
    OfLanes::V one;  // put together in a register: what was stored in pieces is slow to load
    for (int c = 0; c < kLanes; ++c) one[c] = rows[c][y];
    OfLanes::store(out + y * kLanes, one);
  }
}

/// rows[c][y] is lane c of in[y]; a row has `stride` entries, a multiple of kLanes, and ends in zeros.
void to_rows(const double* in, int labels, int stride, double* rows) {
  for (int y = 0; y < labels; y += kLanes) {
    OfLanes::V block[kLanes];
    for (int j = 0; j < kLanes; ++j) block[j] = y + j < labels ? OfLanes::load(in + (y + j) * kLanes) : OfLanes::V{};
    OfLanes::transpose(block);
    for (int c = 0; c < kLanes; ++c) OfLanes::store(rows + c * stride + y, block[c]);
  }
}

/// Copies the first `labels` entries of rows of `stride`, a multiple of kLanes. Entries of `out` behind them, which are
/// written later, change up to `end`.
void copy_row(const double* row, int labels, double* out, const double* end) {
  if (out + (labels + kLanes - 1) / kLanes * kLanes > end) [[unlikely]] {
    std::copy_n(row, labels, out);
    return;
  }
  for (int z = 0; z < labels; z += kLanes) OfLanes::store(out + z, OfLanes::load(row + z));
}

}  // namespace

bool LaneChains::takes(std::int64_t length, int labels) {
  return length > 0 && labels <= kMostLabels && length * labels <= kMostCells;
}

LaneChains::LaneChains(const double* transitions, int labels, double mu)
    : labels_(labels), stride_((labels + kLanes - 1) / kLanes * kLanes), mu_(mu), offset_(-kInf), range_(0.0) {
  const auto cells = static_cast<std::size_t>(labels) * static_cast<std::size_t>(stride_);
  double lowest = kInf;
  for (int j = 0; j < labels * labels; ++j) {
    offset_ = std::max(offset_, transitions[j]);
    if (transitions[j] != -kInf) lowest = std::min(lowest, transitions[j]);
  }
  range_ = std::max(0.0, offset_ - lowest);
  potentials_.assign(cells, -kInf);
  for (int y = 0; y < labels; ++y) std::copy_n(transitions + y * labels, labels, potentials_.data() + y * stride_);
  for (std::size_t j = 0; j < cells; j += 4)
    Lanes<4>::store(potentials_.data() + j,
                    Lanes<4>::exp((Lanes<4>::load(potentials_.data() + j) - offset_) * (1.0 / mu)));
  here_.resize(static_cast<std::size_t>(labels * kLanes));
  zeros_.assign(static_cast<std::size_t>(labels), 0.0);
  nodes_.assign(static_cast<std::size_t>(stride_ * kLanes), 0.0);
}

/// out[o] = sum_i potential[o * step_of_out + i * step_of_in] * in[i]
void LaneChains::multiply(int step_of_out, int step_of_in, const double* in, double* out) const {
  const auto tile = [&]<int kRows>(std::integral_constant<int, kRows>, int o) {
    const double* potential = potentials_.data() + o * step_of_out;
    V sums[kRows]{};
    for (int i = 0; i < labels_; ++i, potential += step_of_in) {
      const V here = L::load(in + i * kLanes);
      for (int r = 0; r < kRows; ++r) sums[r] += here * potential[r * step_of_out];
    }
    for (int r = 0; r < kRows; ++r) L::store(out + (o + r) * kLanes, sums[r]);
  };
  int o = 0;
  for (; o + 4 <= labels_; o += 4) tile(std::integral_constant<int, 4>{}, o);
  if (labels_ - o == 3) return tile(std::integral_constant<int, 3>{}, o);
  if (labels_ - o == 2) return tile(std::integral_constant<int, 2>{}, o);
  if (labels_ - o == 1) tile(std::integral_constant<int, 1>{}, o);
}

/// exp(u / mu), scaled by the highest score of each token. Behind the end of a chain, scores are 0.
void LaneChains::load(std::span<const Chain> chains) {
  longest_ = 0;
  lengths_ = V{};
  for (std::size_t c = 0; c < chains.size(); ++c) {
    longest_ = std::max(longest_, chains[c].length);
    lengths_[static_cast<int>(c)] = static_cast<double>(chains[c].length);
  }
  const auto cells = static_cast<std::size_t>(longest_ * labels_ * kLanes);
  if (left_.size() < cells) left_.resize(cells), right_.resize(cells);
  const auto padded = static_cast<std::size_t>(longest_ * stride_ * kLanes);
  if (before_.size() < padded) before_.resize(padded), after_.resize(padded);
  value_ = widest_ = V{};
  for (std::int64_t t = 0; t < longest_; ++t) {
    const double* rows[kLanes];
    for (int c = 0; c < kLanes; ++c) {
      const auto chain = static_cast<std::size_t>(c);
      const bool is_there = chain < chains.size() && t < chains[chain].length;
      rows[c] = is_there ? chains[chain].scores + t * labels_ : zeros_.data();
    }
    double* local = at(left_, t);
    to_lanes(rows, labels_, local);
    V high = L::all(-kInf), negated_low = L::all(-kInf);
    for (int y = 0; y < labels_; ++y) {
      const V score = L::load(local + y * kLanes);
      high = L::max(high, score);
      negated_low = L::max(negated_low, score == -kInf ? score : -score);
    }
    value_ += high;
    widest_ = L::max(widest_, high + negated_low);
    for (int y = 0; y < labels_; ++y)
      L::store(local + y * kLanes, L::exp((L::load(local + y * kLanes) - high) * (1.0 / mu_)));
  }
}

/// The messages from the right with what is local, each scaled by the sum of the one before. Returns the last sum.
LaneChains::V LaneChains::run_backward() {
  V total{};
  for (std::int64_t t = longest_ - 1; t >= 0; --t) {
    double* right = at(right_, t);
    const double* local = at(left_, t);
    const L::I goes_on = is_inside(t + 1);
    const V inverse = 1.0 / total;
    if (t + 1 < longest_) multiply(stride_, 1, at(right_, t + 1), right);
    total = V{};
    for (int y = 0; y < labels_; ++y) {
      const V message = goes_on ? L::load(right + y * kLanes) * inverse : L::all(1.0);
      const V row = message * L::load(local + y * kLanes);
      total += row;
      L::store(right + y * kLanes, row);
    }
  }
  return total;
}

/// Messages from both sides become marginals.
void LaneChains::run_forward(std::span<const Chain> chains, V overlap) {
  std::fill_n(logs_, kLanes, 0.0);
  product_ = L::all(1.0);
  V total = L::all(1.0);
  for (std::int64_t t = 0; t < longest_; ++t) {
    double *here = here_.data(), *local = at(left_, t);
    const double* right = at(right_, t);
    const V before = 1.0 / total;
    if (t > 0) {
      multiply(1, stride_, at(left_, t - 1), here);
      overlap = V{};
      for (int y = 0; y < labels_; ++y) {
        const V message = L::load(here + y * kLanes) * before;
        overlap += message * L::load(right + y * kLanes);
        L::store(here + y * kLanes, message);
      }
    } else {
      for (int y = 0; y < labels_; ++y) L::store(here + y * kLanes, L::all(1.0));
    }
    const V inverse = 1.0 / overlap;
    total = V{};
    for (int y = 0; y < labels_; ++y) {
      const V message = L::load(here + y * kLanes), own = message * L::load(local + y * kLanes);
      total += own;
      L::store(local + y * kLanes, own);
      L::store(here + y * kLanes, message * L::load(right + y * kLanes) * inverse);
    }
    to_rows(here, labels_, stride_, nodes_.data());
    for (std::size_t c = 0; c < chains.size(); ++c) {
      if (t >= chains[c].length) continue;
      const double* row = nodes_.data() + static_cast<std::int64_t>(c) * stride_;
      double* nodes = chains[c].nodes;
      copy_row(row, labels_, nodes + t * labels_, nodes + chains[c].length * labels_);
    }
    if (t > 0) {
      double* from = at(left_, t - 1);
      for (int y = 0; y < labels_; ++y)  // one factor after the other: their product may be infinite
        OfLanes::store(from + y * kLanes, OfLanes::load(from + y * kLanes) * before * inverse);
      to_rows(from, labels_, stride_, before_.data() + t * stride_ * kLanes);
      to_rows(right, labels_, stride_, after_.data() + t * stride_ * kLanes);
    }

    product_ = is_inside(t) ? product_ * total : product_;
    for (std::size_t c = 0; c < chains.size(); ++c) {
      const int lane = static_cast<int>(c);
      // Labels that no allowed output joins drift apart without limit.
      if (t < chains[c].length && !(overlap[lane] >= kLeastOverlap && overlap[lane] < kInf)) is_lost_[c] = true;
      if (product_[lane] > kLeastProduct && product_[lane] < 1e100) continue;
      logs_[c] += std::log(product_[lane]);
      product_[lane] = 1.0;
    }
  }
}

/// before(y) * potential(y, z) * after(z), chain after chain: memory likes to be written in order. Of each row whole
/// vectors are written, what is too much by the last one is covered by the next row.
void LaneChains::write_edges(std::span<const Chain> chains) {
  const int labels = labels_, stride = stride_;
  for (std::size_t c = 0; c < chains.size(); ++c) {
    double* out = chains[c].edges;
    const double* end = out + (chains[c].length - 1) * labels * labels;
    for (std::int64_t t = 1; t < chains[c].length; ++t) {
      const std::int64_t first = (t * kLanes + static_cast<std::int64_t>(c)) * stride;
      const double *before = before_.data() + first, *after = after_.data() + first, *potential = potentials_.data();
      for (int y = 0; y < labels; ++y, potential += stride, out += labels) {
        double* row = out + stride <= end ? out : nodes_.data();
        for (int z = 0; z < stride; z += kLanes)
          OfLanes::store(row + z, OfLanes::load(after + z) * before[y] * OfLanes::load(potential + z));
        if (row != out) [[unlikely]]
          std::copy_n(row, labels, out);
      }
    }
  }
}

void LaneChains::run(std::span<Chain> chains) {
  load(chains);
  std::fill_n(is_lost_, kLanes, false);
  run_forward(chains, run_backward());
  write_edges(chains);
  for (std::size_t c = 0; c < chains.size(); ++c) {
    const int lane = static_cast<int>(c);
    const auto pairs = static_cast<double>(chains[c].length - 1);
    const double range = (widest_[lane] + (pairs > 0 ? 2.0 * range_ : 0.0)) / mu_ + std::log(labels_);
    chains[c].is_lost = is_lost_[c] || !(range < kWidestRange);
    chains[c].value = value_[lane] + pairs * (pairs > 0 ? offset_ : 0.0) + mu_ * (logs_[c] + std::log(product_[lane]));
  }
}

}  // namespace casimir
