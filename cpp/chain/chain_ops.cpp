#include "chain/chain_ops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/lanes.hpp"
#include "base/numbers.hpp"

namespace casimir {
namespace {

/// Messages from both sides that overlap by less have lost outputs to underflow, or will. Without forbidden scores
/// (-inf) the overlap stays above exp(-550): message_range bounds what a message can lose from one rescaling to the
/// next.
constexpr double kLeastOverlap = 1e-250;

/// Rows of NV vectors of W doubles; NV = 0: the number of vectors is known only at run time.
template <int W, int NV>
struct Rows {
  using L = Lanes<W>;
  using V = typename L::V;
  static constexpr int kHeld = NV ? NV : 1;  // vectors held in registers at a time

  static int vectors(RowShape shape) { return NV ? NV : shape.stride / W; }

  static void set_padding(RowShape shape, double* row, double value) {
    for (int l = shape.labels; l < shape.stride; ++l) row[l] = value;
  }

  // ---- scores and their adjoint -------------------------------------------------------------------------------------

  template <bool kTwo, bool kValues>
  static void score_with(RowShape shape, const TokenFeatures& x, std::int64_t first, std::int64_t count,
                         const WeightView& w, double* u) {
    const int nv = vectors(shape);
    const std::int64_t stride = shape.stride;
    for (std::int64_t t = 0; t < count; ++t, u += stride) {
      const std::int64_t begin = x.indptr[first + t], end = x.indptr[first + t + 1];
      for (int j0 = 0; j0 < nv; j0 += kHeld) {
        V moving[kHeld]{}, fixed[kHeld]{};
        for (std::int64_t f = begin; f < end; ++f) {
          const std::int64_t row = static_cast<std::int64_t>(x.indices[f]) * stride + j0 * W;
          const double value = kValues ? x.values[f] : 1.0;
          for (int j = 0; j < kHeld; ++j) {
            if constexpr (kValues) {
              moving[j] += L::load(w.v + row + j * W) * value;
              if constexpr (kTwo) fixed[j] += L::load(w.c + row + j * W) * value;
            } else {
              moving[j] += L::load(w.v + row + j * W);
              if constexpr (kTwo) fixed[j] += L::load(w.c + row + j * W);
            }
          }
        }
        for (int j = 0; j < kHeld; ++j) {
          V total = moving[j] * w.s;
          if constexpr (kTwo) total += fixed[j] * w.a;
          L::store(u + (j0 + j) * W, total);
        }
      }
      set_padding(shape, u, -kInf);
    }
  }

  static void score(RowShape shape, const TokenFeatures& x, std::int64_t first, std::int64_t count, const WeightView& w,
                    double* u) {
    if (w.c) {
      if (x.values) return score_with<true, true>(shape, x, first, count, w, u);
      return score_with<true, false>(shape, x, first, count, w, u);
    }
    if (x.values) return score_with<false, true>(shape, x, first, count, w, u);
    return score_with<false, false>(shape, x, first, count, w, u);
  }

  static bool is_zero(RowShape shape, const double* row) {
    for (int j = 0; j < vectors(shape); ++j)
      if (!L::is_zero(L::load(row + j * W))) return false;
    return true;
  }

  static void scatter(RowShape shape, const TokenFeatures& x, std::int64_t first, std::int64_t count,
                      const double* rows, const ScatterTarget& target) {
    const int nv = vectors(shape);
    const std::int64_t stride = shape.stride;
    for (std::int64_t t = 0; t < count; ++t, rows += stride) {
      if (is_zero(shape, rows)) continue;
      std::int64_t begin = x.indptr[first + t], end = x.indptr[first + t + 1];
      if (target.row_begin > 0)
        begin = std::lower_bound(x.indices + begin, x.indices + end, target.row_begin) - x.indices;
      if (begin < end && x.indices[end - 1] >= target.row_end)
        end = std::lower_bound(x.indices + begin, x.indices + end, target.row_end) - x.indices;
      for (int j0 = 0; j0 < nv; j0 += kHeld) {
        V va[kHeld], qb[kHeld];
        for (int j = 0; j < kHeld; ++j) {
          const V row = L::load(rows + (j0 + j) * W);
          va[j] = row * target.a;
          qb[j] = row * target.b;
        }
        for (std::int64_t f = begin; f < end; ++f) {
          const std::int64_t index = x.indices[f];
          const double value = x.values ? x.values[f] : 1.0;
          double* v = target.v + index * stride + j0 * W;
          for (int j = 0; j < kHeld; ++j) L::store(v + j * W, L::load(v + j * W) + va[j] * value);
          if (target.q) {
            double* q = target.q + index * stride + j0 * W;
            for (int j = 0; j < kHeld; ++j) L::store(q + j * W, L::load(q + j * W) + qb[j] * value);
          }
        }
      }
    }
  }

