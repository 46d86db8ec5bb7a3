#include "chain/chain_ops.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/lanes.hpp"
#include "base/numbers.hpp"
#include "chain/allowed_pairs.hpp"
#include "chain/chain_logs.hpp"
#include "chain/columns.hpp"

namespace casimir {
namespace {

/// Rows of NV vectors of W doubles; NV = 0: the number of vectors is known only at run time.
template <int W, int NV>
struct Rows {
  using L = Lanes<W>;
  using V = typename L::V;

  static int vectors(RowShape shape) { return NV ? NV : shape.stride / W; }

  /// use(columns, first) for blocks of columns that cover a row.
  template <class Use>
  static void over_columns(RowShape shape, Use&& use) {
    if constexpr (NV > 0) {
      use(Columns<W, NV>{}, 0);
    } else {
      int column = 0;
      for (; column + kManyColumns <= shape.stride; column += kManyColumns)
        use(Columns<kWide, kManyColumns / kWide>{}, column);
      for (; column + kWide <= shape.stride; column += kWide) use(Columns<kWide, 1>{}, column);
      for (; column < shape.stride; column += 4) use(Columns<4, 1>{}, column);
    }
  }

  static void set_padding(RowShape shape, double* row, double value) {
    for (int l = shape.labels; l < shape.stride; ++l) row[l] = value;
  }

  // ---- scores and their adjoint -------------------------------------------------------------------------------------

