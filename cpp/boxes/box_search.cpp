#include "boxes/box_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/numbers.hpp"
#include "base/parallel.hpp"

namespace casimir {
namespace {

constexpr double kSlack = 1e-12;  // for bounds that do not round as scores do

struct Interval {
  std::int32_t low, high;
  std::int32_t width() const { return high - low; }
};

/// Boxes with top <= bottom and left <= right whose sides lie in the intervals; never empty.
struct BoxSet {
  Interval top, left, bottom, right;
  bool rows_known() const { return top.width() == 0 && bottom.width() == 0; }
  bool columns_known() const { return left.width() == 0 && right.width() == 0; }
};

using Box = std::array<std::int32_t, 4>;  // top, left, bottom, right, both ends inclusive

struct Node {
  double bound;  // of the scores of the boxes in the set
  BoxSet set;
  Box first;    // no box of the set that attains the bound comes before it
  bool solved;  // `first` attains the bound
};

/// Whether a leaves the queue later than b.
bool after(const Node& a, const Node& b) { return a.bound != b.bound ? a.bound < b.bound : a.first > b.first; }

/// Takes away sides that no box of the set can have; false when no box is left.
bool shrink(BoxSet& set) {
  set.top.high = std::min(set.top.high, set.bottom.high);
  set.bottom.low = std::max(set.bottom.low, set.top.low);
  set.left.high = std::min(set.left.high, set.right.high);
  set.right.low = std::max(set.right.low, set.left.low);
  return set.top.width() >= 0 && set.bottom.width() >= 0 && set.left.width() >= 0 && set.right.width() >= 0;
}

std::int64_t area(const Box& box) {
  const std::int64_t height = box[2] - box[0] + 1, width = box[3] - box[1] + 1;
  return height > 0 && width > 0 ? height * width : 0;
}

Box intersection(const Box& a, const Box& b) {
  return {std::max(a[0], b[0]), std::max(a[1], b[1]), std::min(a[2], b[2]), std::min(a[3], b[3])};
}

/// What a set says about one axis of its boxes and of the true box: sizes, and lengths in common with the truth.
class Axis {
 public:
  Axis(Interval first, Interval last, Interval truth) : first_(first), last_(last), truth_(truth) {
    most = common(first.low, last.high);
    if (first.high <= last.low)
      least = common(first.high, last.low);
    else  // the shortest boxes have length 1 and lie anywhere from last.low to first.high
      least = truth.low <= last.low && first.high <= truth.high ? 1 : 0;
  }

  std::int64_t most, least;  // in common with the truth

  /// max of length / length in common, when that is never 0. Along each side it falls towards the truth and rises
  /// again after it, so the ends of the intervals decide.
  double largest_ratio() const {
    double largest = std::max({ratio(first_.low, last_.low), ratio(first_.low, last_.high), 1.0});
    if (first_.high <= last_.high) largest = std::max(largest, ratio(first_.high, last_.high));
    if (first_.high <= last_.low) largest = std::max(largest, ratio(first_.high, last_.low));
    return largest;
  }

  /// min of the same, when there is something in common at all: both sides as close to the truth's as they can be.
  double smallest_ratio() const {
    return ratio(std::clamp(truth_.low, first_.low, first_.high), std::clamp(truth_.high, last_.low, last_.high));
  }

 private:
  std::int64_t common(std::int32_t first, std::int32_t last) const {
    return std::max(std::min(last, truth_.high) - std::max(first, truth_.low) + 1, 0);
  }
  double ratio(std::int32_t first, std::int32_t last) const {
    return static_cast<double>(last - first + 1) / static_cast<double>(common(first, last));
  }

