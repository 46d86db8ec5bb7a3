// Spans that the labels of chains write, and their probabilities, against the enumeration of all outputs.
#include <array>

#include "chains.hpp"

using namespace testing;

namespace {

using casimir::LabelSpan;

/// Which labels begin a span after which, by the meaning of the words: a label of a type does so behind all labels of
/// other types, and behind those of its own type or not.
struct Rules {
  std::vector<std::uint8_t> begins;  // [labels + 1][labels]
  std::vector<std::int64_t> types;

  casimir::SpanRules view() const { return {begins.data(), types.data(), labels()}; }
  std::int64_t labels() const { return static_cast<std::int64_t>(types.size()); }
  bool first_begins(std::int64_t b) const { return begins[types.size() * types.size() + static_cast<std::size_t>(b)]; }
  bool begins_after(std::int64_t a, std::int64_t b) const {
    return begins[static_cast<std::size_t>(a) * types.size() + static_cast<std::size_t>(b)];
  }
};

Rules random_rules(int labels, int types, Random& random) {
  Rules rules;
  for (int b = 0; b < labels; ++b) rules.types.push_back(random.below(types + 1) - 1);
  for (int a = 0; a <= labels; ++a)
    for (int b = 0; b < labels; ++b) {
      const std::int64_t type = rules.types[static_cast<std::size_t>(b)];
      const bool goes_on = a < labels && type == rules.types[static_cast<std::size_t>(a)];
      rules.begins.push_back(type >= 0 && (!goes_on || random.below(2) == 0));
    }
  return rules;
}

/// Are the tokens start .. end - 1 one whole span of y?
bool writes(const Rules& rules, const std::vector<std::int64_t>& y, const LabelSpan& span) {
  const auto at = [&](std::int64_t t) { return y[static_cast<std::size_t>(t)]; };
  const auto begins = [&](std::int64_t t) {
    return t == 0 ? rules.first_begins(at(0)) : rules.begins_after(at(t - 1), at(t));
  };
  const auto type = [&](std::int64_t t) { return rules.types[static_cast<std::size_t>(at(t))]; };
  if (!begins(span.start)) return false;
  for (std::int64_t t = span.start; t < span.end; ++t)
    if (type(t) != span.type || (t > span.start && begins(t))) return false;
  const auto p = static_cast<std::int64_t>(y.size());
  return span.end == p || type(span.end) != span.type || begins(span.end);
}

/// All (start, end, type) there can be in p tokens, from left to right, so that those of one output are in order.
std::vector<LabelSpan> all_spans(std::int64_t p, std::int64_t types) {
  std::vector<LabelSpan> spans;
  for (std::int64_t start = 0; start < p; ++start)
    for (std::int64_t end = start + 1; end <= p; ++end)
      for (std::int64_t type = 0; type < types; ++type) spans.push_back({start, end, type});
  return spans;
}

std::vector<LabelSpan> spans_of(const Rules& rules, const std::vector<std::int64_t>& y,
                                const std::vector<LabelSpan>& candidates) {
  std::vector<LabelSpan> found;
  for (const LabelSpan& span : candidates)
    if (writes(rules, y, span)) found.push_back(span);
  return found;
}

void check_span(const LabelSpan& actual, const LabelSpan& expected) {
  check_equal(actual.start, expected.start);
  check_equal(actual.end, expected.end);
  check_equal(actual.type, expected.type);
}

/// The spans of every output are those that the definition names.
void check_reading(const Rules& rules, const std::vector<ChainOutput>& all, const std::vector<LabelSpan>& candidates) {
  std::vector<LabelSpan> read{{7, 8, 9}};  // what is there before goes
  for (const ChainOutput& output : all) {
    const std::vector<std::int32_t> path(output.labels.begin(), output.labels.end());
    casimir::read_spans(rules.view(), path.data(), static_cast<std::int64_t>(path.size()), read);
    const std::vector<LabelSpan> expected = spans_of(rules, output.labels, candidates);
    check_equal(static_cast<std::int64_t>(read.size()), static_cast<std::int64_t>(expected.size()));
    for (std::size_t j = 0; j < read.size(); ++j) check_span(read[j], expected[j]);
  }
}

double share_of(const Rules& rules, const std::vector<ChainOutput>& all, const LabelSpan& span, double mu) {
  double with = 0.0, total = 0.0;
  for (const ChainOutput& output : all) {
    const double weight = std::exp((output.score - all[0].score) / mu);
    total += weight;
    if (writes(rules, output.labels, span)) with += weight;
  }
  return with / total;
}

/// The probability of every span there could be, likely or not, from marginals with rows of `stride`.
void check_probabilities(const ChainInstance& chain, const Rules& rules, std::size_t i,
                         const std::vector<ChainOutput>& all, std::int64_t types, double mu) {
  const std::int64_t labels = chain.labels, stride = labels + 3, p = chain.length(i);
  const auto n_edges = chain.offsets.back() - static_cast<std::int64_t>(chain.offsets.size()) + 1;
  std::vector<double> nodes(chain.nodes.size()), edges(static_cast<std::size_t>(n_edges * labels * labels));
  std::vector<double> values(chain.offsets.size() - 1), work;
  casimir::chain_expect(chain.batch(), mu, 1, values.data(), nodes.data(), edges.data());
  const auto widened = [&](const double* rows, std::int64_t count) {
    std::vector<double> wide(static_cast<std::size_t>(count * stride), NAN);  // nobody reads the padding
    for (std::int64_t row = 0; row < count; ++row) std::copy_n(rows + row * labels, labels, &wide[0] + row * stride);
    return wide;
  };
  const std::int64_t first = chain.offsets[i], first_edge = first - static_cast<std::int64_t>(i);
  const auto own_nodes = widened(nodes.data() + first * labels, p);
  const auto own_edges = widened(edges.data() + first_edge * labels * labels, (p - 1) * labels);
  for (const LabelSpan& span : all_spans(p, types))
    check_close(casimir::span_probability(rules.view(), span, p, stride, own_nodes.data(), own_edges.data(), work),
                share_of(rules, all, span, mu), 1e-11);
}

void check_best(const ChainInstance& chain, const Rules& rules, const std::vector<std::vector<ChainOutput>>& all,
                std::int64_t types, double mu, int threads) {
  std::vector<double> values(all.size());
  const casimir::SpanBatch found = casimir::chain_best_spans(chain.batch(), rules.view(), mu, threads, values.data());
  check_equal(static_cast<std::int64_t>(found.counts.size()), static_cast<std::int64_t>(all.size()));
  std::size_t next = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    double sum = 0.0;
    for (const ChainOutput& output : all[i]) sum += std::exp((output.score - all[i][0].score) / mu);
    check_close(values[i], all[i][0].score + mu * std::log(sum), 1e-12);
    const std::vector<LabelSpan> expected = spans_of(rules, all[i][0].labels, all_spans(chain.length(i), types));
    check_equal(found.counts[i], static_cast<std::int64_t>(expected.size()));
    for (const LabelSpan& span : expected) {
      check_span({found.spans[3 * next], found.spans[3 * next + 1], found.spans[3 * next + 2]}, span);
      check_close(found.probabilities[next], share_of(rules, all[i], span, mu), 1e-11);
      check(found.probabilities[next] > 0.0 && found.probabilities[next] <= 1.0);
      ++next;
    }
  }
  check_equal(static_cast<std::int64_t>(found.probabilities.size()), static_cast<std::int64_t>(next));
  check_equal(static_cast<std::int64_t>(found.spans.size()), static_cast<std::int64_t>(3 * next));
}

