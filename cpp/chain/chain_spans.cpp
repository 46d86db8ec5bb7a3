#include "chain/chain_spans.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace casimir {
namespace {

/// a / b; both are 0 where a label has no probability, and so is the result.
double given(double a, double b) { return a / std::max(b, std::numeric_limits<double>::min()); }

}  // namespace

void read_spans(const SpanRules& rules, const std::int32_t* path, std::int64_t p, std::vector<LabelSpan>& out) {
  out.clear();
  bool open = false;
  for (std::int64_t t = 0; t < p; ++t) {
    const std::int64_t label = path[t];
    const bool begins = t == 0 ? rules.begins_first(label) : rules.begins_after(path[t - 1], label);
    if (open && !begins && rules.types[label] >= 0) {
      out.back().end = t + 1;
      continue;
    }
    open = begins;
    if (begins) out.push_back({t, t + 1, rules.types[label]});
  }
}

// Where a span begins and ends depends on neighbouring labels alone, which are a Markov chain: the probability of
// having come through the span to label b of its type is carried from token to token.
double span_probability(const SpanRules& rules, const LabelSpan& span, std::int64_t p, std::int64_t stride,
                        const double* nodes, const double* edges, std::vector<double>& work) {
  const std::int64_t labels = rules.labels, block = labels * stride;
  const auto own = [&](std::int64_t label) { return rules.types[label] == span.type; };
  work.assign(static_cast<std::size_t>(2 * labels), 0.0);
  double *reached = work.data(), *next = work.data() + labels;
  for (std::int64_t b = 0; b < labels; ++b) {
    if (!own(b)) continue;
    if (span.start == 0) {
      reached[b] = rules.begins_first(b) ? nodes[b] : 0.0;
      continue;
    }
    const double* into = edges + (span.start - 1) * block + b;
    for (std::int64_t a = 0; a < labels; ++a)
      if (rules.begins_after(a, b)) reached[b] += into[a * stride];
  }
  const auto step = [&](std::int64_t t, auto&& carry) {  // from every own label at token t along the edge behind it
    for (std::int64_t a = 0; a < labels; ++a)
      if (own(a)) carry(a, given(reached[a], nodes[t * stride + a]), edges + t * block + a * stride);
  };
  for (std::int64_t t = span.start; t + 1 < span.end; ++t) {
    std::fill_n(next, labels, 0.0);
    step(t, [&](std::int64_t a, double share, const double* row) {
      for (std::int64_t b = 0; b < labels; ++b)
        if (own(b) && rules.goes_on(a, b)) next[b] += share * row[b];
    });
    std::swap(reached, next);
  }
  double found = 0.0;
  if (span.end == p) {
    found = std::accumulate(reached, reached + labels, 0.0);
  } else {
    step(span.end - 1, [&](std::int64_t a, double share, const double* row) {
      double leaves = 0.0;
      for (std::int64_t b = 0; b < labels; ++b)
        if (!rules.goes_on(a, b)) leaves += row[b];
      found += share * leaves;
    });
  }
  return std::min(found, 1.0);
}

}  // namespace casimir
