#include "junction/junction_batch.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>

#include "base/numbers.hpp"
#include "base/parallel.hpp"
#include "junction/junction_search.hpp"
#include "junction/junction_tables.hpp"

namespace casimir {
namespace {

/// One example at a time: its plan, scores and tables.
class Loaded {
 public:
  explicit Loaded(const JunctionBatch& batch) : batch_(batch) {}

  void select(std::int64_t i) {
    plan_ = batch_.graphs.plan(i, batch_.length(i));
    if (!plan_->fits) throw std::invalid_argument("the clique tables are larger than allowed.");
    const std::int64_t labels = batch_.graphs.labels();
    const double* pairwise = batch_.edges ? batch_.edges + batch_.edge_offsets[i] * labels * labels : nullptr;
    scores_ = {batch_.graphs.ends(i), batch_.graphs.edges(i), batch_.nodes + batch_.offsets[i] * labels, pairwise};
  }
  /// Fills the tables with losses within one reach after another, until use(best score) returns true. At the last one
  /// all losses are right. The reaches do not depend on what is asked for, so that fewer outputs are a prefix of more.
  template <class Use>
  void load_losses(std::int64_t i, Use&& use) {
    select(i);
    double reach = usual_reach(*plan_, scores_);
    for (double factor = 0x1p10; !use(load_within(reach)) && reach < kInf; reach *= factor) factor *= factor;
  }
  /// The best score, from the first tables in which it is right.
  double load_best(std::int64_t i) {
    double value = 0.0;
    load_losses(i, [&](double best) {
      value = best;
      return room_ > 0.0;
    });
    return value;
  }
  /// Fills the tables with losses, those below room() right.
  double load_within(double reach) {
    const double tops = tables.load_exact(*plan_, scores_, reach), best = tables.max_losses();
    room_ = reach < kInf ? 0.5 * reach - (tops - best) : kInf;
    return best;
  }
  double room() const { return room_; }
  double load_marginals(std::int64_t i, double mu) {
    select(i);
    tables.load_scaled(*plan_, scores_, mu);
    const double value = mu * tables.normalise();
    tables.marginals();
    return value;
  }

  const JunctionPlan& plan() const { return *plan_; }
  const JunctionScores& scores() const { return scores_; }
  JunctionTables tables;

 private:
  const JunctionBatch& batch_;
  std::shared_ptr<const JunctionPlan> plan_;
  JunctionScores scores_{};
  double room_ = kInf;
};

/// Sorted outputs of one example, by (loss, labels by node number).
class SortedOutputs {
 public:
  void run(Loaded& example, std::int64_t i, std::int64_t k, double mu, TopKBatch& out) {
    std::int64_t listed = 0;
    seen_.clear();
    example.load_losses(i, [&](double best) {
      const std::int64_t count = pull(example.tables, k, mu);
      std::int64_t right = count;
      while (right > 0 && kbest_.loss(right - 1) >= example.room()) --right;
      find_labels(example.tables, right);
      const std::int64_t n = example.plan().nodes;
      for (std::int64_t j = 0; j < right && listed < k; ++j) {
        const auto row = found_.begin() + j * n;
        if ((right < count || !seen_.empty()) && !seen_.emplace(row, row + n).second) continue;
        const double value = best - kbest_.loss(j);
        out.values.push_back(listed ? std::min(value, out.values.back()) : value);
        out.labels.insert(out.labels.end(), row, row + n);
        ++listed;
      }
      return right == count || listed == k;
    });
    out.counts.push_back(listed);
  }

 private:
  /// found_[count][nodes]: the first outputs.
  void find_labels(const JunctionTables& losses, std::int64_t count) {
    const JunctionPlan& plan = losses.plan();
    found_.clear();
    if (count == 0) return;
    // Another output of the loss of the last one: which of them come first is decided by their labels.
    const bool cut = count < kbest_.count() && kbest_.loss(count) == kbest_.loss(count - 1);
    std::int64_t sure = count;
    if (cut)
      while (sure > 0 && kbest_.loss(sure - 1) == kbest_.loss(count)) --sure;
    sort(plan, sure);
    for (std::int64_t j = 0; j < sure; ++j) {
      const auto row = rows_.begin() + order_[static_cast<std::size_t>(j)] * plan.nodes;
      found_.insert(found_.end(), row, row + plan.nodes);
    }
    if (!cut) return;
    const std::vector<std::int32_t> rest = first_.run(losses, kbest_.loss(count), count - sure, sure);
    found_.insert(found_.end(), rest.begin(), rest.end());
  }

  /// How many outputs to return; one more is pulled if there is one.
  std::int64_t pull(const JunctionTables& losses, std::int64_t k, double mu) {
    kbest_.start(losses, k + 1);
    double sum = 0.0;
    for (std::int64_t j = 0; j < k; ++j) {
      if (!kbest_.pull()) return j;
      if (static_cast<double>(j) * kbest_.loss(j) - sum >= mu) {
        kbest_.pull();
        return j + 1;
      }
      sum += kbest_.loss(j);
    }
    kbest_.pull();
    return k;
  }