  Interval first_, last_, truth_;
};

/// weight (1 - IoU(box, truth)), and its bounds over sets.
///
/// With lengths h, w of a box and h', w' in common with the truth, 1 / IoU = (h / h') (w / w') + |truth| / (h' w') - 1,
/// which bounds IoU through the ratios of each axis. These bounds round differently from the IoU of a single box, hence
/// the slack; those of the smallest and the largest box do not, and are exact for a single box.
class Overlap {
 public:
  Overlap(double weight, const Box& truth) : weight_(weight), truth_(truth), truth_area_(area(truth)) {}

  bool none() const { return weight_ == 0.0; }

  double upper(const BoxSet& set) const {
    const Axis rows = row_axis(set), columns = column_axis(set);
    const std::int64_t least = rows.least * columns.least, most = rows.most * columns.most;
    if (weight_ > 0.0) {
      double low = quotient(least, largest_union(set));
      if (least > 0)
        low = std::max(low, (1.0 - kSlack) * from_ratios(rows.largest_ratio() * columns.largest_ratio(), least));
      return weight_ * (1.0 - low);
    }
    double high = quotient(most, smallest_union(set));
    if (most > 0)
      high = std::min(high, (1.0 + kSlack) * from_ratios(rows.smallest_ratio() * columns.smallest_ratio(), most));
    return weight_ * (1.0 - high);
  }

  /// The same bound as a sum over columns: {weight, what each column of the truth adds}, since the intersection is such
  /// a sum and the union has a bound.
  std::pair<double, double> upper_by_columns(const BoxSet& set) const {
    const Axis rows = row_axis(set);
    if (weight_ > 0.0) return {weight_, -weight_ * quotient(rows.least, largest_union(set))};
    return {weight_, -weight_ * quotient(rows.most, smallest_union(set))};
  }
  Interval true_columns() const { return {truth_[1], truth_[3]}; }

  /// Whether all boxes of the set have the same IoU; may miss some.
  bool constant(const BoxSet& set) const {
    const Axis rows = row_axis(set), columns = column_axis(set);
    return quotient(rows.least * columns.least, largest_union(set)) ==
           quotient(rows.most * columns.most, smallest_union(set));
  }

 private:
  Axis row_axis(const BoxSet& set) const { return {set.top, set.bottom, {truth_[0], truth_[2]}}; }
  Axis column_axis(const BoxSet& set) const { return {set.left, set.right, {truth_[1], truth_[3]}}; }

  std::int64_t largest_union(const BoxSet& set) const {
    const Box largest{set.top.low, set.left.low, set.bottom.high, set.right.high};
    return area(largest) + truth_area_ - area(intersection(largest, truth_));
  }
  std::int64_t smallest_union(const BoxSet& set) const {
    const Box smallest{set.top.high, set.left.high, set.bottom.low, set.right.low};
    return area(smallest) + truth_area_ - (area(smallest) > 0 ? area(intersection(smallest, truth_)) : 0);
  }
  double from_ratios(double ratios, std::int64_t common) const {
    return 1.0 / (ratios + quotient(truth_area_, common) - 1.0);
  }
  static double quotient(std::int64_t a, std::int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

  double weight_;
  Box truth_;
  std::int64_t truth_area_;
};

/// One map with `rows` <= `columns`: a taller one is read as its transpose, and `original` turns its boxes back.
struct Map {
  const double* cells;
  std::int32_t rows, columns;
  bool transposed;

  Map(const double* data, std::int64_t height, std::int64_t width)
      : cells(data),
        rows(static_cast<std::int32_t>(std::min(height, width))),
        columns(static_cast<std::int32_t>(std::max(height, width))),
        transposed(height > width) {}

