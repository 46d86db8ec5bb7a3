// Full passes without smoothing over chains of many labels, and their best labels: chains run in groups.
#include <algorithm>

#include "base/numbers.hpp"
#include "base/parallel.hpp"
#include "chain/chain_group.hpp"
#include "chain/linear_chain.hpp"
#include "chain/max_group.hpp"

namespace casimir {

/// What a pass needs besides its arguments; it is kept for the next pass.
struct MemoryOfMaxPass {
  std::vector<double> to;
  AllowedScores allowed;
  GroupTransitions transitions;
  std::vector<MaxGroup> groups;  // of each thread
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

void LinearChain::best_paths_together(const WeightView& w, int threads,
                                      const std::vector<std::vector<std::int64_t>>& plan,
                                      const std::function<void(std::int64_t i, const BestPath&)>& see) const {
  const auto memory = memory_of_max_passes_.take<MemoryOfMaxPass>();
  auto& [to, allowed, transitions, groups_of_threads] = *memory;
  load_transitions(w, to);
  if (allowed_) allowed.load(allowed_, to.data(), shape_.stride);
  transitions.load(shape_, to.data(), allowed_ ? &allowed : nullptr);
  const std::int64_t stride = transitions.shape().stride;
  groups_of_threads.resize(std::max(groups_of_threads.size(), static_cast<std::size_t>(std::max(threads, 1))));
  parallel_chunks(
      static_cast<std::int64_t>(plan.size()), threads, [&](std::int64_t begin, std::int64_t end, int worker) {
        MaxGroup& group = groups_of_threads[static_cast<std::size_t>(worker)];
        std::vector<double> u, of_truth;
        std::vector<std::int64_t> lengths;
        std::vector<std::int32_t> path;
        for (auto g = static_cast<std::size_t>(begin); g < static_cast<std::size_t>(end); ++g) {
          lengths.clear();
          for (const std::int64_t i : plan[g]) lengths.push_back(length(i));
          group.begin(transitions.shape(), lengths);
          of_truth.assign(plan[g].size(), 0.0);
          for (std::size_t c = 0; c < plan[g].size(); ++c) {
            const std::int64_t i = plan[g][c], p = lengths[c];
            u.resize(static_cast<std::size_t>(p * shape_.stride));
            score_tokens(i, 0, p, w, u.data());
            for (std::int64_t t = 0; t < p; ++t) {
              double* row = std::copy_n(u.data() + t * shape_.stride, shape_.labels, group.u(c) + t * stride);
              std::fill_n(row, stride - shape_.labels, -kInf);
            }
            if (data_.y) of_truth[c] = path_score(p, truth(i), u.data(), {to.data(), nullptr, 0});
          }
          group.run(transitions);
          for (std::size_t c = 0; c < plan[g].size(); ++c) {
            path.resize(static_cast<std::size_t>(lengths[c]));
            const double score = group.best_path(c, transitions, path.data());
            see(plan[g][c], {path.data(), score, of_truth[c]});
          }
        }
      });
  memory_of_max_passes_.keep(memory);
}

void LinearChain::max_together(const WeightView& w, int threads, Answer* answers, std::span<double> gradient,
                               std::vector<char>& done) const {
  std::vector<std::int32_t> paths(static_cast<std::size_t>(data_.offsets[data_.n]));
  best_paths_together(w, threads, groups(), [&](std::int64_t i, const BestPath& best) {
    std::copy_n(best.labels, length(i), paths.data() + data_.offsets[i]);
    Answer& answer = answers[i];
    answer = Answer{};
    answer.value = best.score - best.of_truth;
    answer.max_value = answer.upper = answer.value;
    answer.cost = cost_of(i, best.labels);
    done[static_cast<std::size_t>(i)] = 1;
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
}

}  // namespace casimir
