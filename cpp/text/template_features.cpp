#include "text/template_features.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <unordered_map>

#include "base/parallel.hpp"
#include "text/evidence.hpp"
#include "text/round_map.hpp"
#include "text/word_facts.hpp"

namespace casimir::text {

namespace {

using Numbers = std::vector<std::uint32_t>;

const Values no_values, start_mark{"<s>"}, stop_mark{"</s>"};

/// The sentence at hand, and the run of capitalised words that each of its tokens is part of.
struct Sentence {
  std::size_t first, size;
  std::vector<std::size_t> run_begin, run_end;  // equal: the token is in no run

  /// The place that a hole reads at token i, -1 and size being beyond the ends; false: the token has no such place.
  bool place(const Hole& hole, std::size_t i, std::int64_t& found) const {
    std::size_t from = i;
    if (hole.anchor != Anchor::token) {
      if (run_begin[i] == run_end[i]) return false;
      from = hole.anchor == Anchor::left || hole.anchor == Anchor::first ? run_begin[i] : run_end[i];
    }
    const int step = hole.anchor == Anchor::left || hole.anchor == Anchor::last ? -1 : 0;
    found = static_cast<std::int64_t>(from) + step + hole.offset;
    return true;
  }

  /// How far beyond an end a place is: -1, -2 before the first token, 1, 2 behind the last, 0 inside.
  std::int64_t beyond(std::int64_t place) const {
    const auto n = static_cast<std::int64_t>(size);
    return place < 0 ? place : place >= n ? place - n + 1 : 0;
  }
};

/// What a hole shows beyond the ends of a sentence.
Values outside_values(const Hole& hole, std::int64_t beyond) {
  switch (hole.outside) {
    case Outside::mark:
      return beyond < 0 ? start_mark : stop_mark;
    case Outside::text:
      return {hole.text};
    case Outside::numbered:
      return {(beyond < 0 ? "_B" : "_B+") + std::to_string(beyond)};
    default:
      return {};
  }
}

/// Neighbouring templates with one hole at most, all of the same column and place: their features depend on nothing but
/// the text there, and are numbered once for each.
struct Block {
  std::size_t column, index;  // among the blocks of the column
  Hole where;
  std::vector<const Template*> templates;
  std::unordered_map<std::int64_t, Numbers> outside;
};

constexpr std::size_t unset = static_cast<std::size_t>(-1);

/// The features of all blocks of a column, so that those of one text lie together.
struct ColumnFeatures {
  struct Range {
    std::size_t begin = unset, end = unset;
  };
  std::size_t n_blocks = 0;
  std::vector<Range> ranges;  // [texts, n_blocks]: where in `numbers`
  Numbers numbers;
};

constexpr std::size_t tokens_per_thread = 20'000;  // fewer are not worth a thread, which has tables of its own

/// A template of several holes, or with values of single tokens. Of two or three holes with one value each, the
/// features of some thousand neighbourhoods are remembered: few words, cases and parts of speech make most of a text.
struct Single {
  struct Remembered {
    Triple lists;
    std::uint32_t feature;
  };
  static constexpr std::size_t near = 4, n_remembered = 1024;

  const Template* text;
  std::vector<std::array<std::uint32_t, 2 * near + 1>> outside;  // hole -> what it shows at -near .. near beyond an end
  std::vector<Remembered> remembered;

  explicit Single(const Template& one) : text(&one), outside(one.holes.size()) {
    for (auto& places : outside) places.fill(SourceValues::unset);
    constexpr std::uint32_t none = SourceValues::unset;
    if (one.holes.size() == 2 || one.holes.size() == 3) remembered.assign(n_remembered, {{none, none, none}, none});
  }

  Remembered& place_of(const Triple& lists) {
    const std::uint32_t mixed = lists[0] * 0x9e3779b1u ^ lists[1] * 0x85ebca6bu ^ lists[2] * 0xc2b2ae35u;
    return remembered[mixed >> 22];
  }
};
static_assert(Single::n_remembered == std::size_t{1} << 10);

/// Either a block, or a template by itself.
struct Step {
  std::unique_ptr<Block> block;
  std::unique_ptr<Single> single;
  const Template* evidence = nullptr;
};

class Extraction {
 public:
  Extraction(const Plan& plan, const CharacterTable& characters, const TokenTable& tokens,
             std::vector<GivenValues> given, FeatureIndex index)
      : plan_(plan),
        tokens_(tokens),
        columns_(tokens.names.size()),
        values_(plan, characters, tokens, std::move(given)),
        facts_(characters, *tokens.names[0]),
        evidence_(tokens, facts_),
        packer_(index) {
    for (auto& row : places_) row.fill(SourceValues::unset);
    for (const Template& one : plan.templates) add(one);
    for (std::size_t c = 0; c < columns_.size(); ++c)
      columns_[c].ranges.resize(columns_[c].n_blocks * tokens.names[c]->size());
  }