  // ---- max-product --------------------------------------------------------------------------------------------------

  /// out(y) = max_y' { matrix[y'](y) + message(y') }, two running maxima to shorten the dependency chain.
  static void max_step(RowShape shape, const double* matrix, const double* message, double* out) {
    const int nv = vectors(shape), labels = shape.labels;
    for (int j0 = 0; j0 < nv; j0 += kHeld) {
      V even[kHeld], odd[kHeld];
      const double* row = matrix + j0 * W;
      for (int j = 0; j < kHeld; ++j) even[j] = odd[j] = L::load(row + j * W) + message[0];
      int y = 1;
      for (; y + 1 < labels; y += 2) {
        const double* first = row + static_cast<std::int64_t>(y) * shape.stride;
        const double* second = first + shape.stride;
        for (int j = 0; j < kHeld; ++j) {
          even[j] = L::max(even[j], L::load(first + j * W) + message[y]);
          odd[j] = L::max(odd[j], L::load(second + j * W) + message[y + 1]);
        }
      }
      if (y < labels) {
        const double* last = row + static_cast<std::int64_t>(y) * shape.stride;
        for (int j = 0; j < kHeld; ++j) even[j] = L::max(even[j], L::load(last + j * W) + message[y]);
      }
      for (int j = 0; j < kHeld; ++j) L::store(out + (j0 + j) * W, L::max(even[j], odd[j]));
    }
  }

  static void add_rows(RowShape shape, const double* a, const double* b, double* out) {
    const int nv = vectors(shape);
    for (int j = 0; j < nv; ++j) L::store(out + j * W, L::load(a + j * W) + L::load(b + j * W));
  }

  static void backward_max(RowShape shape, std::int64_t p, const double* u, Transitions edges, double* beta,
                           double* best) {
    const std::int64_t stride = shape.stride;
    std::copy(u + (p - 1) * stride, u + p * stride, beta + (p - 1) * stride);
    for (std::int64_t t = p - 2; t >= 0; --t) {
      max_step(shape, edges.from + t * edges.step, beta + (t + 1) * stride, best + t * stride);
      add_rows(shape, u + t * stride, best + t * stride, beta + t * stride);
    }
  }

  static void forward_max(RowShape shape, std::int64_t p, const double* u, Transitions edges, double* alpha) {
    const std::int64_t stride = shape.stride;
    std::copy(u, u + stride, alpha);
    for (std::int64_t t = 1; t < p; ++t) {
      max_step(shape, edges.to + (t - 1) * edges.step, alpha + (t - 1) * stride, alpha + t * stride);
      add_rows(shape, u + t * stride, alpha + t * stride, alpha + t * stride);
    }
  }

  static void complete(RowShape shape, std::int64_t p, std::int64_t from, Transitions edges, const double* beta,
                       const double* best, std::int32_t* labels, double* loss) {
    const int nv = vectors(shape);
    const std::int64_t stride = shape.stride;
    std::int32_t y = labels[from];
    for (std::int64_t t = from + 1; t < p; ++t) {
      const double* row = edges.to + (t - 1) * edges.step + y * stride;
      const V target = L::all(best[(t - 1) * stride + y]);
      std::int32_t next = -1;
      for (int j = 0; j < nv; ++j) {
        const V value = L::load(row + j * W) + L::load(beta + t * stride + j * W);
        const unsigned hits = L::equal_bits(value, target);
        if (next < 0 && hits) next = j * W + __builtin_ctz(hits);
        if (loss) L::store(loss + t * stride + j * W, target - value);
      }
      // With scores that are not finite nothing, or only padding, may be the best: any label will do, but it must be
      // one.
      labels[t] = y = next >= 0 && next < shape.labels ? next : 0;
    }
  }

