#include "classes/linear_classes.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/parallel.hpp"
#include "base/vectors.hpp"
#include "classes/class_dual.hpp"

namespace casimir {

LinearClasses::LinearClasses(const LinearClassesData& data)
    : data_(data), shape_(data.features.shape()), costs_(data.cost, data.n, shape_) {}

void LinearClasses::score(std::int64_t i, const WeightView& w, double* u) const {
  data_.features.score(i, w, u);
  if (costs_.empty()) return;
  const double* cost = costs_.row(i);
  for (int l = 0; l < shape_.stride; ++l) u[l] += cost[l];
}

/// What `ListOracles` asks of the classes of example i.
struct LinearClasses::Of {
  const LinearClasses& classes;
  std::int64_t i;
  ClassWorkspace& work;

  double cost(std::int64_t j) const { return classes.cost_of(i, j); }
  double expect(double mu, double* marginals) const {
    return classes.expect(i, work.list.scores.data(), mu, work, marginals);
  }
  double expected_cost(const double* marginals) const { return classes.expected_cost(i, marginals); }
};

Answer LinearClasses::oracle(std::int64_t i, const WeightView& w, const Smoothing& smoothing, Workspace& workspace,
                             double* marginals) const {
  auto& work = static_cast<ClassWorkspace&>(workspace);
  ListWork& list = work.list;
  list.scores.resize(static_cast<std::size_t>(shape_.stride));
  score(i, w, list.scores.data());
  if (marginals) std::fill(marginals, marginals + shape_.stride, 0.0);
  const Of of{*this, i, work};
  ListOracles<Of> oracles{of, shape_.labels, list, shape_.stride};
  return less(smoothed_max(oracles, smoothing, list.weights, marginals), truth_score(i, list.scores.data()));
}

double LinearClasses::expect(std::int64_t, const double* scores, double mu, Workspace&, double* marginals) const {
  return softmax<4>(scores, shape_.stride, mu, marginals);
}

double LinearClasses::expected_cost(std::int64_t i, const double* marginals) const {
  double cost = 0.0;
  for (int j = 0; !costs_.empty() && j < shape_.labels; ++j) cost += marginals[j] * cost_of(i, j);
  return cost;
}

void LinearClasses::add_truth_scores(std::int64_t i, double margin, double* scores) const {
  if (data_.y) scores[truth(i)] += margin;
  for (int j = 0; !data_.y && data_.truth && j < shape_.labels; ++j) scores[j] += margin * truth_marginals(i)[j];
}

void LinearClasses::subtract_truth(std::int64_t i, double* marginals) const {
  if (data_.y) marginals[truth(i)] -= 1.0;
  for (int j = 0; !data_.y && data_.truth && j < shape_.labels; ++j) marginals[j] -= truth_marginals(i)[j];
}

/// Without the cost, which is that above the truth.
double LinearClasses::truth_score(std::int64_t i, const double* scores) const {
  if (data_.y) return scores[truth(i)] - cost_of(i, truth(i));
  double score = 0.0;
  for (int j = 0; data_.truth && j < shape_.labels; ++j)
    if (const double u = truth_marginals(i)[j]; u != 0.0) score += u * (scores[j] - cost_of(i, j));
  return score;
}

namespace {

/// |x_i|^2 |row|^2
class ClassNorm final : public BlockNorm {
 public:
  explicit ClassNorm(const LinearClasses& classes) : stride_(classes.shape().stride) {
    for (std::int64_t i = 0; i < classes.n_examples(); ++i) squared_.push_back(classes.features().squared(i));
  }

  double squared(std::int64_t i, const double* x) override {
    return squared_[static_cast<std::size_t>(i)] * dot(x, x, stride_);
  }

 private:
  std::int64_t stride_;
  std::vector<double> squared_;
};

}  // namespace

std::unique_ptr<BlockNorm> LinearClasses::block_norm() const { return std::make_unique<ClassNorm>(*this); }

/// Units are examples.
void LinearClasses::collect(std::int64_t i, const double* marginals, MarginalList& list) const {
  if (std::all_of(marginals, marginals + shape_.labels, [](double value) { return value == 0.0; })) return;
  list.unit.push_back(i);
  list.values.insert(list.values.end(), marginals, marginals + shape_.stride);
}

void LinearClasses::scatter_list(const MarginalList& list, const ScatterTarget& target) const {
  const double* x = list.values.data();
  for (const std::int64_t i : list.unit) {
    data_.features.scatter(i, x, target);
    x += shape_.stride;
  }
}

void LinearClasses::decode(const double* w, int threads, std::int64_t* classes, double* values) const {
  parallel_chunks(n_examples(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::vector<double> u(static_cast<std::size_t>(shape_.stride));
    for (std::int64_t i = begin; i < end; ++i) {
      score(i, {w}, u.data());
      classes[i] = best_of_list(u.data(), shape_.labels);
      values[i] = u[static_cast<std::size_t>(classes[i])];
    }
  });
}

std::unique_ptr<DualBlocks> LinearClasses::dual_blocks(int /*threads*/) const {
  if (!data_.y) throw std::invalid_argument("dual blocks need true outputs: give y.");
  return std::make_unique<ClassDual>(*this);
}

}  // namespace casimir
