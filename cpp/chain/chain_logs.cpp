#include "chain/chain_logs.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/numbers.hpp"

namespace casimir {
namespace {

/// Where scores / mu are so large that the logs of how many outputs tie are lost in them, marginals of a position add
/// up to more than 1: they become shares. Whether that was so.
bool rescale_lost(RowShape shape, std::int64_t p, double* nodes) {
  bool is_lost = false;
  for (std::int64_t t = 0; t < p; ++t) {
    double* row = nodes + t * shape.stride;
    double total = 0.0;
    for (int y = 0; y < shape.labels; ++y) total += row[y];
    if (!(std::abs(total - 1.0) > 1e-6) || !(total > 0.0)) continue;
    is_lost = true;
    for (int y = 0; y < shape.labels; ++y) row[y] /= total;
  }
  return is_lost;
}

}  // namespace

double expect_in_logs(RowShape shape, std::int64_t p, const double* u, Transitions edges, double mu, double* nodes,
                      double* edge_out, std::int64_t edge_step, double* work) {
  const std::int64_t stride = shape.stride;
  const int labels = shape.labels;
  double* right = work;              // log message from the right, into position t
  double* left = work + p * stride;  // log message from the left, u_t included
  std::vector<double> terms(static_cast<std::size_t>(labels));
  const auto log_sum = [&] {
    const double top = *std::max_element(terms.begin(), terms.end());
    if (top == -kInf) return top;  // nothing but forbidden scores
    double total = 0.0;
    for (const double term : terms) total += std::exp(term - top);
    return top + std::log(total);
  };
  for (int y = 0; y < labels; ++y) right[(p - 1) * stride + y] = 0.0;
  for (std::int64_t t = p - 2; t >= 0; --t) {
    const double* matrix = edges.to + t * edges.step;
    for (int y = 0; y < labels; ++y) {
      for (int z = 0; z < labels; ++z)
        terms[z] = (matrix[y * stride + z] + u[(t + 1) * stride + z]) / mu + right[(t + 1) * stride + z];
      right[t * stride + y] = log_sum();
    }
  }
  for (int y = 0; y < labels; ++y) left[y] = u[y] / mu;
  for (std::int64_t t = 1; t < p; ++t) {
    const double* matrix = edges.to + (t - 1) * edges.step;
    for (int z = 0; z < labels; ++z) {
      for (int y = 0; y < labels; ++y) terms[y] = left[(t - 1) * stride + y] + matrix[y * stride + z] / mu;
      left[t * stride + z] = log_sum() + u[t * stride + z] / mu;
    }
  }
  for (int y = 0; y < labels; ++y) terms[y] = left[(p - 1) * stride + y];
  const double log_partition = log_sum();
  for (std::int64_t t = 0; t < p; ++t) {
    for (int y = 0; y < labels; ++y)
      nodes[t * stride + y] = std::exp(left[t * stride + y] + right[t * stride + y] - log_partition);
    std::fill(nodes + t * stride + labels, nodes + (t + 1) * stride, 0.0);
  }
  const bool is_lost = rescale_lost(shape, p, nodes);
  for (std::int64_t t = 0; t + 1 < p; ++t) {
    const double* matrix = edges.to + t * edges.step;
    double* out = edge_out + t * edge_step;
    const auto joint = [&](int y, int z) {
      return std::exp(left[t * stride + y] + (matrix[y * stride + z] + u[(t + 1) * stride + z]) / mu +
                      right[(t + 1) * stride + z] - log_partition);
    };
    double scale = 1.0;
    if (is_lost) {
      double total = 0.0;
      for (int y = 0; y < labels; ++y)
        for (int z = 0; z < labels; ++z) total += joint(y, z);
      scale = total > 0.0 ? 1.0 / total : 1.0;
    }
    for (int y = 0; y < labels; ++y) {
      if (edge_step != 0) std::fill(out + y * stride + labels, out + (y + 1) * stride, 0.0);
      for (int z = 0; z < labels; ++z) {
        double& cell = out[y * stride + z];
        cell = edge_step == 0 ? cell + scale * joint(y, z) : scale * joint(y, z);
      }
    }
  }
  return mu * log_partition;
}

}  // namespace casimir
