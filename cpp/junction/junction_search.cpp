#include "junction/junction_search.hpp"

#include <algorithm>
#include <functional>

#include "base/numbers.hpp"

namespace casimir {

bool complete_output(const JunctionTables& losses, std::int64_t from, std::int32_t* labels) {
  const std::int64_t n_labels = losses.plan().labels;
  bool ties = false;
  for (std::int64_t t = from; t >= 0; --t) {
    const double* row = losses.row(t, labels);
    const double* first = std::find(row, row + n_labels, 0.0);
    labels[t] = static_cast<std::int32_t>(first - row);
    ties = ties || std::find(first + 1, row + n_labels, 0.0) != row + n_labels;
  }
  return ties;
}

void JunctionKBest::start(const JunctionTables& losses, std::int64_t k) {
  losses_ = &losses;
  k_ = k;
  number_ = 0;
  loss_.clear();
  candidates_.clear();
  labels_.clear();
}

bool JunctionKBest::pull() {
  const std::int64_t n = losses_->plan().nodes, index = count();
  if (index > 0 && candidates_.empty()) return false;
  labels_.resize(static_cast<std::size_t>((index + 1) * n));
  std::int32_t* own = labels_.data() + index * n;
  std::int64_t below = n - 1;
  if (index == 0) {
    loss_.push_back(0.0);
  } else {
    const Candidate next = candidates_.pop_best(std::less<Candidate>{});
    loss_.push_back(next.loss);
    std::copy(labels(next.parent) + next.position, labels(next.parent) + n, own + next.position);
    own[next.position] = next.label;
    below = next.position - 1;
  }
  complete_output(*losses_, below, own);
  expand(index, below);
  return true;
}

/// Adds the deviations of output `parent` at positions <= from; no more candidates are kept than can still be pulled.
void JunctionKBest::expand(std::int64_t parent, std::int64_t from) {
  const std::int64_t n_labels = losses_->plan().labels;
  const auto room = static_cast<std::size_t>(k_ - count());
  if (room == 0) return;
  const std::int32_t* own = labels(parent);
  for (std::int64_t t = from; t >= 0; --t) {
    const double* row = losses_->row(t, own);
    for (std::int64_t l = 0; l < n_labels; ++l)
      if (l != own[t])
        candidates_.offer({loss(parent) + row[l], number_++, parent, t, static_cast<std::int32_t>(l)}, room,
                          std::less<Candidate>{});
  }
}

void JunctionFirst::reset(const JunctionTables& losses) {
  plan_ = &losses.plan();
  least_ = losses;
  least_.least_losses();
  separators_.resize(static_cast<std::size_t>(plan_->table_offsets.back() / plan_->labels));
  change_.resize(separators_.size());
  for (std::int64_t t = 0; t < plan_->nodes; ++t) {
    const double* cell = least_.cells(t);
    for (std::int64_t s = 0; s < plan_->rows(t); ++s, cell += plan_->labels)
      separator(t)[s] = *std::min_element(cell, cell + plan_->labels);
  }
}

std::vector<std::int32_t> JunctionFirst::run(const JunctionTables& losses, double level, std::int64_t count,
                                             std::int64_t better) {
  const std::int64_t n = losses.plan().nodes;
  std::vector<std::int32_t> seen, found;  // all outputs that were reached, and those of the right loss
  branches_.clear();
  branches_.push_back({-1, 0, -1});
  while (!branches_.empty() && static_cast<std::int64_t>(found.size()) < count * std::max<std::int64_t>(n, 1)) {
    const Branch branch = branches_.back();
    branches_.pop_back();
    reset(losses);
    const std::int64_t index = n ? static_cast<std::int64_t>(seen.size()) / n : 0;
    seen.resize(seen.size() + static_cast<std::size_t>(n));
    std::int32_t* own = seen.data() + index * n;
    std::int64_t node = 0;
    if (branch.parent >= 0) {
      std::copy_n(seen.data() + branch.parent * n, branch.node, own);
      own[branch.node] = branch.label;
      for (; node <= branch.node; ++node) fix(node, own[node]);
    }
    // Every branch leads to an output, and all but `better` of them have the right loss.
    if (descend(node, level, index, own, static_cast<std::size_t>(count + better)) == level)
      found.insert(found.end(), own, own + n);
  }
  return found;
}

/// Labels the nodes from `node` on, remembering other choices for later; returns the loss of the output.
double JunctionFirst::descend(std::int64_t node, double level, std::int64_t parent, std::int32_t* labels,
                              std::size_t room) {
  const std::int64_t n_labels = plan_->labels;
  for (; node < plan_->nodes; ++node) {
    const std::int64_t t = plan_->position[static_cast<std::size_t>(node)];
    by_label_.assign(static_cast<std::size_t>(n_labels), kInf);
    const double* cell = least_.cells(t);
    for (std::int64_t s = 0; s < plan_->rows(t); ++s, cell += n_labels)
      for (std::size_t l = 0; l < by_label_.size(); ++l) by_label_[l] = std::min(by_label_[l], cell[l]);
    const auto possible = [level](double loss) { return loss <= level; };
    const auto first = std::find_if(by_label_.begin(), by_label_.end(), possible);
    labels[node] = static_cast<std::int32_t>(first - by_label_.begin());
    for (std::int64_t l = n_labels - 1; l > labels[node]; --l)
      if (possible(by_label_[static_cast<std::size_t>(l)]))
        branches_.push_back({parent, node, static_cast<std::int32_t>(l)});
    while (branches_.size() > room) branches_.pop_front();
    fix(node, labels[node]);
  }
  const double* last = least_.cells(plan_->nodes - 1);
  return *std::min_element(last, last + n_labels);
}

void JunctionFirst::fix(std::int64_t node, std::int32_t label) {
  const std::int64_t t = plan_->position[static_cast<std::size_t>(node)], labels = plan_->labels;
  bool changed = false;
  double* cell = least_.cells(t);
  for (std::int64_t s = 0; s < plan_->rows(t); ++s, cell += labels)
    for (std::int64_t l = 0; l < labels; ++l) {
      if (l == label || cell[l] == kInf) continue;
      cell[l] = kInf;
      changed = true;
    }
  if (changed) spread(t);
}

/// Makes all cliques agree again after a change of one; what the neighbours already know is not sent.
void JunctionFirst::spread(std::int64_t from) {
  struct Visit {
    std::int64_t clique, source;
  };
  std::vector<Visit> open{{from, -1}};
  while (!open.empty()) {
    const Visit visit = open.back();
    open.pop_back();
    const std::int64_t t = visit.clique, labels = plan_->labels, parent = plan_->parent[static_cast<std::size_t>(t)];
    if (parent >= 0 && parent != visit.source) {
      const double* cell = least_.cells(t);
      for (std::int64_t s = 0; s < plan_->rows(t); ++s, cell += labels)
        change_[static_cast<std::size_t>(s)] = *std::min_element(cell, cell + labels);
      if (update_separator(t)) {
        project(plan_->strides_in_parent(t), plan_->dimensions(parent), labels, least_.cells(parent), change_.data(),
                [](double& target, double more) { target += more; });
        open.push_back({parent, t});
      }
    }
    const std::int64_t end = plan_->child_offsets[static_cast<std::size_t>(t) + 1];
    for (std::int64_t c = plan_->child_offsets[static_cast<std::size_t>(t)]; c < end; ++c) {
      const std::int64_t child = plan_->children[static_cast<std::size_t>(c)];
      if (child == visit.source) continue;
      std::fill_n(change_.begin(), plan_->rows(child), kInf);
      project(plan_->strides_in_parent(child), plan_->dimensions(t), labels, least_.cells(t), change_.data(),
              [](double cell, double& least) { least = std::min(least, cell); });
      if (!update_separator(child)) continue;
      double* cell = least_.cells(child);
      for (std::int64_t s = 0; s < plan_->rows(child); ++s, cell += labels)
        for (std::int64_t l = 0; l < labels; ++l) cell[l] += change_[static_cast<std::size_t>(s)];
      open.push_back({child, t});
    }
  }
}

/// change_ holds new least losses of the separator of t; it becomes what has to be added to the other side's cells.
bool JunctionFirst::update_separator(std::int64_t t) {
  bool changed = false;
  double* old = separator(t);
  for (std::int64_t s = 0; s < plan_->rows(t); ++s) {
    double& now = change_[static_cast<std::size_t>(s)];
    if (now == old[s]) {
      now = 0.0;
      continue;
    }
    changed = true;
    std::swap(now, old[s]);
    now = old[s] - now;  // the old one was finite: losses only grow
  }
  return changed;
}

}  // namespace casimir