  double at(std::int32_t row, std::int32_t column) const {
    return transposed ? cells[static_cast<std::int64_t>(column) * rows + row]
                      : cells[static_cast<std::int64_t>(row) * columns + column];
  }
  Box original(const Box& box) const { return transposed ? Box{box[1], box[0], box[3], box[2]} : box; }
};

Box first_of(const BoxSet& set) { return {set.top.low, set.left.low, set.bottom.low, set.right.low}; }

/// Splits the wider of two intervals of one axis at its middle.
std::pair<BoxSet, BoxSet> halves(const BoxSet& set, Interval BoxSet::* side) {
  std::pair<BoxSet, BoxSet> parts{set, set};
  const std::int32_t middle = (set.*side).low + (set.*side).width() / 2;
  (parts.first.*side).high = middle;
  (parts.second.*side).low = middle + 1;
  return parts;
}

Interval BoxSet::* wider(const BoxSet& set, Interval BoxSet::* a, Interval BoxSet::* b) {
  return (set.*a).width() >= (set.*b).width() ? a : b;
}

/// The paper's Efficient Subwindow Search.
class CornersBound {
 public:
  CornersBound(const Map& map, const Overlap& overlap) : overlap_(overlap), stride_(map.columns + 1) {
    const auto size = static_cast<std::size_t>((map.rows + 1) * stride_);
    positive_.assign(size, 0.0);
    negative_.assign(size, 0.0);
    for (std::int32_t i = 0; i < map.rows; ++i)
      for (std::int32_t j = 0; j < map.columns; ++j) {
        const double value = map.at(i, j);
        integrate(positive_, i, j, std::max(value, 0.0));
        integrate(negative_, i, j, std::min(value, 0.0));
      }
  }

  Node node(const BoxSet& set) const {
    const Box largest{set.top.low, set.left.low, set.bottom.high, set.right.high};
    const Box smallest{set.top.high, set.left.high, set.bottom.low, set.right.low};
    double bound = sum(positive_, largest);
    if (area(smallest) > 0) bound += sum(negative_, smallest);
    if (!overlap_.none()) bound += overlap_.upper(set);
    return {bound, set, first_of(set), set.rows_known() && set.columns_known()};
  }

  Interval BoxSet::* side_to_split(const BoxSet& set) const {
    return wider(set, wider(set, &BoxSet::top, &BoxSet::bottom), wider(set, &BoxSet::left, &BoxSet::right));
  }

 private:
  void integrate(std::vector<double>& sums, std::int32_t i, std::int32_t j, double value) const {
    const auto at = static_cast<std::size_t>((i + 1) * stride_ + j + 1), up = at - static_cast<std::size_t>(stride_);
    sums[at] = value + sums[up] + (sums[at - 1] - sums[up - 1]);
  }
  double sum(const std::vector<double>& sums, const Box& box) const {
    const double* above = sums.data() + box[0] * stride_;
    const double* below = sums.data() + (box[2] + 1) * stride_;
    return (below[box[3] + 1] - below[box[1]]) - (above[box[3] + 1] - above[box[1]]);
  }

  const Overlap& overlap_;
  std::int64_t stride_;
  std::vector<double> positive_, negative_;  // [rows + 1, columns + 1]: sums over the cells above and to the left
};

/// Rows by branch and bound, columns by a scan.
///
/// Every step of the scan is monotone in the cells' sums, also after rounding, and those are monotone in the rows. So
/// the bound of a set is never below the score of a box in it, not even by the last bit.
class ColumnsBound {
 public:
  ColumnsBound(const Map& map, const Overlap& overlap)
      : overlap_(overlap), columns_(map.columns), sums_(static_cast<std::size_t>(map.columns)) {
    const auto size = static_cast<std::size_t>((map.rows + 1) * columns_);
    positive_.assign(size, 0.0);
    negative_.assign(size, 0.0);
    for (std::int32_t i = 0; i < map.rows; ++i)
      for (std::int32_t j = 0; j < map.columns; ++j) {
        const double value = map.at(i, j);
        const auto above = static_cast<std::size_t>(i * columns_ + j),
                   here = above + static_cast<std::size_t>(columns_);
        size_ += std::abs(value);
        positive_[here] = positive_[above] + std::max(value, 0.0);
        negative_[here] = negative_[above] + std::min(value, 0.0);
      }
  }

