// The oracles of a batch as Python functions, by one template for all structures.
//
// A structure says how Python arguments become a batch, what they are called, and which functions of the core to call:
//
//     struct ChainOracles {
//       static CheckedBatch<casimir::ChainBatch> batch(const Nodes&, const Offsets&, const Edges&);
//       static auto arguments() { return std::tuple{nb::arg("nodes").noconvert(), ...}; }
//       static constexpr auto max = &casimir::chain_max, ... topk, expect, max_marginals
//       static constexpr OracleDocs docs{...};
//     };
//     bind_oracles<ChainOracles>(m, "chain");  // chain_max, chain_topk, chain_expect, chain_max_marginals
//
// `batch` throws unless the arrays fit together; kernels trust it. `expect` and `max_marginals` may be missing.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/topk_batch.hpp"
#include "bind.hpp"

/// A batch of the core, and the sizes of what its oracles return.
template <class Batch>
struct CheckedBatch {
  Batch batch;
  std::size_t examples;
  std::size_t entries;  // of the outputs of all examples
  Shape nodes;          // of max-marginals and node marginals
  Shape edges = {};     // of edge marginals, where there is an exp oracle
};

struct OracleDocs {
  const char* max = "(value f64[n], labels i64[N]) of the best outputs.";
  const char* topk =
      "(values f64[sum k_i], counts i64[n], labels i64[sum k_i p_i]); a finite mu stops once l2 smoothing is exact.";
  const char* expect = "(value f64[n], node marginals f64[N, L], edge marginals f64[M, L, L]).";
  const char* max_marginals = "f64[N, L]: best score with node v labelled j.";
};

inline void check_k(std::int64_t k) {
  if (k < 1) throw std::invalid_argument("k must be at least 1, not " + std::to_string(k) + ".");
}

inline void check_mu(double mu) {
  if (!(mu > 0)) throw std::invalid_argument("mu must be positive, not " + std::to_string(mu) + ".");
}

inline std::size_t count_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>{});
}

/// What call() returns, found without the GIL.
template <class Call>
auto without_gil(Call&& call) {
  nb::gil_scoped_release release;
  return call();
}

/// (value f64[n], labels i64[total]) that oracle(values, labels) writes.
template <class Oracle>
nb::object max_arrays(std::size_t n, std::size_t total, Oracle&& oracle) {
  std::vector<double> values(n);
  std::vector<std::int64_t> labels(total);
  without_gil([&] { oracle(values.data(), labels.data()); });
  return nb::make_tuple(make_array(std::move(values), {n}), make_array(std::move(labels), {total}));
}

/// (values f64[sum k_i], counts i64[n], labels i64[sum k_i p_i])
inline nb::object topk_arrays(casimir::TopKBatch top) {
  const std::size_t values = top.values.size(), counts = top.counts.size(), labels = top.labels.size();
  return nb::make_tuple(make_array(std::move(top.values), {values}), make_array(std::move(top.counts), {counts}),
                        make_array(std::move(top.labels), {labels}));
}

/// Refuses values of exp oracles that are not finite, but for the -inf of examples without outputs.
inline void check_values(const std::vector<double>& values) {
  for (const double value : values)
    if (std::isnan(value) || value == std::numeric_limits<double>::infinity())
      throw std::invalid_argument("mu is so small that scores / mu overflow, or a score is not finite; use max.");
}

/// (value f64[n], f64[nodes], f64[edges]) that oracle(values, nodes, edges) writes: every entry, or those that are not
/// 0.
template <class Oracle>
nb::object expect_arrays(std::size_t n, const Shape& nodes, const Shape& edges, bool every_entry, Oracle&& oracle) {
  std::vector<double> values(n);
  Room<double> node_values(count_of(nodes), !every_entry), edge_values(count_of(edges), !every_entry);
  without_gil([&] { oracle(values.data(), node_values.data(), edge_values.data()); });
  check_values(values);
  return nb::make_tuple(make_array(std::move(values), {n}), std::move(node_values).array(nodes),
                        std::move(edge_values).array(edges));
}

template <class Oracles, class Batch, class... Inputs>
void bind_oracles_of(nb::module_& m, const std::string& name, CheckedBatch<Batch> (*)(Inputs...)) {
  const auto define = [&](const char* oracle, auto function, const char* doc, const auto&... more) {
    const auto def = [&](const auto&... inputs) {
      m.def((name + "_" + oracle).c_str(), function, inputs..., more..., nb::arg("threads"), doc);
    };
    std::apply(def, Oracles::arguments());
  };
  const auto max = [](Inputs... inputs, int threads) {
    const auto checked = Oracles::batch(inputs...);
    return max_arrays(checked.examples, checked.entries, [&](double* values, std::int64_t* outputs) {
      Oracles::max(checked.batch, threads, values, outputs);
    });
  };
  const auto topk = [](Inputs... inputs, std::int64_t k, double mu, int threads) {
    const auto checked = Oracles::batch(inputs...);
    check_k(k), check_mu(mu);
    return topk_arrays(without_gil([&] { return Oracles::topk(checked.batch, k, mu, threads); }));
  };
  define("max", max, Oracles::docs.max);
  define("topk", topk, Oracles::docs.topk, nb::arg("k"), nb::arg("mu"));
  if constexpr (requires { Oracles::expect; }) {
    const auto expect = [](Inputs... inputs, double mu, int threads) {
      const auto checked = Oracles::batch(inputs...);
      check_mu(mu);
      constexpr bool every_entry = requires { Oracles::writes_every_entry; };
      return expect_arrays(checked.examples, checked.nodes, checked.edges, every_entry,
                           [&](double* values, double* nodes, double* edges) {
                             Oracles::expect(checked.batch, mu, threads, values, nodes, edges);
                           });
    };
    define("expect", expect, Oracles::docs.expect, nb::arg("mu"));
  }
  if constexpr (requires { Oracles::max_marginals; }) {
    const auto max_marginals = [](Inputs... inputs, int threads) {
      const auto checked = Oracles::batch(inputs...);
      std::vector<double> out(count_of(checked.nodes));
      without_gil([&] { Oracles::max_marginals(checked.batch, threads, out.data()); });
      return make_array(std::move(out), checked.nodes);
    };
    define("max_marginals", max_marginals, Oracles::docs.max_marginals);
  }
}

/// Defines name_max, name_topk and, where the structure has them, name_expect and name_max_marginals.
template <class Oracles>
void bind_oracles(nb::module_& m, const std::string& name) {
  bind_oracles_of<Oracles>(m, name, &Oracles::batch);
}
