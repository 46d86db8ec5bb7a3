// Small random problems that own their arrays, and what must hold for every Problem.
#pragma once

#include <memory>

#include "candidates/linear_candidates.hpp"
#include "chain/linear_chain.hpp"
#include "classes/linear_classes.hpp"
#include "testing.hpp"
#include "tree/linear_tree.hpp"

namespace testing {

struct ChainArrays {
  std::vector<std::int64_t> offsets, indptr;
  std::vector<std::uint32_t> indices;  // of a token: sorted, a bucket may come twice
  std::vector<double> values;
  std::vector<double> fixed_nodes, fixed_pairs;  // [tokens][labels]: costs, 0 at the truth; [labels][labels]
  std::vector<std::int32_t> y;
  std::unique_ptr<casimir::LinearChain> problem;
};

/// Heap-allocated, because the problem looks into the arrays.
std::unique_ptr<ChainArrays> random_chains(std::int64_t n, int labels, bool real_valued, bool with_pairs,
                                           Random& random);

/// Forests over the tokens of chains, which have to live longer.
struct TreeArrays {
  casimir::TreeOrder order;
  std::unique_ptr<casimir::LinearTree> problem;
};
std::unique_ptr<TreeArrays> random_trees(const ChainArrays& chains, Random& random);

struct CandidateArrays {
  std::vector<std::int64_t> offsets;
  std::vector<double> f64, cost;
  std::vector<float> f32;
  std::vector<casimir::Half> f16;
  std::vector<std::int32_t> y;
  std::unique_ptr<casimir::LinearCandidates> problem, problem32, problem16;  // the same features in all storages
};

/// The features are representable as float16.
std::unique_ptr<CandidateArrays> random_candidates(std::int64_t n, std::int64_t dim, Random& random);

struct ClassArrays {
  std::vector<std::int64_t> indptr;
  std::vector<std::uint32_t> indices;
  std::vector<double> values, f64, cost;
  std::vector<float> f32;
  std::vector<std::int32_t> y;
  std::unique_ptr<casimir::LinearClasses> sparse, dense, dense32;  // the same features in all storages
};

/// The features are representable as float32; a third of them is 0. With bias 0 there are no intercepts.
std::unique_ptr<ClassArrays> random_classes(std::int64_t n, std::int64_t dim, int labels, double bias, Random& random);

casimir::Answer answer_of(const casimir::Problem& problem, std::int64_t i, const casimir::WeightView& w,
                          const casimir::Smoothing& smoothing, std::vector<double>* marginals);

std::vector<double> sum_of_gradients(const casimir::Problem& problem, const std::vector<double>& w,
                                     const casimir::Smoothing& smoothing, int threads);
double sum_of_values(const casimir::Problem& problem, const std::vector<double>& w,
                     const casimir::Smoothing& smoothing);

/// The gradient of a smoothed value equals its central differences.
void check_gradient(const casimir::Problem& problem, const casimir::Smoothing& smoothing, Random& random);
/// The oracle at w = a c + s v does not depend on the form that w comes in.
void check_affine_weights(const casimir::Problem& problem, const casimir::Smoothing& smoothing, Random& random);
/// Values, marginals and gradient have the same bits on any number of threads.
void check_threads(const casimir::Problem& problem, const casimir::Smoothing& smoothing, Random& random);
/// Scattering to ranges of rows one after another equals scattering to all; q follows with its own factor.
void check_scatter_ranges(const casimir::Problem& problem, Random& random);
/// max <= smoothed <= upper <= max + mu bound, and `upper` is the value where that is exact.
void check_bounds(const casimir::Problem& problem, const casimir::Smoothing& smoothing, double bound, Random& random);

/// The rows that `touched` names are those that a scatter changes and an oracle reads.
void check_touched(const casimir::Problem& problem, Random& random);
/// A full pass with scales counts every example that often, and leaves out those of scale 0.
void check_scales(casimir::Problem& problem, const casimir::Smoothing& smoothing, Random& random);

/// Without a truth the loss is the max itself, and there are no dual blocks.
void check_without_truth(const casimir::Problem& problem, Random& random);
/// The marginals of the true outputs of all examples.
std::vector<double> truth_of(const casimir::Problem& problem);
/// Values, costs and gradients of both problems are the same.
void check_same_losses(const casimir::Problem& problem, const casimir::Problem& other, Random& random);

/// Weights that are not finite give losses that are not, and nothing is read or written out of place.
void check_non_finite_weights(const casimir::Problem& problem, Random& random);

}  // namespace testing