  template <bool kTwo, bool kValues>
  static void score_with(RowShape shape, const TokenFeatures& x, std::int64_t first, std::int64_t count,
                         const WeightView& w, double* u) {
    for (std::int64_t t = 0; t < count; ++t, u += shape.stride) {
      const std::int64_t begin = x.indptr[first + t], end = x.indptr[first + t + 1];
      over_columns(shape, [&]<class Block>(Block, int column) {
        Block::template score<kTwo, kValues>(shape, x, begin, end, w, column, u);
      });
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
    const std::int64_t stride = shape.stride;
    for (std::int64_t t = 0; t < count; ++t, rows += stride) {
      if (is_zero(shape, rows)) continue;
      std::int64_t begin = x.indptr[first + t], end = x.indptr[first + t + 1];
      if (target.row_begin > 0)
        begin = std::lower_bound(x.indices + begin, x.indices + end, target.row_begin) - x.indices;
      if (begin < end && x.indices[end - 1] >= target.row_end)
        end = std::lower_bound(x.indices + begin, x.indices + end, target.row_end) - x.indices;
      if constexpr (NV > 0) {
        Columns<W, NV>::scatter(shape, x, begin, end, rows, 0, target);
      } else {
        over_columns(
            shape, [&]<class Block>(Block, int column) { Block::scatter(shape, x, begin, end, rows, column, target); });
      }
    }
  }

  // ---- max-product --------------------------------------------------------------------------------------------------

  /// out(y) = max_y' { matrix[y'](y) + message(y') }
  static void max_step(RowShape shape, const double* matrix, const double* message, double* out) {
    over_columns(
        shape, [&]<class Block>(Block, int column) { Block::max_step(shape, matrix + column, message, out + column); });
  }

  static void add_rows(RowShape shape, const double* a, const double* b, double* out) {
    const int nv = vectors(shape);
    for (int j = 0; j < nv; ++j) L::store(out + j * W, L::load(a + j * W) + L::load(b + j * W));
  }

  /// The steps of backward_max and forward_max with the allowed pairs alone.
  static void backward_allowed(RowShape shape, std::int64_t p, const double* u, const AllowedScores& pairs,
                               double* beta, double* best) {
    const std::int64_t stride = shape.stride;
    std::copy(u + (p - 1) * stride, u + p * stride, beta + (p - 1) * stride);
    for (std::int64_t t = p - 2; t >= 0; --t) {
      max_plus(1, beta + (t + 1) * stride, stride, pairs.from(), best + t * stride, stride, stride);
      add_rows(shape, u + t * stride, best + t * stride, beta + t * stride);
    }
  }

  static void forward_allowed(RowShape shape, std::int64_t p, const double* u, const AllowedScores& pairs,
                              double* alpha) {
    const std::int64_t stride = shape.stride;
    std::copy(u, u + stride, alpha);
    for (std::int64_t t = 1; t < p; ++t) {
      max_plus(1, alpha + (t - 1) * stride, stride, pairs.to(), alpha + t * stride, stride, stride);
      add_rows(shape, u + t * stride, alpha + t * stride, alpha + t * stride);
    }
  }

  static void backward_max(RowShape shape, std::int64_t p, const double* u, Transitions edges, double* beta,
                           double* best) {
    if (edges.allowed) return backward_allowed(shape, p, u, *edges.allowed, beta, best);
    const std::int64_t stride = shape.stride;
    std::copy(u + (p - 1) * stride, u + p * stride, beta + (p - 1) * stride);
    for (std::int64_t t = p - 2; t >= 0; --t) {
      max_step(shape, edges.from + t * edges.step, beta + (t + 1) * stride, best + t * stride);
      add_rows(shape, u + t * stride, best + t * stride, beta + t * stride);
    }
  }

  static void forward_max(RowShape shape, std::int64_t p, const double* u, Transitions edges, double* alpha) {
    if (edges.allowed) return forward_allowed(shape, p, u, *edges.allowed, alpha);
    const std::int64_t stride = shape.stride;
    std::copy(u, u + stride, alpha);
    for (std::int64_t t = 1; t < p; ++t) {
      max_step(shape, edges.to + (t - 1) * edges.step, alpha + (t - 1) * stride, alpha + t * stride);
      add_rows(shape, u + t * stride, alpha + t * stride, alpha + t * stride);
    }
  }

  /// The first column where the sum of both rows is the target; where there is none, one beyond the labels. Without a
  /// branch that depends on the column, where the number of vectors is known.
  static std::int32_t first_equal(RowShape shape, const double* a, const double* b, double target) {
    if constexpr (NV > 0) {
      unsigned hits = 0;
      for (int j = 0; j < NV; ++j)
        hits |= L::equal_bits(L::load(a + j * W) + L::load(b + j * W), L::all(target)) << (j * W);
      return std::countr_zero(hits);
    } else {
      for (int j = 0; j < shape.stride; j += W)
        if (const unsigned hits = L::equal_bits(L::load(a + j) + L::load(b + j), L::all(target)))
          return j + std::countr_zero(hits);
      return shape.stride;
    }
  }

  template <bool kScan>
  static std::int64_t follow_with(RowShape shape, std::int64_t p, std::int64_t from, Transitions edges,
                                  const double* beta, const double* best, const std::int32_t* parent,
                                  std::int32_t* labels, Scan* scan) {
    const int nv = vectors(shape);
    const std::int64_t stride = shape.stride;
    std::int32_t y = labels[from];
    for (std::int64_t t = from + 1; t < p; ++t) {
      const double *row = edges.to + (t - 1) * edges.step + y * stride, *after = beta + t * stride;
      const double target = best[(t - 1) * stride + y];
      // With scores that are not finite nothing, or only padding, may be the best: any label will do, but it must be
      // one.
      const std::int32_t next = first_equal(shape, row, after, target);
      labels[t] = y = next < shape.labels ? next : 0;
      if constexpr (kScan) {
        for (int j = 0; j < nv; ++j) {
          const V loss = target - (L::load(row + j * W) + L::load(after + j * W));
          unsigned bits = L::at_most_bits(loss + scan->base, L::all(scan->bound));
          if (y / W == j) bits &= ~(1u << (y % W));
          for (; bits; bits &= bits - 1) {
            const int label = j * W + __builtin_ctz(bits);
            const double lost = target - (row[label] + after[label]);
            if (scan->base + lost <= scan->bound) scan->bound = scan->insert(scan->context, t, label, lost);
          }
        }
      }
      if (parent && parent[t] == y) return t + 1;
    }
    return p;
  }

  static std::int64_t follow(RowShape shape, std::int64_t p, std::int64_t from, Transitions edges, const double* beta,
                             const double* best, const std::int32_t* parent, std::int32_t* labels, Scan* scan) {
    if (scan) return follow_with<true>(shape, p, from, edges, beta, best, parent, labels, scan);
    return follow_with<false>(shape, p, from, edges, beta, best, parent, labels, scan);
  }

  // ---- sum-product --------------------------------------------------------------------------------------------------

  /// out(y) = sum_y' matrix[y'](y) * message(y').
  static void sum_step(RowShape shape, const double* matrix, const double* message, double* out) {
    over_columns(
        shape, [&]<class Block>(Block, int column) { Block::sum_step(shape, matrix + column, message, out + column); });
  }

  /// out[y](z) += potential[y](z) sum_t left_t(y) right_t(z), over `count` rows of both.
  static void add_products(RowShape shape, std::int64_t count, const double* left, const double* right,
                           const double* potential, double* out) {
    over_columns(shape, [&]<class Block>(Block, int column) {
      const auto rows = [&]<int kRows>(std::integral_constant<int, kRows>, int y) {
        const std::int64_t cell = static_cast<std::int64_t>(y) * shape.stride + column;
        Block::template add_products<kRows>(shape, count, left + y, right + column, potential + cell, out + cell);
      };
      int y = 0;
      for (; y + Block::kTile <= shape.labels; y += Block::kTile) rows(std::integral_constant<int, Block::kTile>{}, y);
      for (; y < shape.labels; ++y) rows(std::integral_constant<int, 1>{}, y);
    });
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

  /// Both directions of exp((T - offset) / mu) of one matrix.
  static void exponentiate(RowShape shape, const double* matrix, double mu, Potentials& out) {
    const std::int64_t stride = shape.stride, block = shape.labels * stride;
    out.to.resize(static_cast<std::size_t>(block));
    out.from.assign(static_cast<std::size_t>(block), 0.0);
    const auto range = range_of<W>(shape, matrix, shape.labels);
    out.mu = mu, out.offset = range.highest, out.range = range.highest - range.lowest;
    exp_rows(matrix, block, out.offset, 1.0 / mu, out.to.data());
    for (std::int64_t y = 0; y < shape.labels; ++y)
      for (std::int64_t z = 0; z < shape.labels; ++z)
        out.from[static_cast<std::size_t>(z * stride + y)] = out.to[static_cast<std::size_t>(y * stride + z)];
  }

  /// By how much the messages of one position can differ, in units of mu: range(T) + range(u_t) + log L, and the same
  /// again for the message on the other side. Potentials of a matrix that all edges share are there afterwards.
  static double message_range(RowShape shape, std::int64_t p, const double* u, Transitions edges, double mu,
                              Potentials& potentials) {
    double widest_node = 0.0, widest_edge = 0.0;
    for (std::int64_t t = 0; t < p; ++t) {
      const auto range = range_of<W>(shape, u + t * shape.stride, 1);
      widest_node = std::max(widest_node, range.highest - range.lowest);
    }
    if (p > 1 && edges.step == 0) {
      if (potentials.mu != mu) exponentiate(shape, edges.to, mu, potentials);
      widest_edge = std::max(0.0, potentials.range);
    }
    for (std::int64_t t = 0; edges.step != 0 && t + 1 < p; ++t) {
      const auto range = range_of<W>(shape, edges.to + t * edges.step, shape.labels);
      widest_edge = std::max(widest_edge, range.highest - range.lowest);
    }
    return (widest_node + 2.0 * widest_edge) / mu + std::log(shape.labels);
  }

  /// Messages are brought back to sum 1 this often, before they can leave the range of doubles.
  static std::int64_t rescaling_period(double range) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(kWidestRange / (range + 1.0)), 1, 8);
  }