  /// Of documents, each the sentences documents[k] .. documents[k + 1] - 1.
  PackedFeatures run(std::span<const std::size_t> documents) {
    const auto token = [&](std::size_t k) { return static_cast<std::size_t>(tokens_.offsets[documents[k]]); };
    const std::size_t n = documents.size() - 1, n_tokens = token(n) - token(0);
    packer_.reserve(documents[n] - documents[0], n_tokens);
    for (std::size_t k = 0; k < n; ++k) {
      document(documents[k], documents[k + 1]);
      packer_.foresee(n_tokens);
    }
    return std::move(packer_).finish();
  }

 private:
  // --- the plan

  void add(const Template& one) {
    for (const Hole& hole : one.holes) needs_runs_ |= hole.anchor != Anchor::token || kind(hole) == SourceKind::place;
    if (one.holes.size() == 1 && kind(one.holes[0]) == SourceKind::evidence) {
      needs_evidence_ = true;
      steps_.push_back({nullptr, nullptr, &one});
      return;
    }
    for (const Hole& hole : one.holes)
      if (kind(hole) == SourceKind::evidence)
        throw std::invalid_argument("evidence is alone in its template: it has no values of one token");
    if (one.holes.empty() && !steps_.empty() && steps_.back().block &&
        steps_.back().block->where.anchor == Anchor::token) {
      steps_.back().block->templates.push_back(&one);
      return;
    }
    if (one.holes.size() == 1 && is_of_text(one.holes[0])) {
      if (!joins(one.holes[0])) steps_.push_back({new_block(one.holes[0]), nullptr});
      steps_.back().block->templates.push_back(&one);
      return;
    }
    steps_.push_back({nullptr, std::make_unique<Single>(one)});
  }

  SourceKind kind(const Hole& hole) const { return plan_.sources[hole.source].kind; }
  bool is_of_text(const Hole& hole) const {
    return kind(hole) == SourceKind::filtered || kind(hole) == SourceKind::by_text;
  }

  bool joins(const Hole& hole) const {
    if (steps_.empty() || !steps_.back().block) return false;
    const Block& last = *steps_.back().block;
    return last.column == plan_.sources[hole.source].column && last.where.anchor == hole.anchor &&
           last.where.offset == hole.offset;
  }

  std::unique_ptr<Block> new_block(const Hole& hole) {
    auto made = std::make_unique<Block>();
    made->column = plan_.sources[hole.source].column;
    made->index = columns_[made->column].n_blocks++;
    made->where = hole;
    return made;
  }

  // --- documents and sentences

  void document(std::size_t begin, std::size_t end) {
    has_evidence_ = needs_evidence_ && end - begin >= plan_.least;
    if (has_evidence_) evidence_.read(begin, end, tokens_.documents[begin] >= 0);
    known_evidence_.clear();
    evidence_numbers_.clear();
    evidence_ranges_.clear();
    for (std::size_t i = begin; i < end; ++i) sentence(i);
  }

  void sentence(std::size_t i) {
    now_.first = static_cast<std::size_t>(tokens_.offsets[i]);
    now_.size = static_cast<std::size_t>(tokens_.offsets[i + 1]) - now_.first;
    if (needs_runs_) find_runs();
    for (std::size_t t = 0; t < now_.size; ++t) {
      for (Step& step : steps_) {
        if (step.block)
          add_block(*step.block, t);
        else if (step.evidence != nullptr)
          add_evidence(*step.evidence, t);
        else
          add_single(*step.single, t);
      }
      packer_.end_token();
    }
    packer_.end_sequence();
  }

  void find_runs() {
    now_.run_begin.assign(now_.size, 0);
    now_.run_end.assign(now_.size, 0);
    const std::uint32_t* words = tokens_.ids[0].data() + now_.first;
    for (std::size_t i = 0; i < now_.size;) {
      const std::size_t end = std::max(end_of_run(facts_, words, i, now_.size), i);
      for (std::size_t k = i; k < end; ++k) now_.run_begin[k] = i, now_.run_end[k] = end;
      i = std::max(end, i + 1);
    }
  }

  // --- features of a token

  void add_block(Block& block, std::size_t t) {
    std::int64_t place;
    if (!now_.place(block.where, t, place)) return;
    const std::int64_t beyond = now_.beyond(place);
    if (beyond != 0) return packer_.add_numbers(outside(block, beyond));
    const std::uint32_t text = tokens_.ids[block.column][now_.first + static_cast<std::size_t>(place)];
    ColumnFeatures& column = columns_[block.column];
    ColumnFeatures::Range& range = column.ranges[text * column.n_blocks + block.index];
    if (range.begin == unset) {
      range.begin = column.numbers.size();
      for (const Template* one : block.templates)
        number(*one, one->holes.empty() ? no_values : values_.compute(one->holes[0].source, text), column.numbers);
      range.end = column.numbers.size();
    }
    packer_.add_numbers({column.numbers.data() + range.begin, range.end - range.begin});
  }