  Node node(const BoxSet& set) const {
    Node result{0.0, set, first_of(set), set.rows_known() && (overlap_.none() || overlap_.constant(set))};
    add_up_rows(set);
    const double best = best_columns(set);
    if (result.solved) find_columns(set, best, result.first);
    result.bound = overlap_.none() ? best : best + overlap_.upper(set);
    if (!overlap_.none() && !result.solved) result.bound = std::min(result.bound, bound_by_columns(set));
    return result;
  }

  Interval BoxSet::* side_to_split(const BoxSet& set) const {
    return set.rows_known() ? wider(set, &BoxSet::left, &BoxSet::right) : wider(set, &BoxSet::top, &BoxSet::bottom);
  }

 private:
  /// sums_[j]: at most this much comes from column j, whatever rows of the set a box has.
  void add_up_rows(const BoxSet& set) const {
    const double* from = positive_.data() + set.top.low * columns_;
    const double* to = positive_.data() + (set.bottom.high + 1) * columns_;
    // The rows that every box of the set has; none when the smallest box is empty.
    const double* less_from = negative_.data() + std::min(set.top.high, set.bottom.low + 1) * columns_;
    const double* less_to = negative_.data() + (set.bottom.low + 1) * columns_;
    for (std::int32_t j = set.left.low; j <= set.right.high; ++j)
      sums_[static_cast<std::size_t>(j)] = (to[j] - from[j]) + (less_to[j] - less_from[j]);
  }

  /// Kadane's scan: `run` is the best sum of columns that ends here and starts at an allowed left side.
  double best_columns(const BoxSet& set) const {
    double run = 0.0, best = -kInf;
    for (std::int32_t j = set.left.low; j <= set.right.high; ++j) {
      if (j <= set.left.high) run = std::max(run, 0.0);
      run += sums_[static_cast<std::size_t>(j)];
      if (j >= set.right.low) best = std::max(best, run);
    }
    return best;
  }

  /// The scan once more, with the overlap's bound spread over the columns. Changes sums_.
  double bound_by_columns(const BoxSet& set) const {
    const auto [weight, extra] = overlap_.upper_by_columns(set);
    const std::int32_t from = std::max(set.left.low, overlap_.true_columns().low);
    const std::int32_t to = std::min(set.right.high, overlap_.true_columns().high);
    for (std::int32_t j = from; j <= to; ++j) sums_[static_cast<std::size_t>(j)] += extra;
    return best_columns(set) + weight + kSlack * (size_ + std::abs(weight));
  }

  /// The first pair of columns whose sum is `best`, by the same scan.
  void find_columns(const BoxSet& set, double best, Box& box) const {
    double run = 0.0;
    for (std::int32_t j = set.left.low; j <= set.right.high; ++j) {
      if (j <= set.left.high && run < 0.0) run = 0.0, box[1] = j;
      run += sums_[static_cast<std::size_t>(j)];
      if (j >= set.right.low && run == best) {
        box[3] = j;
        return;
      }
    }
  }

  const Overlap& overlap_;
  std::int64_t columns_;
  std::vector<double> positive_, negative_;  // [rows + 1, columns]: sums over the cells above
  mutable std::vector<double> sums_;         // [columns]
  double size_ = 0.0;                        // sum of the cells' absolute values
};

template <class Bound>
class Search {
 public:
  Search(const Map& map, const Bound& bound) : map_(map), bound_(bound) {
    const Interval rows{0, map.rows - 1}, columns{0, map.columns - 1};
    push({rows, columns, rows, columns}, kInf);
  }

  void run(const BoxSearchOptions& options, BoxSearchResult& result) {
    std::int64_t found = 0;
    double sum = 0.0;
    bool complete = true;
    while (found < options.k && !queue_.empty()) {
      if (!queue_.front().solved && expanded_ >= options.budget) {
        complete = false;
        break;
      }
      const Node node = pop();
      if (!node.solved) {
        ++expanded_;
        split(node);
        continue;
      }
      list(node, result);
      leave_out(node);
      ++found;
      if (sum - static_cast<double>(found - 1) * node.bound >= options.mu) break;
      sum += node.bound;
    }
    result.open.push_back(queue_.empty() ? -kInf : queue_.front().bound);
    if (found == 0) {
      list(dive(), result);
      found = 1;
    }
    result.counts.push_back(found);
    result.expanded.push_back(expanded_);
    result.complete.push_back(complete);
  }