  static void scan(RowShape shape, std::int64_t p, std::int64_t first, const double* loss, const std::int32_t* labels,
                   double base, double bound, const Insert& insert) {
    const int nv = vectors(shape);
    for (std::int64_t t = p - 1; t >= first; --t) {
      const double* row = loss + t * shape.stride;
      for (int j = 0; j < nv; ++j) {
        unsigned bits = L::at_most_bits(L::load(row + j * W) + base, L::all(bound));
        if (labels[t] / W == j) bits &= ~(1u << (labels[t] % W));
        for (; bits; bits &= bits - 1) {
          const int label = j * W + __builtin_ctz(bits);
          bound = insert.call(insert.context, t, label, base + row[label]);
        }
      }
    }
  }

  // ---- sum-product --------------------------------------------------------------------------------------------------

  /// out(y) = sum_y' matrix[y'](y) * message(y').
  static void sum_step(RowShape shape, const double* matrix, const double* message, double* out) {
    const int nv = vectors(shape);
    for (int j0 = 0; j0 < nv; j0 += kHeld) {
      V even[kHeld]{}, odd[kHeld]{};
      int y = 0;
      for (; y + 1 < shape.labels; y += 2) {
        const double* first = matrix + static_cast<std::int64_t>(y) * shape.stride + j0 * W;
        for (int j = 0; j < kHeld; ++j) {
          even[j] += L::load(first + j * W) * message[y];
          odd[j] += L::load(first + shape.stride + j * W) * message[y + 1];
        }
      }
      if (y < shape.labels) {
        const double* last = matrix + static_cast<std::int64_t>(y) * shape.stride + j0 * W;
        for (int j = 0; j < kHeld; ++j) even[j] += L::load(last + j * W) * message[y];
      }
      for (int j = 0; j < kHeld; ++j) L::store(out + (j0 + j) * W, even[j] + odd[j]);
    }
  }

  static double row_sum(RowShape shape, const double* row) {
    V total{};
    for (int j = 0; j < vectors(shape); ++j) total += L::load(row + j * W);
    return L::sum(total);
  }

  static void exp_rows(const double* in, std::int64_t size, double offset, double inverse_mu, double* out) {
    for (std::int64_t j = 0; j < size; j += W) L::store(out + j, L::exp((L::load(in + j) - offset) * inverse_mu));
  }

  static double row_max(RowShape shape, const double* row) {
    V top = L::load(row);
    for (int j = 1; j < vectors(shape); ++j) top = L::max(top, L::load(row + j * W));
    return L::highest(top);
  }

  /// Largest and smallest entry of `count` rows; padding and forbidden scores (-inf) do not count.
  struct Range {
    double highest, lowest;
  };
  static Range range_of(RowShape shape, const double* rows, std::int64_t count) {
    V high = L::all(-kInf), negated_low = L::all(-kInf);
    for (std::int64_t j = 0; j < count * shape.stride; j += W) {
      const V value = L::load(rows + j);
      high = L::max(high, value);
      negated_low = L::max(negated_low, value == -kInf ? value : -value);
    }
    return {L::highest(high), -L::highest(negated_low)};
  }

  /// By how much the messages of one position can differ, in units of mu: range(T) + range(u_t) + log L, and the same
  /// again for the message on the other side.
  static double message_range(RowShape shape, std::int64_t p, const double* u, Transitions edges, double mu) {
    double widest_node = 0.0, widest_edge = 0.0;
    for (std::int64_t t = 0; t < p; ++t) {
      const Range range = range_of(shape, u + t * shape.stride, 1);
      widest_node = std::max(widest_node, range.highest - range.lowest);
    }
    const std::int64_t matrices = p == 1 ? 0 : edges.step == 0 ? 1 : p - 1;
    for (std::int64_t t = 0; t < matrices; ++t) {
      const Range range = range_of(shape, edges.to + t * edges.step, shape.labels);
      widest_edge = std::max(widest_edge, range.highest - range.lowest);
    }
    return (widest_node + 2.0 * widest_edge) / mu + std::log(shape.labels);
  }