  /// The messages from the left alone, step by step as in `expect`.
  static double log_sum(RowShape shape, std::int64_t p, const double* u, Transitions edges, Potentials& potentials,
                        double mu, double* work) {
    const double range = message_range(shape, p, u, edges, mu, potentials), inverse_mu = 1.0 / mu;
    if (!(range < kWidestRange)) return std::numeric_limits<double>::quiet_NaN();
    const std::int64_t period = rescaling_period(range), stride = shape.stride;
    const int nv = vectors(shape);
    double *before = work, *here = work + stride, *local = work + 2 * stride;
    double value = 0.0, logs = 0.0;
    for (std::int64_t t = 0; t < p; ++t) {
      const double top = row_max(shape, u + t * stride);
      exp_rows(u + t * stride, stride, top, inverse_mu, t == 0 ? here : local);
      value += top;
      if (t == 0) continue;
      if (edges.step != 0) exponentiate(shape, edges.to + (t - 1) * edges.step, mu, potentials);
      value += potentials.offset;
      std::swap(before, here);
      sum_step(shape, potentials.to.data(), before, here);
      for (int j = 0; j < nv; ++j) L::store(here + j * W, L::load(here + j * W) * L::load(local + j * W));
      if (t % period != 0) continue;
      const double total = row_sum(shape, here), inverse = 1.0 / total;
      for (int j = 0; j < nv; ++j) L::store(here + j * W, L::load(here + j * W) * inverse);
      logs += std::log(total);
    }
    return value + mu * (logs + std::log(row_sum(shape, here)));
  }

