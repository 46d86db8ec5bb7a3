#include "parts/linear_parts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "parts/graph_parts.hpp"
#include "parts/matching_parts.hpp"
#include "solve/steps.hpp"
#include "token_features.hpp"

namespace {

using casimir::PartRows;
using casimir::PartStructure;
using Basis = InArray<double, nb::ndim<2>>;
using Labels = InArray<std::int32_t, nb::ndim<1>>;
using Pairs = InArray<std::int64_t, nb::shape<-1, 2>>;
using Vector = InArray<double, nb::ndim<1>>;

constexpr std::int64_t kMostParts = std::int64_t{1} << 30;  // arcs and columns are numbered by 32 bits

struct SharedStructure {
  std::shared_ptr<const PartStructure> structure;
};

/// 0 x is NaN where x is not finite; eight sums side by side, for features are many.
template <class T>
bool are_finite(const T* x, std::size_t count) {
  T sums[8] = {};
  std::size_t j = 0;
  for (; j + 8 <= count; j += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += x[j + lane] * T{0};
  for (; j < count; ++j) sums[0] += x[j] * T{0};
  return std::all_of(sums, sums + 8, [](T sum) { return sum == T{0}; });
}

template <class Array>
const Array& checked_finite(const Array& array, const char* name) {
  if (!are_finite(array.data(), array.size()))
    throw std::invalid_argument(std::string(name) + " has entries that are NaN or infinite; they must be finite.");
  return array;
}

/// Where the weights stand, what makes cells of them, and the scales of the rows.
casimir::PartRowsData part_rows(std::size_t rows, std::int64_t dim, std::int64_t first, const Basis& basis,
                                const std::optional<Vector>& scale) {
  if (dim < 1) throw std::invalid_argument("features needs at least one column.");
  if (first < 0) throw std::invalid_argument("first must be 0 or larger.");
  if (basis.shape(0) < 1 || basis.shape(1) < 1 || basis.size() > kMostLabels)
    throw std::invalid_argument("basis must be a matrix of 1 to 2^20 entries.");
  if (scale && scale->size() != rows) throw std::invalid_argument("scale needs an entry per row.");
  casimir::PartRowsData data{};
  data.rows = static_cast<std::int64_t>(rows), data.dim = dim, data.first = first;
  data.width = static_cast<int>(basis.shape(0)), data.cells = static_cast<int>(basis.shape(1));
  checked_finite(basis, "basis");
  for (int k = 0; k < data.width; ++k)
    for (int c = 0; c < data.cells; ++c)
      if (const double value = basis.data()[k * data.cells + c]; value != 0.0) data.basis.push_back({k, c, value});
  data.scale = scale ? checked_finite(*scale, "scale").data() : nullptr;
  return data;
}

template <class T>
PartRows make_dense(InArray<T, nb::ndim<2>> x, std::int64_t first, Basis basis, std::optional<Vector> scale) {
  auto data = part_rows(x.shape(0), static_cast<std::int64_t>(x.shape(1)), first, basis, scale);
  if constexpr (std::is_same_v<T, float>)
    data.f32 = checked_finite(x, "features").data();
  else
    data.f64 = checked_finite(x, "features").data();
  return PartRows(std::move(data));
}

PartRows make_sparse(Ints indptr, Indices indices, nb::object values, std::int64_t n_features, std::int64_t first,
                     Basis basis, std::optional<Vector> scale) {
  check_features(indptr, indices, n_features);
  auto data = part_rows(indptr.size() - 1, n_features, first, basis, scale);
  data.sparse = {indptr.data(), indices.data(), checked_values(values, indices.size())};
  for (std::size_t f = 0; data.sparse.values && f < indices.size(); ++f)
    if (!std::isfinite(data.sparse.values[static_cast<std::int64_t>(f)]))
      throw std::invalid_argument("values has entries that are NaN or infinite; they must be finite.");
  return PartRows(std::move(data));
}

casimir::PartGraphs checked_graphs(const Ints& offsets, const Pairs& ends, const Ints& edge_offsets, int labels) {
  if (offsets.size() < 1)
    throw std::invalid_argument("offsets has no entry, and needs one more than there are examples.");
  const std::int64_t *nodes = offsets.data(), *edges = edge_offsets.data();
  check_offsets(nodes, offsets.size(), nodes[offsets.size() - 1], true, "offsets");
  check_offsets(edges, edge_offsets.size(), static_cast<std::int64_t>(ends.shape(0)), true, "edge_offsets");
  if (offsets.size() != edge_offsets.size())
    throw std::invalid_argument("offsets and edge_offsets must be of the same length.");
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::int64_t n = nodes[i + 1] - nodes[i];
    if (n >= kMostParts || edges[i + 1] - edges[i] >= kMostParts)
      throw std::invalid_argument("an example must have fewer than 2^30 nodes and edges.");
    for (std::int64_t j = 2 * edges[i]; j < 2 * edges[i + 1]; ++j)
      if (ends.data()[j] < 0 || ends.data()[j] >= n)
        throw std::invalid_argument("an edge names a node that is not there.");
  }
  return {nodes, edges, ends.data(), static_cast<std::int64_t>(offsets.size()) - 1, checked_label_count(labels)};
}

SharedStructure make_cuts(Ints offsets, Pairs ends, Ints edge_offsets) {
  return {std::make_shared<casimir::CutParts>(checked_graphs(offsets, ends, edge_offsets, 2))};
}

SharedStructure make_junctions(Ints offsets, Pairs ends, Ints edge_offsets, int labels, double max_cells) {
  return {std::make_shared<casimir::JunctionParts>(checked_graphs(offsets, ends, edge_offsets, labels),
                                                   std::min(max_cells, 1e15))};
}

SharedStructure make_matchings(Pairs shapes, bool null) {
  for (std::size_t i = 0; i < shapes.shape(0); ++i) {
    const std::int64_t rows = shapes.data()[2 * i], columns = shapes.data()[2 * i + 1];
    if (rows < 1 || columns < 1 || rows >= kMostParts || columns >= kMostParts)
      throw std::invalid_argument("shapes must give rows and columns, 1 or more and below 2^30.");
    if (!null && rows > columns) throw std::invalid_argument("a matching without null needs a column for every row.");
  }
  return {std::make_shared<casimir::MatchingParts>(shapes.data(), static_cast<std::int64_t>(shapes.shape(0)), null)};
}

/// The cells of the nodes and of the edges of all examples, and the entries of all outputs.
struct Counts {
  std::int64_t nodes = 0, edges = 0, entries = 0;
};

Counts counts_of(const PartStructure& structure) {
  Counts counts;
  for (std::int64_t i = 0; i < structure.size(); ++i) {
    counts.nodes += structure.node_cells(i);
    counts.edges += structure.edge_cells(i);
    counts.entries += structure.length(i);
  }
  return counts;
}

void check_outputs(const PartStructure& structure, const Labels& y, std::int64_t entries) {
  casimir::check_size(y.size(), entries, "y");
  const std::int32_t* label = y.data();
  for (std::int64_t i = 0; i < structure.size(); ++i)
    for (std::int64_t v = 0; v < structure.length(i); ++v, ++label)
      if (*label < 0 || *label >= structure.labels(i)) throw std::invalid_argument("a label is out of range.");
}

void check_rows(const PartRows& rows, const PartStructure& structure, bool edges, std::int64_t cells,
                std::int64_t n_params) {
  const char* name = edges ? "edges" : "nodes";
  if (rows.rows() * rows.cells() != cells)
    throw std::invalid_argument(std::string(name) + " has rows for " + std::to_string(rows.rows() * rows.cells()) +
                                " cells; the structure has " + std::to_string(cells) + ".");
  for (std::int64_t i = 0; i < structure.size(); ++i)
    if ((edges ? structure.edge_cells(i) : structure.node_cells(i)) % rows.cells() != 0)
      throw std::invalid_argument(std::string(name) + " has rows that belong to two examples.");
  if (rows.weights_end() > n_params) throw std::invalid_argument("there are fewer weights than the rows read.");
}

const double* checked(const std::optional<Vector>& array, std::int64_t count, const char* name) {
  if (!array) return nullptr;
  casimir::check_size(array->size(), count, name);
  return checked_finite(*array, name).data();
}

std::unique_ptr<casimir::Problem> make(const SharedStructure& shared, const PartRows& nodes,
                                       std::optional<PartRows> edges, std::int64_t n_params, std::optional<Labels> y,
                                       std::optional<Vector> fixed_nodes, std::optional<Vector> fixed_edges,
                                       std::optional<Vector> truth) {
  const PartStructure& structure = *shared.structure;
  const Counts counts = counts_of(structure);
  if (n_params < 1) throw std::invalid_argument("n_params must be at least 1.");
  check_rows(nodes, structure, false, counts.nodes, n_params);
  if (edges) check_rows(*edges, structure, true, counts.edges, n_params);
  if (y) check_outputs(structure, *y, counts.entries);
  return std::make_unique<casimir::LinearParts>(casimir::LinearPartsData{
      shared.structure, nodes, edges, n_params, y ? y->data() : nullptr,
      checked(truth, counts.nodes + counts.edges, "truth"), checked(fixed_nodes, counts.nodes, "fixed_nodes"),
      checked(fixed_edges, counts.edges, "fixed_edges")});
}

template <class T>
void bind_dense(nb::module_& m) {
  m.def("dense_part_rows", &make_dense<T>, nb::arg("features").noconvert(), nb::arg("first"),
        nb::arg("basis").noconvert(), nb::arg("scale").noconvert().none() = nb::none(), nb::keep_alive<0, 1>(),
        nb::keep_alive<0, 4>(), "Rows [R, d], float64 or float32: cells = scale (x W) basis, W [d, K] at w[first].");
}

}  // namespace