  /// Messages are brought back to sum 1 this often, before they can leave the range of doubles.
  static std::int64_t rescaling_period(double range) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(300.0 / (range + 1.0)), 1, 8);
  }

  /// The messages from the left alone, step by step as in `expect`.
  static double log_sum(RowShape shape, std::int64_t p, const double* u, Transitions edges, double mu, double* work) {
    const double range = message_range(shape, p, u, edges, mu), inverse_mu = 1.0 / mu;
    if (!(range < 300.0)) return std::numeric_limits<double>::quiet_NaN();
    const std::int64_t period = rescaling_period(range), stride = shape.stride, block = shape.labels * stride;
    const int nv = vectors(shape);
    double *before = work, *here = work + stride, *local = work + 2 * stride, *potential = work + 3 * stride;
    double value = 0.0, offset = 0.0, logs = 0.0;
    for (std::int64_t t = 0; t < p; ++t) {
      const double top = row_max(shape, u + t * stride);
      exp_rows(u + t * stride, stride, top, inverse_mu, t == 0 ? here : local);
      value += top;
      if (t == 0) continue;
      if (edges.step != 0 || t == 1) {
        offset = range_of(shape, edges.to + (t - 1) * edges.step, shape.labels).highest;
        exp_rows(edges.to + (t - 1) * edges.step, block, offset, inverse_mu, potential);
      }
      value += offset;
      std::swap(before, here);
      sum_step(shape, potential, before, here);
      for (int j = 0; j < nv; ++j) L::store(here + j * W, L::load(here + j * W) * L::load(local + j * W));
      if (t % period != 0) continue;
      const double total = row_sum(shape, here), inverse = 1.0 / total;
      for (int j = 0; j < nv; ++j) L::store(here + j * W, L::load(here + j * W) * inverse);
      logs += std::log(total);
    }
    return value + mu * (logs + std::log(row_sum(shape, here)));
  }