  static double expect(RowShape shape, std::int64_t p, const double* u, Transitions edges, Potentials& potentials,
                       double mu, double* nodes, double* edge_out, std::int64_t edge_step, double* work) {
    const double range = message_range(shape, p, u, edges, mu, potentials);
    if (!(range < kWidestRange)) return expect_in_logs(shape, p, u, edges, mu, nodes, edge_out, edge_step, work);
    const std::int64_t period = rescaling_period(range);
    const std::int64_t stride = shape.stride;
    const int nv = vectors(shape);
    double* local = work;                  // exp(u / mu), scaled by its row's maximum
    double* right = work + p * stride;     // local * (message from the right), up to a factor
    double* left = work + 2 * p * stride;  // messages from the left, local included, up to a factor
    double value = 0.0;
    for (std::int64_t t = 0; t < p; ++t) {
      const double top = row_max(shape, u + t * stride);
      exp_rows(u + t * stride, stride, top, 1.0 / mu, local + t * stride);
      value += top;
    }

    const auto load_potentials = [&](std::int64_t t) {
      if (edges.step != 0) exponentiate(shape, edges.to + t * edges.step, mu, potentials);
    };
    const auto normalise = [&](double* row) {
      const double total = row_sum(shape, row);
      scale_row(shape, row, 1.0 / total);
      return total;
    };

    std::copy(local + (p - 1) * stride, local + p * stride, right + (p - 1) * stride);
    for (std::int64_t t = p - 2; t >= 0; --t) {
      load_potentials(t);
      double* row = right + t * stride;
      sum_step(shape, potentials.from.data(), right + (t + 1) * stride, row);
      for (int j = 0; j < nv; ++j) L::store(row + j * W, L::load(row + j * W) * L::load(local + t * stride + j * W));
      if (t % period == 0) normalise(row);
    }
    normalise(right);

    std::copy(right, right + stride, nodes);
    std::copy(local, local + stride, left);
    double logs = 0.0;
    for (std::int64_t t = 1; t < p; ++t) {
      load_potentials(t - 1);
      value += potentials.offset;
      double* before = left + (t - 1) * stride;
      const double* after = right + t * stride;
      double* here = left + t * stride;
      sum_step(shape, potentials.to.data(), before, here);
      V overlap{};
      for (int j = 0; j < nv; ++j) overlap += L::load(here + j * W) * L::load(after + j * W);
      const double common = L::sum(overlap);
      // Labels that no allowed output joins drift apart without limit: start again in logs.
      if (!(common >= kLeastOverlap && common < kInf))
        return expect_in_logs(shape, p, u, edges, mu, nodes, edge_out, edge_step, work);
      const double inverse = 1.0 / common;
      for (int j = 0; j < nv; ++j) {
        const V message = L::load(here + j * W);
        L::store(nodes + t * stride + j * W, message * L::load(after + j * W) * inverse);
        L::store(here + j * W, message * L::load(local + t * stride + j * W));
      }
      scale_row(shape, before, inverse);
      if (edge_step != 0) write_products(shape, before, after, potentials.to.data(), edge_out + (t - 1) * edge_step);
      if (t % period == 0) logs += std::log(normalise(here));
    }
    // A shared matrix: sums over edges stay in registers.
    if (edge_step == 0 && p > 1) add_products(shape, p - 1, left, right + stride, potentials.to.data(), edge_out);
    return value + mu * (logs + std::log(row_sum(shape, left + (p - 1) * stride)));
  }

  static void scale_row(RowShape shape, double* row, double factor) {
    for (int j = 0; j < vectors(shape); ++j) L::store(row + j * W, L::load(row + j * W) * factor);
  }

  /// out[y](z) = before(y) potential[y](z) after(z)
  static void write_products(RowShape shape, const double* before, const double* after, const double* potential,
                             double* out) {
    for (int y = 0; y < shape.labels; ++y)
      for (int j = 0; j < vectors(shape); ++j) {
        const std::int64_t cell = static_cast<std::int64_t>(y) * shape.stride + j * W;
        L::store(out + cell, L::load(after + j * W) * before[y] * L::load(potential + cell));
      }
  }

  static constexpr ChainOps table{&score, &backward_max, &forward_max, &follow, &expect, &log_sum, &scatter};
};

}  // namespace

const ChainOps& chain_ops(int stride) {
  switch (stride) {
    case 4:
      return Rows<4, 1>::table;
    case 8:
      return Rows<kWide, 8 / kWide>::table;
    case 12:
      return Rows<4, 3>::table;
#if !defined(__x86_64__) || defined(__AVX__)  // old processors do without loops of their own for these
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
#endif
    default:
      return Rows<4, 0>::table;
  }
}

}  // namespace casimir
