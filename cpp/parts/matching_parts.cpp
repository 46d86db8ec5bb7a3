#include "parts/matching_parts.hpp"

#include <algorithm>
#include <stdexcept>

#include "matching/matching_kbest.hpp"
#include "matching/tight_graph.hpp"

namespace casimir {
namespace {

class MatchingOracles final : public PartOracles {
 public:
  explicit MatchingOracles(const MatchingParts& parts) : parts_(parts) {}

  void max(std::int64_t i, const double* cells, std::int32_t* y) override {
    const WeightTable table = parts_.table(i, cells);
    const double rounding = rounding_of(table);
    solver_.solve(table, best_);
    tight_.first_matching(table, best_, 0, {}, rounding);
    std::copy(best_.match.begin(), best_.match.end(), y);
  }

  double expect(std::int64_t, const double*, double, double*) override {
    throw std::invalid_argument("Matching has no expect: a sum over matchings is a permanent. Use L2() or Hard().");
  }

  void best(std::int64_t i, const double* cells, std::int64_t k, double mu, TopKBatch& out) override {
    const std::int64_t rows = parts_.length(i);
    kbest_.run(parts_.table(i, cells), k, mu);
    out.counts.push_back(kbest_.count());
    out.values.insert(out.values.end(), kbest_.values(), kbest_.values() + kbest_.count());
    for (std::int64_t j = 0; j < kbest_.count(); ++j)
      out.labels.insert(out.labels.end(), kbest_.output(j), kbest_.output(j) + rows);
  }

 private:
  const MatchingParts& parts_;
  AssignmentSolver solver_;
  TightGraph tight_;
  Assignment best_;
  MatchingKBest kbest_;
};

}  // namespace

void MatchingParts::cells_of(std::int64_t i, const std::int32_t* y, std::vector<std::int64_t>& cells) const {
  cells.clear();
  for (std::int64_t v = 0; v < length(i); ++v) cells.push_back(v * labels(i) + y[v]);
}

std::unique_ptr<PartOracles> MatchingParts::oracles() const { return std::make_unique<MatchingOracles>(*this); }

}  // namespace casimir
