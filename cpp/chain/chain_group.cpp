#include "chain/chain_group.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/lanes.hpp"
#include "base/numbers.hpp"

namespace casimir {
namespace {

#if defined(__AVX512F__)
constexpr int kVector = 8;
#else
constexpr int kVector = 4;
#endif
using L = Lanes<kVector>;
static_assert(kProductWidth % kVector == 0);

constexpr std::int64_t kChains = 24;                    // of a group
constexpr std::int64_t kFewestChains = 8;               // of a group of long chains
constexpr std::int64_t kCells = std::int64_t{1} << 18;  // tokens times labels of a group

/// Largest and smallest entry; forbidden scores (-inf) do not count.
struct Range {
  double highest = -kInf, lowest = kInf;

  void add(const double* row, std::int64_t count) {
    L::V high = L::all(highest), negated_low = L::all(-lowest);
    std::int64_t j = 0;
    for (; j + kVector <= count; j += kVector) {
      const L::V value = L::load(row + j);
      high = L::max(high, value);
      negated_low = L::max(negated_low, value == -kInf ? value : -value);
    }
    highest = L::highest(high), lowest = -L::highest(negated_low);
    for (; j < count; ++j) {
      if (row[j] > highest || std::isnan(row[j])) highest = row[j];
      if (row[j] != -kInf && row[j] < lowest) lowest = row[j];
    }
  }
  double width() const { return highest - lowest; }
};

/// out = exp((in - offset) / mu), and 0 beyond the labels.
void exponentiate(const double* in, std::int64_t labels, double offset, double inverse_mu, double* out,
                  std::int64_t width) {
  std::int64_t j = 0;
  for (; j + kVector <= labels; j += kVector) L::store(out + j, L::exp((L::load(in + j) - offset) * inverse_mu));
  if (j < labels) {
    double rest[kVector];
    std::fill_n(rest, kVector, -kInf);
    std::copy(in + j, in + labels, rest);
    L::store(rest, L::exp((L::load(rest) - offset) * inverse_mu));
    std::fill(out + j, out + width, 0.0);
    std::copy(rest, rest + (labels - j), out + j);
  } else {
    std::fill(out + j, out + width, 0.0);
  }
}

void scale_by(double* row, std::int64_t width, double factor) {
  for (std::int64_t j = 0; j < width; j += kVector) L::store(row + j, L::load(row + j) * factor);
}

/// row *= other; the sum of what is there then.
double multiply_in(double* row, const double* other, std::int64_t width) {
  L::V total{};
  for (std::int64_t j = 0; j < width; j += kVector) {
    const L::V product = L::load(row + j) * L::load(other + j);
    total += product;
    L::store(row + j, product);
  }
  return L::sum(total);
}

double overlap_of(const double* a, const double* b, std::int64_t width) {
  L::V total{};
  for (std::int64_t j = 0; j < width; j += kVector) total += L::load(a + j) * L::load(b + j);
  return L::sum(total);
}

double sum_of(const double* row, std::int64_t width) {
  L::V total{};
  for (std::int64_t j = 0; j < width; j += kVector) total += L::load(row + j);
  return L::sum(total);
}

}  // namespace

std::vector<std::vector<std::int64_t>> grouped(std::span<const std::int64_t> lengths, int labels) {
  const auto length = [&](std::int64_t i) { return lengths[static_cast<std::size_t>(i)]; };
  std::vector<std::int64_t> chains(lengths.size());
  std::iota(chains.begin(), chains.end(), std::int64_t{0});
  std::erase_if(chains, [&](std::int64_t i) { return length(i) == 0; });
  std::stable_sort(chains.begin(), chains.end(), [&](std::int64_t a, std::int64_t b) { return length(a) > length(b); });
  std::vector<std::vector<std::int64_t>> out;
  std::int64_t cells = 0;
  for (const std::int64_t i : chains) {
    const auto count = out.empty() ? 0 : static_cast<std::int64_t>(out.back().size());
    if (out.empty() || count == kChains || (cells >= kCells && count >= kFewestChains)) out.emplace_back(), cells = 0;
    out.back().push_back(i);
    cells += length(i) * product_width(labels);
  }
  return out;
}

void GroupPotentials::load(RowShape shape, const double* rows, double at_mu, const AllowedPairs* pairs) {
  mu = at_mu, labels = shape.labels, width = product_width(labels), allowed = pairs;
  Range found;
  if (allowed) {
    cells.resize(at(allowed->count()));
    allowed->for_each(
        [&](std::int64_t k, std::int64_t y, std::int64_t z) { cells[at(k)] = rows[y * shape.stride + z]; });
    found.add(cells.data(), allowed->count());
  }
  for (std::int64_t y = 0; !allowed && y < labels; ++y) found.add(rows + y * shape.stride, labels);
  offset = found.highest, range = std::max(0.0, found.width());
  if (std::isnan(found.width())) range = found.width();
  if (allowed) {
    exponentiate(cells.data(), allowed->count(), offset, 1.0 / mu, cells.data(), allowed->count());
    allowed->turn(cells.data(), turned_);
    return;
  }
  cells.assign(at(width * width), 0.0);
  for (std::int64_t y = 0; y < labels; ++y)
    exponentiate(rows + y * shape.stride, labels, offset, 1.0 / mu, cells.data() + y * width, width);
  to_.pack(labels, width, cells.data(), width);
  to_.leave_out(0.0);
  from_.pack_transposed(labels, width, cells.data(), width, 0.0);
}

void GroupPotentials::step_right(std::int64_t rows, const double* messages, double* out) const {
  if (allowed) return multiply(rows, messages, width, allowed->to(turned_.data()), out, width, width);
  multiply(rows, messages, width, to_, out, width);
}

void GroupPotentials::step_left(std::int64_t rows, const double* messages, double* out) const {
  if (allowed) return multiply(rows, messages, width, allowed->from(cells.data()), out, width, width);
  multiply(rows, messages, width, from_, out, width);
}

void PairSums::pack(const GroupPotentials& potentials, std::int64_t count, const double* before, const double* after) {
  if (potentials.allowed)
    some_.pack(count, potentials.width, before, after);
  else
    all_.pack(count, potentials.width, before, after);
}

void PairSums::scale(const double* weights) {
  all_.scale(weights);
  some_.scale(weights);
}

void PairSums::add_to(const GroupPotentials& potentials, std::int64_t begin, std::int64_t end, double* sums) const {
  if (!potentials.allowed) return all_.add_to(begin, end, sums, potentials.cells.data());
  const std::int64_t last = std::min<std::int64_t>(end, potentials.labels);
  some_.add_to(potentials.allowed->from(potentials.cells.data()), begin, last, sums);
}

void ChainGroup::begin(const GroupPotentials& potentials, std::span<const std::int64_t> lengths) {
  potentials_ = &potentials;
  lengths_.assign(lengths.begin(), lengths.end());
  first_.assign(at(longest() + 1), 0);
  std::int64_t alive = chains();
  for (std::int64_t t = 0; t < longest(); ++t) {
    while (lengths_[at(alive - 1)] <= t) --alive;
    first_[at(t + 1)] = first_[at(t)] + alive;
  }
  lost_.assign(lengths_.size(), 0);
  values_.assign(lengths_.size(), 0.0);
  logs_.assign(lengths_.size(), 0.0);
  scales_.assign(lengths_.size(), 1.0);
  for (Scratch* rows : {&local_, &right_, &before_}) rows->make_room(cell(this->rows()));
  here_.make_room(cell(chains()));
}

bool ChainGroup::set_scores(std::int64_t chain, std::int64_t t, const double* scores) {
  const int labels = potentials_->labels;
  Range found;
  found.add(scores, labels);
  const double edges = lengths_[at(chain)] > 1 ? 2.0 * potentials_->range : 0.0;
  double* local = local_.data() + cell(row(chain, t));
  if (!((found.width() + edges) / potentials_->mu + std::log(labels) < kWidestRange)) {
    lost_[at(chain)] = 1;
    std::fill_n(local, labels, 1.0);  // whatever keeps the others going
    std::fill(local + labels, local + potentials_->width, 0.0);
    return false;
  }
  values_[at(chain)] += found.highest;
  exponentiate(scores, labels, found.highest, 1.0 / potentials_->mu, local, potentials_->width);
  return true;
}

void ChainGroup::run(bool with_marginals) {
  if (with_marginals) run_backward();
  run_forward(with_marginals);
  for (std::int64_t c = 0; c < chains(); ++c) {
    const auto pairs = static_cast<double>(lengths_[at(c)] - 1);
    values_[at(c)] +=
        pairs * (pairs > 0 ? potentials_->offset : 0.0) + potentials_->mu * (logs_[at(c)] + std::log(scales_[at(c)]));
  }
  drop_lost();
}

void ChainGroup::run_backward() {
  const std::int64_t width = potentials_->width;
  for (std::int64_t t = longest() - 1; t >= 0; --t) {
    double* right = right_.data() + cell(first_[at(t)]);
    const double* local = local_.data() + cell(first_[at(t)]);
    const std::int64_t going_on = t + 1 < longest() ? active(t + 1) : 0;
    potentials_->step_left(going_on, right_.data() + cell(first_[at(t + 1)]), right);
    for (std::int64_t c = 0; c < going_on; ++c, right += width, local += width)
      scale_by(right, width, 1.0 / multiply_in(right, local, width));
    std::copy(local, local + (active(t) - going_on) * width, right);
  }
}

void ChainGroup::run_forward(bool with_marginals) {
  for (std::int64_t t = 0; t < longest(); ++t) {
    if (t > 0) potentials_->step_right(active(t), before_.data() + cell(first_[at(t)]), here_.data());
    join(t, with_marginals);
  }
}

/// Messages from both sides of one position become marginals, and those from the left go on.
void ChainGroup::join(std::int64_t t, bool with_marginals) {
  const std::int64_t width = potentials_->width;
  for (std::int64_t c = 0; c < active(t); ++c) {
    double* local = local_.data() + cell(row(c, t));
    double* here = here_.data() + cell(c);
    const double* right = right_.data() + cell(row(c, t));
    const bool goes_on = t + 1 < lengths_[at(c)];
    if (t == 0) std::copy_n(local, width, here);
    double total = 0.0;
    if (with_marginals) {
      const double common = t == 0 ? sum_of(right, width) : overlap_of(here, right, width);
      if (!(common >= kLeastOverlap && common < kInf)) lost_[at(c)] = 1;
      const double inverse = 1.0 / common;
      if (t > 0) scale_by(before(c, t), width, inverse);
      L::V sums{};
      for (std::int64_t j = 0; j < width; j += kVector) {
        const L::V message = L::load(here + j), own = t == 0 ? message : message * L::load(local + j);
        const L::V other = t == 0 ? L::all(1.0) : message;
        sums += own;
        L::store(local + j, other * L::load(right + j) * inverse);
        L::store(here + j, own);
      }
      total = L::sum(sums);
    } else {
      total = t == 0 ? sum_of(here, width) : multiply_in(here, local, width);
      if (!(total >= kLeastOverlap && total < kInf)) lost_[at(c)] = 1;
    }
    double& product = scales_[at(c)];
    product *= total;
    if (!(product > kLeastProduct && product < 1e100)) logs_[at(c)] += std::log(product), product = 1.0;
    if (!goes_on) continue;
    double* next = before(c, t + 1);
    for (std::int64_t j = 0; j < width; j += kVector) L::store(next + j, L::load(here + j) * (1.0 / total));
  }
}

/// A chain that is lost adds nothing to products of all pairs.
void ChainGroup::drop_lost() {
  for (std::int64_t c = 0; c < chains(); ++c)
    for (std::int64_t t = 1; lost_[at(c)] && t < lengths_[at(c)]; ++t)
      for (Scratch* rows : {&before_, &right_}) std::fill_n(rows->data() + cell(row(c, t)), potentials_->width, 0.0);
}

}  // namespace casimir