  void sort(const JunctionPlan& plan, std::int64_t count) {
    const std::int64_t n = plan.nodes;
    rows_.resize(static_cast<std::size_t>(count * n));
    order_.resize(static_cast<std::size_t>(count));
    std::iota(order_.begin(), order_.end(), 0);
    for (std::int64_t j = 0; j < count; ++j)
      for (std::int64_t v = 0; v < n; ++v)
        rows_[static_cast<std::size_t>(j * n + v)] = kbest_.labels(j)[plan.position[static_cast<std::size_t>(v)]];
    std::sort(order_.begin(), order_.end(), [&](std::int64_t a, std::int64_t b) {
      if (kbest_.loss(a) != kbest_.loss(b)) return kbest_.loss(a) < kbest_.loss(b);
      const auto row = [&](std::int64_t j) { return rows_.begin() + j * n; };
      return std::lexicographical_compare(row(a), row(a + 1), row(b), row(b + 1));
    });
  }

  JunctionKBest kbest_;
  JunctionFirst first_;
  std::vector<std::int32_t> rows_, found_;
  std::vector<std::int64_t> order_;
  std::set<std::vector<std::int32_t>> seen_;  // what smaller reaches gave, when there are several
};

}  // namespace

void junction_prepare(const JunctionGraphs& graphs, const std::int64_t* offsets, int threads, std::int64_t* width,
                      double* cells, std::int64_t* finished) {
  parallel_chunks(graphs.size(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto plan = graphs.plan(i, offsets[i + 1] - offsets[i]);
      width[i] = plan->width;
      cells[i] = plan->cells;
      finished[i] = plan->finished;
    }
  });
}

void junction_max(const JunctionBatch& batch, int threads, double* values, std::int64_t* labels) {
  parallel_chunks(batch.graphs.size(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    Loaded example(batch);
    JunctionFirst first;
    std::vector<std::int32_t> found;
    for (std::int64_t i = begin; i < end; ++i) {
      values[i] = example.load_best(i);
      const JunctionPlan& plan = example.plan();
      found.resize(static_cast<std::size_t>(plan.nodes));
      std::int64_t* own = labels + batch.offsets[i];
      if (complete_output(example.tables, plan.nodes - 1, found.data())) {
        found = first.run(example.tables, 0.0, 1, 0);
        std::copy(found.begin(), found.end(), own);
      } else {
        for (std::size_t t = 0; t < found.size(); ++t) own[plan.order[t]] = found[t];
      }
    }
  });
}

TopKBatch junction_topk(const JunctionBatch& batch, std::int64_t k, double mu, int threads) {
  const std::int64_t n = batch.graphs.size();
  return joined_chunks<TopKBatch>(n, threads, [&](std::int64_t begin, std::int64_t end, TopKBatch& out) {
    Loaded example(batch);
    SortedOutputs sorted;
    for (std::int64_t i = begin; i < end; ++i) {
      sorted.run(example, i, k, mu, out);
    }
  });
}

void junction_expect(const JunctionBatch& batch, double mu, int threads, double* values, double* nodes, double* edges) {
  const std::int64_t labels = batch.graphs.labels();
  parallel_chunks(batch.graphs.size(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    Loaded example(batch);
    for (std::int64_t i = begin; i < end; ++i) {
      values[i] = example.load_marginals(i, mu);
      example.tables.reduce_nodes(0.0, nodes + batch.offsets[i] * labels, [](double a, double b) { return a + b; });
      example.tables.sum_edges(example.scores(), edges + batch.edge_offsets[i] * labels * labels);
    }
  });
}

void junction_max_marginals(const JunctionBatch& batch, int threads, double* out) {
  const std::int64_t labels = batch.graphs.labels();
  parallel_chunks(batch.graphs.size(), threads, [&](std::int64_t begin, std::int64_t end, int) {
    Loaded example(batch);
    std::vector<double> least;
    for (std::int64_t i = begin; i < end; ++i) {
      double* own = out + batch.offsets[i] * labels;
      least.resize(static_cast<std::size_t>(batch.length(i) * labels));
      const auto fill = [&](double best) {
        example.tables.least_losses();
        example.tables.reduce_nodes(kInf, least.data(), [](double a, double b) { return std::min(a, b); });
        for (std::size_t j = 0; j < least.size(); ++j)
          if (least[j] < example.room()) own[j] = best - least[j];
      };
      const double best = example.load_best(i);
      if (example.room() < kInf) {  // all entries first, then those that need no forbidden part once more
        fill(example.load_within(kInf));
        example.load_best(i);
      }
      fill(best);
    }
  });
}

}  // namespace casimir
