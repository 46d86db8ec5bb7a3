// A direction in w of which few entries are not zero, gathered entry by entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "solve/visit_point.hpp"

namespace casimir {

class SparseDirection {
 public:
  explicit SparseDirection(std::int64_t n_params) : sums_(static_cast<std::size_t>(n_params), 0.0) {}

  void add(std::int64_t at, double amount) {
    double& sum = sums_[static_cast<std::size_t>(at)];
    if (sum == 0.0) touched_.push_back(at);
    sum += amount;
  }

  /// What was added since the last call is the direction; its squared norm.
  double gather() {
    changes_.clear();
    double norm = 0.0;
    for (const std::int64_t at : touched_) {
      double& sum = sums_[static_cast<std::size_t>(at)];
      if (sum == 0.0) continue;
      changes_.emplace_back(at, sum);
      norm += sum * sum;
      sum = 0.0;
    }
    touched_.clear();
    return norm;
  }

  /// w -= step scale direction.
  void apply(double step, const VisitPoint& point) const {
    const ScatterTarget target = point.target();
    for (const auto& [at, amount] : changes_) target.v[at] += step * target.a * amount;
    if (target.q)
      for (const auto& [at, amount] : changes_) target.q[at] += step * target.b * amount;
    if (point.is_linear()) return;
    for (const auto& change : changes_) point.refresh(change.first / point.width, change.first / point.width + 1);
  }

 private:
  std::vector<double> sums_;                              // as long as w, zero between uses
  std::vector<std::int64_t> touched_;                     // where it is not zero; an entry may come twice
  std::vector<std::pair<std::int64_t, double>> changes_;  // no entry twice
};

}  // namespace casimir