 private:
  void push(BoxSet set, double parent) {
    if (!shrink(set)) return;
    Node node = bound_.node(set);
    node.bound = std::min(node.bound, parent);  // integral images round
    node.first = map_.original(node.first);
    queue_.push_back(node);
    std::push_heap(queue_.begin(), queue_.end(), after);
  }

  Node pop() {
    std::pop_heap(queue_.begin(), queue_.end(), after);
    const Node node = queue_.back();
    queue_.pop_back();
    return node;
  }

  void split(const Node& node) {
    const auto [one, other] = halves(node.set, bound_.side_to_split(node.set));
    push(one, node.bound);
    push(other, node.bound);
  }

  /// The rest of a solved set without its best box: its rows are known, so only the columns are divided.
  void leave_out(const Node& node) {
    const BoxSet& set = node.set;
    if (set.columns_known()) return;
    const Box best = map_.original(node.first);
    const std::int32_t left = best[1], right = best[3];
    const auto part = [&](Interval lefts, Interval rights) {
      if (lefts.width() >= 0 && rights.width() >= 0) push({set.top, lefts, set.bottom, rights}, node.bound);
    };
    part({set.left.low, left - 1}, set.right);
    part({left, left}, {set.right.low, right - 1});
    part({left, left}, {right + 1, set.right.high});
    part({left + 1, set.left.high}, set.right);
  }

  /// A box to show when the budget ended the search before it found one: the most promising half, all the way down.
  Node dive() {
    Node node = pop();
    while (!node.solved) {
      queue_.clear();
      split(node);
      node = pop();
    }
    return node;
  }

  static void list(const Node& node, BoxSearchResult& result) {
    result.values.push_back(node.bound);
    result.boxes.insert(result.boxes.end(), node.first.begin(), node.first.end());
  }

  const Map& map_;
  const Bound& bound_;
  std::vector<Node> queue_;
  std::int64_t expanded_ = 0;
};

template <class Bound>
void search_map(const Map& map, const Overlap& overlap, const BoxSearchOptions& options, BoxSearchResult& result) {
  const Bound bound(map, overlap);
  Search<Bound>(map, bound).run(options, result);
}

Box true_box(const BoxBatch& batch, std::int64_t i) {
  const std::int64_t* t = batch.truth + 4 * i;
  return {static_cast<std::int32_t>(t[0]), static_cast<std::int32_t>(t[1]), static_cast<std::int32_t>(t[2]),
          static_cast<std::int32_t>(t[3])};
}

}  // namespace

void BoxSearchResult::append(const BoxSearchResult& more) {
  casimir::append(values, more.values);
  casimir::append(boxes, more.boxes);
  casimir::append(counts, more.counts);
  casimir::append(expanded, more.expanded);
  casimir::append(complete, more.complete);
  casimir::append(open, more.open);
}

BoxSearchResult box_search(const BoxBatch& batch, const BoxSearchOptions& options, int threads) {
  return joined_chunks<BoxSearchResult>(batch.size, threads, [&](auto begin, auto end, BoxSearchResult& result) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Map map(batch.maps + batch.offsets[i], batch.shapes[2 * i], batch.shapes[2 * i + 1]);
      const Overlap overlap =
          batch.weights ? Overlap(batch.weights[i], map.original(true_box(batch, i))) : Overlap(0.0, {});
      if (options.bound == BoxBound::columns)
        search_map<ColumnsBound>(map, overlap, options, result);
      else
        search_map<CornersBound>(map, overlap, options, result);
    }
  });
}

}  // namespace casimir
