// A small problem out of bytes, of any kind that has dual blocks.
#pragma once

#include <memory>

#include "fuzz/bytes.hpp"
#include "parts/graph_parts.hpp"
#include "parts/linear_parts.hpp"
#include "parts/matching_parts.hpp"
#include "tests/problems.hpp"

namespace fuzz {

/// Keeps the arrays that its problem looks into.
struct SomeProblem {
  std::unique_ptr<testing::ChainArrays> chains;
  std::unique_ptr<testing::TreeArrays> trees;
  std::unique_ptr<testing::CandidateArrays> candidates;
  std::unique_ptr<testing::ClassArrays> classes;
  std::vector<std::int64_t> offsets, edge_offsets, ends, shapes;
  std::vector<double> nodes, edges, costs;
  std::vector<std::int32_t> y;
  std::unique_ptr<casimir::Problem> parts;
  const casimir::Problem* problem = nullptr;
};

namespace detail {

inline casimir::PartRows rows_of(std::vector<double>& x, std::int64_t rows, std::int64_t first, int labels,
                                 testing::Random& random) {
  casimir::PartRowsData data{};
  data.rows = rows, data.dim = 2, data.first = first;
  data.width = data.cells = labels;
  for (std::int32_t k = 0; k < labels; ++k) data.basis.push_back({k, k, 1.0});
  x = random.uniforms(rows * data.dim, 0.1, 1.0);
  data.f64 = x.data();
  return casimir::PartRows(std::move(data));
}

/// Two matchings of 3 rows to 3 columns or none; or two graphs, a triangle and an edge, of 3 labels.
inline void add_parts(SomeProblem& made, bool matchings, testing::Random& random) {
  std::shared_ptr<const casimir::PartStructure> structure;
  std::optional<casimir::PartRows> edges;
  std::int64_t n_params = 2;
  int cells = 1;
  if (matchings) {
    made.shapes = {3, 4, 3, 4};
    structure = std::make_shared<casimir::MatchingParts>(made.shapes.data(), 2, true);
    made.y = {0, 1, 3, 3, 3, 2};
  } else {
    made.offsets = {0, 3, 5}, made.edge_offsets = {0, 3, 4}, made.ends = {0, 1, 1, 2, 2, 0, 0, 1};
    const casimir::PartGraphs graphs{made.offsets.data(), made.edge_offsets.data(), made.ends.data(), 2, 3};
    structure = std::make_shared<casimir::JunctionParts>(graphs, 1e6);
    made.y = {0, 1, 2, 2, 0};
    cells = 3, n_params = 6 + 18;
    edges = rows_of(made.edges, 4, 6, 9, random);
  }
  std::int64_t node_cells = 0;
  for (std::int64_t i = 0; i < structure->size(); ++i) node_cells += structure->node_cells(i);
  const casimir::PartRows nodes = rows_of(made.nodes, node_cells / cells, 0, cells, random);
  made.costs = random.uniforms(node_cells, 0.0, 1.0);
  made.parts = std::make_unique<casimir::LinearParts>(
      casimir::LinearPartsData{structure, nodes, edges, n_params, made.y.data(), nullptr, made.costs.data(), nullptr});
  made.problem = made.parts.get();
}

}  // namespace detail

inline SomeProblem problem_of(Bytes& input) {
  SomeProblem made;
  const std::int64_t kind = input.between(0, 6);
  testing::Random random(input.byte());
  if (kind < 3) {
    made.chains = testing::random_chains(6, static_cast<int>(input.between(1, 6)), input.flag(), kind == 1, random);
    made.problem = made.chains->problem.get();
    if (kind == 2) {
      made.trees = testing::random_trees(*made.chains, random);
      made.problem = made.trees->problem.get();
    }
  } else if (kind == 3) {
    made.candidates = testing::random_candidates(6, 3, random);
    made.problem = made.candidates->problem.get();
  } else if (kind == 4) {
    made.classes = testing::random_classes(6, 3, 4, 0.5, random);
    made.problem = made.classes->sparse.get();
  } else {
    detail::add_parts(made, kind == 5, random);
  }
  return made;
}

}  // namespace fuzz
