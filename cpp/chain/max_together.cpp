// Full passes without smoothing over chains of many labels: the messages of a group of chains meet the transitions
// together. Sums of two scores and maxima do not depend on their order, so the bits are those of one chain at a time.
#include <algorithm>

#include "base/numbers.hpp"
#include "base/parallel.hpp"
#include "chain/chain_group.hpp"
#include "chain/linear_chain.hpp"

namespace casimir {

/// The tables of max-product of a group. Its chains end together: chain c of length p owns rows [longest - p, longest)
/// of its block of `longest` rows.
class MaxGroup {
 public:
  void begin(RowShape shape, std::span<const std::int64_t> lengths) {
    shape_ = shape, lengths_ = lengths;
    block_ = lengths[0] * shape.stride;
    const auto cells = static_cast<std::size_t>(block_ * static_cast<std::int64_t>(lengths.size()));
    for (std::vector<double>* table : {&u_, &beta_, &best_})
      if (table->size() < cells) table->resize(cells);
  }

  double* u(std::size_t chain) { return u_.data() + first(chain); }
  const double* beta(std::size_t chain) const { return beta_.data() + first(chain); }
  const double* best(std::size_t chain) const { return best_.data() + first(chain); }

  void run(const Panels& from) {
    const std::int64_t stride = shape_.stride, longest = lengths_[0];
    std::int64_t active = static_cast<std::int64_t>(lengths_.size());
    for (std::int64_t t = longest - 1; t >= 0; --t) {
      while (lengths_[static_cast<std::size_t>(active - 1)] < longest - t) --active;
      double *best = best_.data() + t * stride, *beta = beta_.data() + t * stride;
      const double* u = u_.data() + t * stride;
      if (t + 1 < longest) max_plus(active, beta + stride, block_, from, best, block_);
      for (std::int64_t c = 0; c < active; ++c)
        for (std::int64_t j = c * block_; j < c * block_ + stride; ++j)
          beta[j] = t + 1 < longest ? u[j] + best[j] : u[j];
    }
  }

 private:
  std::int64_t first(std::size_t chain) const {
    return static_cast<std::int64_t>(chain) * block_ + (lengths_[0] - lengths_[chain]) * shape_.stride;
  }

  RowShape shape_{};
  std::span<const std::int64_t> lengths_;
  std::int64_t block_ = 0;  // from a row of one chain to that of the next
  std::vector<double> u_, beta_, best_;
};

/// What a pass needs besides its arguments; it is kept for the next pass.
struct MemoryOfMaxPass {
  std::vector<double> narrow, to;
  Panels from;
  std::vector<MaxGroup> groups;  // of each thread
  std::vector<std::int32_t> paths;
};

namespace {

/// Adds 1 for the labels found and -1 for the truth to rows [row_begin, row_end) of a gradient.
struct Differences {
  RowShape shape;
  TokenFeatures x;
  double* gradient;
  std::int64_t row_begin, row_end;

