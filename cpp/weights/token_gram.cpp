#include "weights/token_gram.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "base/parallel.hpp"

namespace casimir {
namespace {

constexpr std::int64_t kLongestTabulated = 512;  // tokens; beyond it a Gram matrix would cost more than it saves

}  // namespace

TokenGram::TokenGram(const LinearTokens& tokens, bool has_ends, int threads)
    : tokens_(tokens),
      has_ends_(has_ends),
      small_(tokens.memory()),
      counts_(tokens.memory()),
      table_(tokens.memory()),
      offset_(tokens.memory()) {
  offset_.reserve(static_cast<std::size_t>(tokens.n_examples()));
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < tokens.n_examples(); ++i) {
    const std::int64_t p = tokens.length(i);
    offset_.push_back(p <= kLongestTabulated && !tokens.is_shared() && !tokens.data().pairs_apart ? total : -1);
    if (has(i)) total += cell(p, 0);
  }
  const auto cells = static_cast<std::size_t>(total);
  if (tokens.data().features.values) {
    table_.resize(cells);
    fill_all(table_, threads);
    return;
  }
  small_.resize(cells);
  if (fill_all(small_, threads)) return;
  small_.clear();
  small_.shrink_to_fit();
  counts_.resize(cells);
  if (!fill_all(counts_, threads)) throw std::invalid_argument("a token has too many features for the dual solver.");
}

/// Whether all products fit into the cells; if not, what is in them is of no use.
template <class Cell>
bool TokenGram::fill_all(std::pmr::vector<Cell>& cells, int threads) const {
  constexpr std::int64_t kTogether = 16;  // examples
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> fits{true};
  const std::int64_t n = tokens_.n_examples();
  parallel_chunks(std::min<std::int64_t>(threads, n), threads, [&](std::int64_t, std::int64_t, int) {
    Scratch scratch;
    scratch.last.assign(static_cast<std::size_t>(tokens_.data().n_features), -1);
    for (std::int64_t begin; fits && (begin = next.fetch_add(kTogether)) < n;)
      for (std::int64_t i = begin; i < std::min(begin + kTogether, n); ++i) {
        if (!has(i)) continue;
        fill(i, scratch);
        const std::vector<double>& table = scratch.table;
        if constexpr (std::is_integral_v<Cell>) {
          const double most = table.empty() ? 0.0 : *std::max_element(table.begin(), table.end());
          if (most > std::numeric_limits<Cell>::max()) fits = false;
        }
        if (!fits) return;
        const std::int64_t p = tokens_.length(i), offset = offset_[static_cast<std::size_t>(i)];
        for (std::int64_t s = 0; s < p; ++s)
          std::transform(table.begin() + s * p, table.begin() + s * p + s + 1, cells.begin() + offset + cell(s, 0),
                         [](double product) { return static_cast<Cell>(product); });
      }
  });
  return fits;
}

/// <x_s, x_t> for all tokens s <= t of an example: each entry meets those of the same feature that came before it.
void TokenGram::fill(std::int64_t i, Scratch& scratch) const {
  const TokenFeatures& x = tokens_.data().features;
  const std::int64_t p = tokens_.length(i), first = tokens_.data().offsets[i];
  const std::int64_t begin = x.indptr[first], end = x.indptr[first + p];
  auto& [last, before, token_of, table] = scratch;
  before.resize(static_cast<std::size_t>(end - begin));
  token_of.resize(before.size());
  table.assign(static_cast<std::size_t>(p * p), 0.0);
  const auto value = [&](std::int32_t entry) { return x.values ? x.values[begin + entry] : 1.0; };
  for (std::int64_t t = 0; t < p; ++t) {
    double* row = table.data() + t * p;
    row[t] = end_scores(i, t);
    for (std::int64_t f = x.indptr[first + t]; f < x.indptr[first + t + 1]; ++f) {
      const auto entry = static_cast<std::int32_t>(f - begin);
      const double own = value(entry);
      row[t] += own * own;
      std::int32_t& newest = last[x.indices[f]];
      for (std::int32_t k = newest; k >= 0; k = before[static_cast<std::size_t>(k)]) {
        const std::int32_t s = token_of[static_cast<std::size_t>(k)];
        row[s] += (s == t ? 2.0 : 1.0) * own * value(k);  // a token may have a feature twice
      }
      before[static_cast<std::size_t>(entry)] = newest;
      token_of[static_cast<std::size_t>(entry)] = static_cast<std::int32_t>(t);
      newest = entry;
    }
  }
  for (std::int64_t f = begin; f < end; ++f) last[x.indices[f]] = -1;
}

}  // namespace casimir