void check_all(const ChainInstance& chain, const Rules& rules, std::int64_t types) {
  std::vector<std::vector<ChainOutput>> all;
  for (std::size_t i = 0; i + 1 < chain.offsets.size(); ++i) {
    all.push_back(all_outputs(chain, i));
    if (all.back().empty()) return;  // nothing is allowed: not for the core to judge
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    check_reading(rules, all[i], all_spans(chain.length(i), types));
    for (const double mu : {1.0, 0.2}) check_probabilities(chain, rules, i, all[i], types, mu);
  }
  for (const int threads : {1, 3}) check_best(chain, rules, all, types, 0.7, threads);
}

/// O, B-X, I-X, B-Y, I-Y as the scorer of CoNLL reads them: an I begins a span where none of its type goes on.
void check_tags() {
  const std::vector<std::int64_t> types{-1, 0, 0, 1, 1};
  Rules rules{{}, types};
  for (std::size_t a = 0; a <= 5; ++a)
    for (std::size_t b = 0; b < 5; ++b) rules.begins.push_back(b > 0 && (b % 2 == 1 || a == 5 || types[a] != types[b]));
  std::vector<LabelSpan> read;
  const std::array<std::int32_t, 9> path{2, 2, 1, 0, 3, 4, 2, 2, 3};  // I-X I-X B-X O B-Y I-Y I-X I-X B-Y
  casimir::read_spans(rules.view(), path.data(), 9, read);
  const std::array<LabelSpan, 5> expected{{{0, 2, 0}, {2, 3, 0}, {4, 6, 1}, {6, 8, 0}, {8, 9, 1}}};
  check_equal(static_cast<std::int64_t>(read.size()), 5);
  for (std::size_t j = 0; j < 5; ++j) check_span(read[j], expected[j]);
}

}  // namespace

void test_chain_spans() {
  check_tags();
  Random random(21);
  const struct {
    int labels, types;
    std::int64_t length;
  } sizes[] = {{1, 1, 5}, {2, 1, 6}, {3, 1, 5}, {3, 2, 5}, {5, 2, 4}, {9, 4, 3}};
  for (const auto& size : sizes)
    for (const bool shared : {true, false})
      for (const bool ties : {false, true})
        for (const double share : {0.0, 0.1, 0.5})
          for (int draw = 0; draw < 3; ++draw) {
            ChainInstance chain = make_chains(size.labels, size.length, shared, ties, random);
            forbid(chain, share, share, random);
            check_all(chain, random_rules(size.labels, size.types, random), size.types);
          }
}
