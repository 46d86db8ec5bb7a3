// The values of the sources of templates, each computed once per distinct text of its column; equal lists of values
// have one number.
#pragma once

#include <cstdint>
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
      found.emplace_back(
          blob.substr(static_cast<std::size_t>(ends[v]), static_cast<std::size_t>(ends[v + 1] - ends[v])));
    return found;
  }
};

/// Filters of all sources as a tree, so that those that several chains begin with are applied once to a text.
class FilterTree {
 public:
  /// The node behind the last filter of a chain; node 0 is the text itself.
  std::size_t add(const std::vector<Filter>& chain) {
    std::size_t node = 0;
    for (const Filter& filter : chain) node = child(node, filter);
    return node;
  }

  /// The values of a node for a text; they stand until another text is asked for. item: the number of the text.
  const Values& values(std::size_t node, const CharacterTable& characters, std::uint32_t item, std::string_view text) {
    Node& at = nodes_[node];
    if (at.item == item) return at.values;
    if (node == 0) {
      at.values.assign(1, std::string(text));
    } else {
      const Values& before = values(at.parent, characters, item, text);
      at.values.clear();
      for (const std::string& value : before) at.filter.apply(characters, value, at.values);
    }
    at.item = item;
    return at.values;
  }

 private:
  struct Node {
    Filter filter;
    std::size_t parent;
    std::int64_t item = -1;
    Values values{};
  };

  std::size_t child(std::size_t parent, const Filter& filter) {
    for (std::size_t k = 1; k < nodes_.size(); ++k)
      if (nodes_[k].parent == parent && nodes_[k].filter == filter) return k;
    nodes_.push_back({filter, parent});
    return nodes_.size() - 1;
  }

  std::vector<Node> nodes_{{Filter("lower"), 0}};  // the filter of the root is not applied
};

/// Distinct lists of values, numbered.
class ValueLists {
 public:
  std::uint32_t number(const Values& values) {
    key_.clear();
    for (const std::string& value : values) {
      key_ += std::to_string(value.size());
      key_ += ' ';
      key_ += value;
    }
    const std::uint32_t found = keys_.intern(key_);
    if (found == lists_.size()) lists_.push_back(values);
    return found;
  }

  const Values& operator[](std::uint32_t number) const { return lists_[number]; }

 private:
  FeatureTable keys_;
  std::vector<Values> lists_;
  std::string key_;
};

class SourceValues {
 public:
  static constexpr std::uint32_t unset = FeatureTable::none;

  /// given: what comes from outside, per source; empty for the others.
  SourceValues(const Plan& plan, const CharacterTable& characters, const TokenTable& tokens,
               std::vector<GivenValues> given)
      : plan_(plan),
        characters_(characters),
        tokens_(tokens),
        given_(std::move(given)),
        trees_(tokens.names.size()),
        numbers_(plan.sources.size()) {
    for (const Source& source : plan.sources)
      nodes_.push_back(source.kind == SourceKind::filtered ? trees_[source.column].add(source.filters) : 0);
  }

  /// The number of the values of a distinct text of the source's column, or of a token; kept.
  std::uint32_t number(std::size_t source, std::uint32_t item) {
    auto& known = numbers_[source];
    if (known.empty()) known.assign(n_items(source), unset);
    if (known[item] == unset) known[item] = lists_.number(compute(source, item));
    return known[item];
  }

  std::uint32_t number(const Values& values) { return lists_.number(values); }
  const Values& list(std::uint32_t number) const { return lists_[number]; }

  /// The values themselves, which stand until another item is asked for.
  const Values& compute(std::size_t source, std::uint32_t item) {
    const Source& from = plan_.sources[source];
    if (from.kind != SourceKind::filtered) return now_ = given_[source].of(item);
    return trees_[from.column].values(nodes_[source], characters_, item, tokens_.names[from.column]->name(item));
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
  std::vector<FilterTree> trees_;   // per column
  std::vector<std::size_t> nodes_;  // per source
  std::vector<std::vector<std::uint32_t>> numbers_;
  ValueLists lists_;
  Values now_;
};

}  // namespace casimir::text
