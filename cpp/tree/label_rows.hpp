// Products of an unpadded [labels][labels] matrix with a row of labels, in the max and in the log-sum-exp algebra.
//
// The columns of a row are covered by vectors of W lanes. The last vector ends at the last column and overlaps the one
// before, so that rows need no padding; what two vectors compute twice is the same number. Fewer than 4 labels are done
// one by one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/lanes.hpp"

namespace casimir {

template <int W>
class LabelRows {
 public:
  using L = Lanes<W>;
  using V = typename L::V;

  explicit LabelRows(int labels) : labels_(labels) {}

  double highest(const double* row) const {
    V top = L::load(row);
    for (int b = W; b < labels_; b += W) top = L::max(top, L::load(row + std::min(b, labels_ - W)));
    return L::highest(top);
  }

  /// out[b] = max_a { matrix[a][b] + message[a] }.
  void max_columns(const double* matrix, const double* message, double* out) const {
    for_blocks([&](auto count, const int* at) { max_block<decltype(count)::value>(matrix, message, at, out); });
  }

  /// out[a] = max_b { matrix[a][b] + message[b] }.
  void max_rows(const double* matrix, const double* message, double* out) const {
    for (int a = 0; a < labels_; ++a) {
      const double* row = matrix + static_cast<std::int64_t>(a) * labels_;
      V top = L::load(row) + L::load(message);
      for (int b = W; b < labels_; b += W) {
        const int at = std::min(b, labels_ - W);
        top = L::max(top, L::load(row + at) + L::load(message + at));
      }
      out[a] = L::highest(top);
    }
  }

  /// weights[a][b] = exp((matrix[a][b] + message[a] - top[b]) / mu); total[b] = sum_a weights[a][b].
  void exp_columns(const double* matrix, const double* message, const double* top, double inverse_mu, double* weights,
                   double* total) const {
    for (int b = 0; b < labels_; b += W) {
      const int at = std::min(b, labels_ - W);
      const V shift = L::load(top + at);
      V sum{};
      for (int a = 0; a < labels_; ++a) {
        const std::int64_t cell = static_cast<std::int64_t>(a) * labels_ + at;
        const V weight = L::exp((L::load(matrix + cell) + message[a] - shift) * inverse_mu);
        L::store(weights + cell, weight);
        sum += weight;
      }
      L::store(total + at, sum);
    }
  }

  /// weights[a][b] *= factor[b]; sums[a] = sum_b weights[a][b].
  void scale_columns(const double* factor, double* weights, double* sums) const {
    const int whole = labels_ / W * W;
    for (int a = 0; a < labels_; ++a) {
      double* row = weights + static_cast<std::int64_t>(a) * labels_;
      V sum{};
      for (int b = 0; b < whole; b += W) {
        const V scaled = L::load(row + b) * L::load(factor + b);
        L::store(row + b, scaled);
        sum += scaled;
      }
      double rest = 0.0;
      for (int b = whole; b < labels_; ++b) rest += row[b] *= factor[b];
      sums[a] = L::sum(sum) + rest;
    }
  }

 private:
  template <int N>
  struct Count {
    static constexpr int value = N;
  };

  /// Calls body(Count<N>, first columns) on groups of N <= 4 vectors that together cover all columns.
  template <class Body>
  void for_blocks(Body&& body) const {
    for (int b = 0; b < labels_; b += 4 * W) {
      int at[4], count = 0;
      for (; count < 4 && b + count * W < labels_; ++count) at[count] = std::min(b + count * W, labels_ - W);
      if (count == 4)
        body(Count<4>{}, at);
      else if (count == 3)
        body(Count<3>{}, at);
      else if (count == 2)
        body(Count<2>{}, at);
      else
        body(Count<1>{}, at);
    }
  }

  /// Two running maxima shorten the chain of dependent instructions.
  template <int N>
  void max_block(const double* matrix, const double* message, const int* at, double* out) const {
    V even[N], odd[N];
    for (int j = 0; j < N; ++j) even[j] = odd[j] = L::load(matrix + at[j]) + message[0];
    int a = 1;
    for (; a + 1 < labels_; a += 2) {
      const double* row = matrix + static_cast<std::int64_t>(a) * labels_;
      for (int j = 0; j < N; ++j) {
        even[j] = L::max(even[j], L::load(row + at[j]) + message[a]);
        odd[j] = L::max(odd[j], L::load(row + labels_ + at[j]) + message[a + 1]);
      }
    }
    if (a < labels_) {
      const double* row = matrix + static_cast<std::int64_t>(a) * labels_;
      for (int j = 0; j < N; ++j) even[j] = L::max(even[j], L::load(row + at[j]) + message[a]);
    }
    for (int j = 0; j < N; ++j) L::store(out + at[j], L::max(even[j], odd[j]));
  }

  int labels_;
};

/// The same with fewer labels than the narrowest vector has lanes.
template <>
class LabelRows<1> {
 public:
  explicit LabelRows(int labels) : labels_(labels) {}

  double highest(const double* row) const { return *std::max_element(row, row + labels_); }

  void max_columns(const double* matrix, const double* message, double* out) const {
    for (int b = 0; b < labels_; ++b) {
      out[b] = matrix[b] + message[0];
      for (int a = 1; a < labels_; ++a) out[b] = std::max(out[b], matrix[a * labels_ + b] + message[a]);
    }
  }

  void max_rows(const double* matrix, const double* message, double* out) const {
    for (int a = 0; a < labels_; ++a) {
      out[a] = matrix[a * labels_] + message[0];
      for (int b = 1; b < labels_; ++b) out[a] = std::max(out[a], matrix[a * labels_ + b] + message[b]);
    }
  }

  void exp_columns(const double* matrix, const double* message, const double* top, double inverse_mu, double* weights,
                   double* total) const {
    for (int b = 0; b < labels_; ++b) total[b] = 0.0;
    for (int a = 0; a < labels_; ++a)
      for (int b = 0; b < labels_; ++b)
        total[b] += weights[a * labels_ + b] = std::exp((matrix[a * labels_ + b] + message[a] - top[b]) * inverse_mu);
  }

  void scale_columns(const double* factor, double* weights, double* sums) const {
    for (int a = 0; a < labels_; ++a) {
      sums[a] = 0.0;
      for (int b = 0; b < labels_; ++b) sums[a] += weights[a * labels_ + b] *= factor[b];
    }
  }

 private:
  int labels_;
};

/// Calls body(LabelRows<W>) with the widest vectors that fit into a row.
template <class Body>
void with_label_rows(int labels, Body&& body) {
  if (labels >= 8)
    body(LabelRows<8>(labels));
  else if (labels >= 4)
    body(LabelRows<4>(labels));
  else
    body(LabelRows<1>(labels));
}

}  // namespace casimir