  const Numbers& outside(Block& block, std::int64_t beyond) {
    const auto [place, is_new] = block.outside.try_emplace(beyond);
    if (is_new)
      for (const Template* one : block.templates)
        number(*one, one->holes.empty() ? no_values : outside_values(one->holes[0], beyond), place->second);
    return place->second;
  }

  /// The numbers of a template with one hole at most.
  void number(const Template& one, const Values& values, Numbers& out) {
    if (one.holes.empty()) return number(one.texts[0], out);
    for (const std::string& value : values) {
      feature_ = one.texts[0];
      feature_ += value;
      feature_ += one.texts[1];
      number(feature_, out);
    }
  }

  void number(std::string_view feature, Numbers& out) {
    const std::uint32_t found = packer_.number(feature);
    if (found != FeatureTable::none) out.push_back(found);
  }

  void add_evidence(const Template& one, std::size_t t) {
    if (!has_evidence_) return;
    const std::uint32_t word = tokens_.ids[0][now_.first + t];
    const WordFacts fact = facts_[word];
    const auto letter = static_cast<unsigned char>(fact.letter_case);
    const auto line = static_cast<std::uint32_t>(&one - plan_.templates.data());
    const auto count = static_cast<std::uint32_t>(evidence_ranges_.size());
    const auto [place, is_new] = known_evidence_.try_emplace({fact.normal, letter, line}, count);
    if (is_new) {
      const std::size_t begin = evidence_numbers_.size();
      evidence_.features(word, [&](const std::string& text) {
        feature_ = one.texts[0];
        feature_ += text;
        feature_ += one.texts[1];
        number(feature_, evidence_numbers_);
      });
      evidence_ranges_.emplace_back(begin, evidence_numbers_.size());
    }
    const auto [begin, end] = evidence_ranges_[place];
    packer_.add_numbers({evidence_numbers_.data() + begin, end - begin});
  }

  void add_single(Single& one, std::size_t t) {
    Triple key{};
    bool is_plain = !one.remembered.empty();
    chosen_.clear();
    for (std::size_t h = 0; h < one.outside.size(); ++h) {
      const std::uint32_t list = list_at(one, h, t);
      if (list == SourceValues::unset) return;
      const std::size_t size = values_.list(list).size();
      if (size == 0) return;
      is_plain &= size == 1;
      if (is_plain) key[h] = list;
      chosen_.push_back(list);
    }
    if (!is_plain) {
      feature_ = one.text->texts[0];
      return combine(*one.text, 0);
    }
    Single::Remembered& place = one.place_of(key);
    if (!same(place.lists, key)) {
      feature_ = one.text->texts[0];
      for (std::size_t h = 0; h < chosen_.size(); ++h) {
        feature_ += values_.list(chosen_[h])[0];
        feature_ += one.text->texts[h + 1];
      }
      place = {key, packer_.number(feature_)};
    }
    if (place.feature != FeatureTable::none) packer_.add_numbers({&place.feature, 1});
  }

  /// Every combination of values, the last hole's running fastest; `feature_` holds what stands before hole h.
  void combine(const Template& one, std::size_t h) {
    if (h == one.holes.size()) {
      const std::uint32_t found = packer_.number(feature_);
      if (found != FeatureTable::none) packer_.add_numbers({&found, 1});
      return;
    }
    const std::size_t length = feature_.size();
    for (const std::string& value : values_.list(chosen_[h])) {
      feature_ += value;
      feature_ += one.texts[h + 1];
      combine(one, h + 1);
      feature_.resize(length);
    }
  }

  /// The number of a hole's values; unset: the token has no such place.
  std::uint32_t list_at(Single& one, std::size_t h, std::size_t t) {
    const Hole& hole = one.text->holes[h];
    if (kind(hole) == SourceKind::place) return place_in_run(t);
    std::int64_t place;
    if (!now_.place(hole, t, place)) return SourceValues::unset;
    const std::int64_t beyond = now_.beyond(place);
    if (beyond != 0) return outside_list(hole, one.outside[h], beyond);
    const std::size_t token = now_.first + static_cast<std::size_t>(place);
    const Source& source = plan_.sources[hole.source];
    const bool by_token = source.kind == SourceKind::by_token;
    return values_.number(hole.source,
                          by_token ? static_cast<std::uint32_t>(token) : tokens_.ids[source.column][token]);
  }