  void add(std::int64_t row, std::int32_t found, std::int32_t truth, double value) const {
    if (row < row_begin || row >= row_end || found == truth) return;
    gradient[row * shape.stride + found] += value;
    if (truth >= 0) gradient[row * shape.stride + truth] -= value;
  }
  void add_token(std::int64_t token, std::int32_t found, std::int32_t truth, double scale) const {
    if (found == truth) return;
    for (std::int64_t f = x.indptr[token]; f < x.indptr[token + 1]; ++f)
      add(x.indices[f], found, truth, x.values ? scale * x.values[f] : scale);
  }
};

}  // namespace

void LinearChain::max_together(const WeightView& w, int threads, Answer* answers, std::span<double> gradient,
                               std::vector<char>& done) const {
  const RowShape wide{shape_.labels, static_cast<int>(product_width(shape_.labels))};
  const std::int64_t stride = wide.stride;
  const auto memory = memory_of_max_passes_.take<MemoryOfMaxPass>();
  auto& [narrow, to, from, groups_of_threads, paths] = *memory;
  load_transitions(w, narrow);
  to.assign(static_cast<std::size_t>(stride * stride), -kInf);
  for (std::int64_t y = 0; y < wide.labels; ++y)
    std::copy_n(narrow.data() + y * shape_.stride, wide.labels, to.data() + y * stride);
  from.pack_transposed(wide.labels, stride, to.data(), stride);
  paths.resize(static_cast<std::size_t>(data_.offsets[data_.n]));
  const ChainOps& ops = chain_ops(wide.stride);
  const Transitions edges{to.data(), nullptr, 0};
  const std::vector<std::vector<std::int64_t>> plan = groups();
  groups_of_threads.resize(std::max(groups_of_threads.size(), static_cast<std::size_t>(std::max(threads, 1))));
  parallel_chunks(static_cast<std::int64_t>(plan.size()), threads,
                  [&](std::int64_t begin, std::int64_t end, int worker) {
                    MaxGroup& group = groups_of_threads[static_cast<std::size_t>(worker)];
                    std::vector<double> u;
                    std::vector<std::int64_t> lengths;
                    for (auto g = static_cast<std::size_t>(begin); g < static_cast<std::size_t>(end); ++g) {
                      lengths.clear();
                      for (const std::int64_t i : plan[g]) lengths.push_back(length(i));
                      group.begin(wide, lengths);
                      for (std::size_t c = 0; c < plan[g].size(); ++c) {
                        const std::int64_t i = plan[g][c], p = lengths[c];
                        u.resize(static_cast<std::size_t>(p * shape_.stride));
                        score_tokens(i, 0, p, w, u.data());
                        for (std::int64_t t = 0; t < p; ++t) {
                          double* row = std::copy_n(u.data() + t * shape_.stride, wide.labels, group.u(c) + t * stride);
                          std::fill_n(row, stride - wide.labels, -kInf);
                        }
                        answers[i] = Answer{};
                        if (data_.y) answers[i].value = -path_score(p, truth(i), u.data(), {narrow.data(), nullptr, 0});
                      }
                      group.run(from);
                      for (std::size_t c = 0; c < plan[g].size(); ++c) {
                        const std::int64_t i = plan[g][c], p = lengths[c];
                        std::int32_t* path = paths.data() + data_.offsets[i];
                        const double* first = std::max_element(group.beta(c), group.beta(c) + wide.labels);
                        path[0] = static_cast<std::int32_t>(first - group.beta(c));
                        ops.follow(wide, p, 0, edges, group.beta(c), group.best(c), nullptr, path, nullptr);
                        Answer& answer = answers[i];
                        answer.value += *first;
                        answer.max_value = answer.upper = answer.value;
                        answer.cost = cost_of(i, path);
                        done[static_cast<std::size_t>(i)] = 1;
                      }
                    }
                  });
  // Each thread owns a range of rows and reads all examples in order.
  if (!gradient.empty())
    parallel_chunks(rows(), threads, [&](std::int64_t begin, std::int64_t end, int) {
      const Differences add{shape_, data_.features, gradient.data(), begin, end};
      for (std::int64_t i = 0; i < n_examples(); ++i) {
        if (!done[static_cast<std::size_t>(i)]) continue;
        const std::int64_t start = data_.offsets[i], p = length(i);
        const double scale = this->scale(i);
        const std::int32_t *path = paths.data() + start, *y = data_.y ? truth(i) : nullptr;
        for (std::int64_t t = 0; t < p; ++t) {
          add.add_token(start + t, path[t], y ? y[t] : -1, scale);
          if (t == 0) continue;
          if (y && path[t - 1] == y[t - 1] && path[t] == y[t]) continue;
          add.add(data_.n_features + path[t - 1], path[t], -1, scale);
          if (y) add.add(data_.n_features + y[t - 1], y[t], -1, -scale);
        }
        add.add(start_row(), path[0], y ? y[0] : -1, scale);
        add.add(stop_row(), path[p - 1], y ? y[p - 1] : -1, scale);
      }
    });
  memory_of_max_passes_.keep(memory);
}

}  // namespace casimir