  static double expect(RowShape shape, std::int64_t p, const double* u, Transitions edges, double mu, double* nodes,
                       double* edge_out, std::int64_t edge_step, double* work) {
    const double range = message_range(shape, p, u, edges, mu);
    if (!(range < 300.0)) return expect_log(shape, p, u, edges, mu, nodes, edge_out, edge_step, work);
    const std::int64_t period = rescaling_period(range);
    const std::int64_t stride = shape.stride, block = shape.labels * stride;
    const int nv = vectors(shape);
    const double inverse_mu = 1.0 / mu;
    double* local = work;                  // exp(u / mu), scaled by its row's maximum
    double* right = work + p * stride;     // local * (message from the right), up to a factor
    double* left = work + 2 * p * stride;  // messages from the left, local included, up to a factor
    double* potential = work + 3 * p * stride;
    double value = 0.0;
    for (std::int64_t t = 0; t < p; ++t) {
      const double top = row_max(shape, u + t * stride);
      exp_rows(u + t * stride, stride, top, inverse_mu, local + t * stride);
      value += top;
    }

    double offset = 0.0;
    const auto load_potential = [&](std::int64_t t, const double* matrix) {
      offset = range_of(shape, matrix + t * edges.step, shape.labels).highest;
      exp_rows(matrix + t * edges.step, block, offset, inverse_mu, potential);
    };
    const auto normalise = [&](double* row) {
      const double total = row_sum(shape, row);
      const double inverse = 1.0 / total;
      for (int j = 0; j < nv; ++j) L::store(row + j * W, L::load(row + j * W) * inverse);
      return total;
    };

    std::copy(local + (p - 1) * stride, local + p * stride, right + (p - 1) * stride);
    for (std::int64_t t = p - 2; t >= 0; --t) {
      if (edges.step != 0 || t == p - 2) load_potential(t, edges.from);
      double* row = right + t * stride;
      sum_step(shape, potential, right + (t + 1) * stride, row);
      for (int j = 0; j < nv; ++j) L::store(row + j * W, L::load(row + j * W) * L::load(local + t * stride + j * W));
      if (t % period == 0) normalise(row);
    }
    normalise(right);

    std::copy(right, right + stride, nodes);
    std::copy(local, local + stride, left);
    double logs = 0.0;
    double* sums = edge_step == 0 ? work + 3 * p * stride + block : nullptr;
    if (sums) std::fill(sums, sums + block, 0.0);
    for (std::int64_t t = 1; t < p; ++t) {
      if (edges.step != 0 || t == 1) load_potential(t - 1, edges.to);
      value += offset;
      const double* before = left + (t - 1) * stride;
      const double* after = right + t * stride;
      double* here = left + t * stride;
      sum_step(shape, potential, before, here);
      V overlap{};
      for (int j = 0; j < nv; ++j) overlap += L::load(here + j * W) * L::load(after + j * W);
      const double common = L::sum(overlap);
      // Labels that no allowed output joins drift apart without limit: start again in logs.
      if (!(common >= kLeastOverlap && common < kInf))
        return expect_log(shape, p, u, edges, mu, nodes, edge_out, edge_step, work);
      const double inverse = 1.0 / common;
      for (int j = 0; j < nv; ++j) {
        const V message = L::load(here + j * W);
        L::store(nodes + t * stride + j * W, message * L::load(after + j * W) * inverse);
        L::store(here + j * W, message * L::load(local + t * stride + j * W));
      }
      double* out = sums ? sums : edge_out + (t - 1) * edge_step;
      for (int y = 0; y < shape.labels; ++y) {
        const double weight = before[y] * inverse;
        for (int j = 0; j < nv; ++j) {
          double* cell = out + y * stride + j * W;
          const V joint = L::load(after + j * W) * weight;
          if (sums)
            L::store(cell, L::load(cell) + joint);
          else
            L::store(cell, joint * L::load(potential + y * stride + j * W));
        }
      }
      if (t % period == 0) logs += std::log(normalise(here));
    }
    if (sums && p > 1) {
      // A shared matrix: the common factor is applied once, after the sum over edges.
      for (std::int64_t j = 0; j < block; j += W)
        L::store(edge_out + j, L::load(edge_out + j) + L::load(sums + j) * L::load(potential + j));
    }
    return value + mu * (logs + std::log(row_sum(shape, left + (p - 1) * stride)));
  }

  /// Where scores / mu are so large that the logs of how many outputs tie are lost in them, marginals of a position add
  /// up to more than 1: they become shares. Whether that was so.
  static bool rescale_lost(RowShape shape, std::int64_t p, double* nodes) {
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

  /// The same in the log domain, for scores whose range over mu overflows doubles (one exp per pair of labels), and for
  /// forbidden scores that keep labels apart.
  static double expect_log(RowShape shape, std::int64_t p, const double* u, Transitions edges, double mu, double* nodes,
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
      set_padding(shape, nodes + t * stride, 0.0);
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
        if (edge_step != 0) set_padding(shape, out + y * stride, 0.0);
        for (int z = 0; z < labels; ++z) {
          double& cell = out[y * stride + z];
          cell = edge_step == 0 ? cell + scale * joint(y, z) : scale * joint(y, z);
        }
      }
    }
    return mu * log_partition;
  }

  static constexpr ChainOps table{&score, &backward_max, &forward_max, &complete, &scan, &expect, &log_sum, &scatter};
};

#if defined(__AVX512F__)
constexpr int kWide = 8;
#else
constexpr int kWide = 4;
#endif

}  // namespace

const ChainOps& chain_ops(int stride) {
  switch (stride) {
    case 4:
      return Rows<4, 1>::table;
    case 8:
      return Rows<kWide, 8 / kWide>::table;
    case 12:
      return Rows<4, 3>::table;
    case 16:
      return Rows<kWide, 16 / kWide>::table;
    case 20:
      return Rows<4, 5>::table;
    case 24:
      return Rows<kWide, 24 / kWide>::table;
    case 28:
      return Rows<4, 7>::table;
    case 32:
      return Rows<kWide, 32 / kWide>::table;
    default:
      return Rows<4, 0>::table;
  }
}

}  // namespace casimir
