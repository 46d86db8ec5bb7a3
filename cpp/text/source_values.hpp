// The values of the sources of templates, each computed once per distinct text of its column.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/template_plan.hpp"
#include "text/token_table.hpp"

namespace casimir::text {

/// Values that come from outside: item i has the values items[i] .. items[i + 1] - 1, value v is the text
/// blob[ends[v]:ends[v + 1]].
struct GivenValues {
  std::span<const std::int64_t> items, ends;
  std::string_view blob;

  Values of(std::size_t item) const {
    Values found;
    for (auto v = static_cast<std::size_t>(items[item]); v < static_cast<std::size_t>(items[item + 1]); ++v)
      found.emplace_back(blob.substr(static_cast<std::size_t>(ends[v]), static_cast<std::size_t>(ends[v + 1] - ends[v])));
    return found;
  }
};

class SourceValues {
 public:
  /// given: what comes from outside, per source; empty for the others.
  SourceValues(const Plan& plan, const CharacterTable& characters, const TokenTable& tokens,
               std::vector<GivenValues> given)
      : plan_(plan), characters_(characters), tokens_(tokens), given_(std::move(given)), known_(plan.sources.size()) {}

  /// Of a distinct text of the source's column, or of a token; kept.
  const Values& at(std::size_t source, std::uint32_t item) {
    auto& known = known_[source];
    if (known.empty()) known.resize(n_items(source));
    if (!known[item]) known[item] = compute(source, item);
    return *known[item];
  }

  /// The same, not kept.
  Values compute(std::size_t source, std::uint32_t item) const {
    const Source& from = plan_.sources[source];
    if (from.kind != SourceKind::filtered) return given_[source].of(item);
    return filtered(characters_, from.filters, tokens_.names[from.column]->name(item));
  }

 private:
  std::size_t n_items(std::size_t source) const {
    const Source& from = plan_.sources[source];
    return from.kind == SourceKind::by_token ? tokens_.ids[0].size() : tokens_.names[from.column]->size();
  }

  const Plan& plan_;
  const CharacterTable& characters_;
  const TokenTable& tokens_;
  std::vector<GivenValues> given_;
  std::vector<std::vector<std::optional<Values>>> known_;
};

}  // namespace casimir::text
