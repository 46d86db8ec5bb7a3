#include "weights/fixed_rows.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

namespace casimir {

FixedRows::FixedRows(const double* scores, std::int64_t tokens, RowShape shape, std::pmr::memory_resource* memory)
    : stride_(shape.stride), of_token_(memory) {
  if (!scores) return;
  if (tokens > INT32_MAX) throw std::invalid_argument("fixed scores are for at most 2^31 tokens.");
  const auto bytes = static_cast<std::size_t>(shape.labels) * sizeof(double);
  std::unordered_map<std::string_view, std::int32_t> known;
  of_token_.reserve(static_cast<std::size_t>(tokens));
  for (std::int64_t t = 0; t < tokens; ++t) {
    const double* row = scores + t * shape.labels;
    const auto next = static_cast<std::int32_t>(known.size());
    const auto [place, is_new] = known.try_emplace({reinterpret_cast<const char*>(row), bytes}, next);
    of_token_.push_back(place->second);
    if (!is_new) continue;
    rows_.insert(rows_.end(), row, row + shape.labels);
    rows_.resize(rows_.size() + static_cast<std::size_t>(shape.stride - shape.labels), 0.0);
  }
}

}  // namespace casimir
