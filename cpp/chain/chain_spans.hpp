// The spans that the labels of a chain write, such as B-LOC I-LOC, and their probabilities.
#pragma once

#include <cstdint>
#include <vector>

#include "base/parallel.hpp"

namespace casimir {

/// begins: [labels + 1][labels], whether a label begins a span after another, in the last row as the first of all.
/// types: [labels], the type of the span that a label is part of, -1 for none.
struct SpanRules {
  const std::uint8_t* begins;
  const std::int64_t* types;
  std::int64_t labels;

  bool begins_after(std::int64_t a, std::int64_t b) const { return begins[a * labels + b] != 0; }
  bool begins_first(std::int64_t b) const { return begins_after(labels, b); }
  bool goes_on(std::int64_t a, std::int64_t b) const { return types[b] >= 0 && !begins_after(a, b); }
};

/// A span of labels of `type` over the tokens start .. end - 1.
struct LabelSpan {
  std::int64_t start, end, type;
};

struct SpanBatch {
  std::vector<std::int64_t> counts;   // spans of every chain
  std::vector<std::int64_t> spans;    // start, end and type of one after another
  std::vector<double> probabilities;  // of each

  void append(const SpanBatch& more) {
    casimir::append(counts, more.counts);
    casimir::append(spans, more.spans);
    casimir::append(probabilities, more.probabilities);
  }
};

/// The spans that p labels write, from left to right.
void read_spans(const SpanRules&, const std::int32_t* path, std::int64_t p, std::vector<LabelSpan>& out);

/// The probability that a span is one of those of y, over all labels y of a chain of p tokens, whose marginals are
/// nodes: [p][stride], p(y_t = a), and edges: [p - 1][labels][stride], p(y_t = a, y_{t+1} = b). `work` is room.
double span_probability(const SpanRules&, const LabelSpan&, std::int64_t p, std::int64_t stride, const double* nodes,
                        const double* edges, std::vector<double>& work);

}  // namespace casimir