  template <class Known>
  std::uint32_t outside_list(const Hole& hole, Known& known, std::int64_t beyond) {
    constexpr auto near = static_cast<std::int64_t>(Single::near);
    if (std::abs(beyond) > near) return values_.number(outside_values(hole, beyond));
    std::uint32_t& found = known[static_cast<std::size_t>(beyond + near)];
    if (found == SourceValues::unset) found = values_.number(outside_values(hole, beyond));
    return found;
  }

  std::uint32_t place_in_run(std::size_t t) {
    const std::size_t begin = now_.run_begin[t], end = now_.run_end[t];
    if (begin == end) return SourceValues::unset;
    const std::size_t at = std::min<std::size_t>(t - begin, 3), size = std::min<std::size_t>(end - begin, 4);
    std::uint32_t& found = places_[at][size - 1];
    if (found == SourceValues::unset) found = values_.number({std::to_string(at) + '/' + std::to_string(size)});
    return found;
  }

  const Plan& plan_;
  const TokenTable& tokens_;
  std::vector<ColumnFeatures> columns_;
  SourceValues values_;
  WordFactTable facts_;
  Evidence evidence_;
  Packer packer_;
  std::vector<Step> steps_;
  bool needs_runs_ = false, needs_evidence_ = false, has_evidence_ = false;
  Sentence now_{};
  RoundMap known_evidence_;  // (normal form, case, template) -> range of features, in this document
  std::vector<std::pair<std::size_t, std::size_t>> evidence_ranges_;
  Numbers evidence_numbers_;
  std::array<std::array<std::uint32_t, 4>, 4> places_;  // place in a run and its size -> number of the values
  Numbers chosen_;
  std::string feature_;
};

/// Where documents begin, and the number of sentences: neighbours of the same document, or `alone` sentences of none.
std::vector<std::size_t> documents_of(const TokenTable& tokens, std::size_t alone) {
  std::vector<std::size_t> found{0};
  for (std::size_t i = 1; i < tokens.n_sentences(); ++i) {
    const std::int64_t document = tokens.documents[i];
    if (document != tokens.documents[i - 1] || (document < 0 && i - found.back() >= alone)) found.push_back(i);
  }
  if (tokens.n_sentences() > 0) found.push_back(tokens.n_sentences());
  return found;
}

/// Cuts documents into `parts` of about as many tokens: part k is documents cuts[k] .. cuts[k + 1] - 1.
std::vector<std::size_t> cuts_of(const TokenTable& tokens, std::span<const std::size_t> documents, std::size_t parts) {
  const std::size_t n_tokens = tokens.ids[0].size();
  std::vector<std::size_t> cuts{0};
  for (std::size_t k = 1; k < parts; ++k) {
    std::size_t cut = cuts.back();
    while (cut + 1 < documents.size() &&
           static_cast<std::size_t>(tokens.offsets[documents[cut]]) * parts < k * n_tokens)
      ++cut;
    cuts.push_back(cut);
  }
  cuts.push_back(documents.size() - 1);
  return cuts;
}

PackedFeatures joined(std::vector<PackedFeatures> parts) {
  PackedFeatures all = std::move(parts[0]);
  for (std::size_t k = 1; k < parts.size(); ++k) {
    const std::int64_t tokens = all.offsets.back(), features = all.indptr.back();
    for (std::size_t i = 1; i < parts[k].offsets.size(); ++i) all.offsets.push_back(tokens + parts[k].offsets[i]);
    for (std::size_t t = 1; t < parts[k].indptr.size(); ++t) all.indptr.push_back(features + parts[k].indptr[t]);
    append(all.indices, parts[k].indices);
    parts[k] = {};
  }
  return all;
}

}  // namespace

PackedFeatures template_features(const Plan& plan, const CharacterTable& characters, const TokenTable& tokens,
                                 const std::vector<GivenValues>& given, FeatureIndex index, int threads) {
  const std::vector<std::size_t> documents = documents_of(tokens, plan.alone);
  const std::size_t most = index.grows() ? 1 : std::max<std::size_t>(1, tokens.ids[0].size() / tokens_per_thread);
  const std::size_t wanted = static_cast<std::size_t>(std::max(threads, 1));
  const std::size_t n = std::max<std::size_t>(1, std::min({most, documents.size() - 1, wanted}));
  const auto extracted = [&](std::span<const std::size_t> part) {
    return Extraction(plan, characters, tokens, given, index).run(part);
  };
  if (n == 1) return extracted(documents);
  const std::vector<std::size_t> cuts = cuts_of(tokens, documents, n);
  std::vector<PackedFeatures> parts(n);
  parallel_chunks(static_cast<std::int64_t>(n), static_cast<int>(n), [&](std::int64_t k, std::int64_t, int) {
    const auto part = static_cast<std::size_t>(k);
    if (cuts[part] == cuts[part + 1]) return;
    parts[part] = extracted({documents.data() + cuts[part], cuts[part + 1] - cuts[part] + 1});
  });
  return joined(std::move(parts));
}

}  // namespace casimir::text
