// The arrays that oracles of batches return, found without the GIL.
#pragma once

#include "base/topk_batch.hpp"
#include "bind.hpp"

/// (value f64[n], labels i64[total]) that oracle(values, labels) writes.
template <class Oracle>
nb::object max_arrays(std::size_t n, std::size_t total, Oracle&& oracle) {
  std::vector<double> values(n);
  std::vector<std::int64_t> labels(total);
  {
    nb::gil_scoped_release release;
    oracle(values.data(), labels.data());
  }
  return nb::make_tuple(make_array(std::move(values), {n}), make_array(std::move(labels), {total}));
}

/// (values f64[sum k_i], counts i64[n], labels i64[sum k_i p_i]) of the TopKBatch that oracle() returns.
template <class Oracle>
nb::object topk_arrays(std::int64_t k, double mu, Oracle&& oracle) {
  if (k < 1) throw std::invalid_argument("k must be at least 1.");
  if (!(mu > 0)) throw std::invalid_argument("mu must be positive.");
  casimir::TopKBatch top;
  {
    nb::gil_scoped_release release;
    top = oracle();
  }
  const std::size_t values = top.values.size(), counts = top.counts.size(), labels = top.labels.size();
  return nb::make_tuple(make_array(std::move(top.values), {values}), make_array(std::move(top.counts), {counts}),
                        make_array(std::move(top.labels), {labels}));
}

/// f64[rows, columns] that oracle(out) writes.
template <class Oracle>
nb::object table_array(std::size_t rows, std::size_t columns, Oracle&& oracle) {
  std::vector<double> out(rows * columns);
  {
    nb::gil_scoped_release release;
    oracle(out.data());
  }
  return make_array(std::move(out), {rows, columns});
}

/// (value f64[n], node marginals f64[nodes, labels], edge marginals f64[edges, labels, labels]) that
/// oracle(values, nodes, edges) writes.
template <class Oracle>
nb::object expect_arrays(std::size_t n, std::size_t nodes, std::size_t edges, std::size_t labels, double mu,
                         Oracle&& oracle) {
  if (!(mu > 0)) throw std::invalid_argument("mu must be positive.");
  std::vector<double> values(n), node_marginals(nodes * labels), edge_marginals(edges * labels * labels);
  {
    nb::gil_scoped_release release;
    oracle(values.data(), node_marginals.data(), edge_marginals.data());
  }
  return nb::make_tuple(make_array(std::move(values), {n}), make_array(std::move(node_marginals), {nodes, labels}),
                        make_array(std::move(edge_marginals), {edges, labels, labels}));
}
