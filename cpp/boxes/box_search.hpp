// The best boxes of score maps by best-first branch and bound (algo:top_k:bb of the paper), for batches of maps.
//
// A set of boxes is an interval for each of the four sides. Every box of a set contains the smallest box (which may be
// empty) and lies in the largest one, so its score is at most
//     sum of the positive cells of the largest box + sum of the negative cells of the smallest box.
// corners: this bound, from two integral images: Efficient Subwindow Search (Lampert, Blaschko, Hofmann 2008).
// columns: the same for the rows alone, with the best pair of columns found by a scan. It costs one pass over the
//          columns instead of a few additions, but is exact as soon as the rows are known, so that a map of R rows and
//          C columns takes at most R (R + 1) scans of C steps, whatever the scores are.
// With a weight w and a true box T, a box B scores w (1 - IoU(B, T)) more, and
//     |smallest & T| / |largest | T| <= IoU(B, T) <= |largest & T| / |smallest | T|;
// there are tighter bounds from the sizes along each axis, and for the columns bound one that is a sum over columns, so
// that the scan weighs overlap and scores against each other.
#pragma once

#include <cstdint>
#include <vector>

namespace casimir {

/// n maps one after another, row-major; map i has the shape (shapes[2 i], shapes[2 i + 1]).
struct BoxBatch {
  const double* maps;
  const std::int64_t* offsets;
  const std::int64_t* shapes;
  std::int64_t size;
  const double* weights;      // [n], or null for none
  const std::int64_t* truth;  // [n, 4] boxes (top, left, bottom, right), both ends inclusive; null without weights
};

enum class BoxBound { corners, columns };

struct BoxSearchOptions {
  std::int64_t k = 1;
  double mu = 0.0;          // stop once the top-K strategy is exact (prop:smoothing:proj-simplex-2); infinite: never
  std::int64_t budget = 1;  // sets that may be split, per map
  BoxBound bound = BoxBound::columns;
};

/// Per map: its boxes, sorted by (score descending, lexicographic), and how the search ended.
struct BoxSearchResult {
  std::vector<double> values;          // [sum counts]
  std::vector<std::int64_t> boxes;     // [sum counts, 4]
  std::vector<std::int64_t> counts;    // [n], at least 1
  std::vector<std::int64_t> expanded;  // [n]: sets that were split
  std::vector<std::int64_t> complete;  // [n]: 0 where the budget ended the search
  std::vector<double> open;            // [n]: an upper bound of every box that is not listed; -inf when all are

  void append(const BoxSearchResult& more);
};

BoxSearchResult box_search(const BoxBatch& batch, const BoxSearchOptions& options, int threads);

}  // namespace casimir