void bind_linear_parts(nb::module_& m) {
  nb::class_<SharedStructure>(m, "PartStructure", "Which cells make an output.");
  nb::class_<PartRows>(m, "PartRows", "Features of parts, and where their weights stand.");
  bind_dense<double>(m);
  bind_dense<float>(m);
  m.def("sparse_part_rows", &make_sparse, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
        nb::arg("values").none(), nb::arg("n_features"), nb::arg("first"), nb::arg("basis").noconvert(),
        nb::arg("scale").noconvert().none() = nb::none(), nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(),
        nb::keep_alive<0, 3>(), nb::keep_alive<0, 7>(), "The same with sparse rows.");
  m.def("cut_parts", &make_cuts, nb::arg("offsets").noconvert(), nb::arg("ends").noconvert(),
        nb::arg("edge_offsets").noconvert(), nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(),
        "Graphs with two labels whose pairs attract.");
  m.def("junction_parts", &make_junctions, nb::arg("offsets").noconvert(), nb::arg("ends").noconvert(),
        nb::arg("edge_offsets").noconvert(), nb::arg("n_labels"), nb::arg("max_cells"), nb::keep_alive<0, 1>(),
        nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(), "Graphs of small treewidth.");
  m.def("matching_parts", &make_matchings, nb::arg("shapes").noconvert(), nb::arg("null"), nb::keep_alive<0, 1>(),
        "Matchings of rows to columns.");
  m.def("linear_parts", &make, nb::arg("structure"), nb::arg("nodes"), nb::arg("edges").none(), nb::arg("n_params"),
        nb::arg("y").noconvert().none(), nb::arg("fixed_nodes").noconvert().none() = nb::none(),
        nb::arg("fixed_edges").noconvert().none() = nb::none(), nb::arg("truth").noconvert().none() = nb::none(),
        nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(), nb::keep_alive<0, 5>(),
        nb::keep_alive<0, 6>(), nb::keep_alive<0, 7>(), nb::keep_alive<0, 8>(),
        "A Problem of any structure whose cells are scored by rows of features.");
}
