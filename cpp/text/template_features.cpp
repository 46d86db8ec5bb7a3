#include "text/template_features.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#include "text/evidence.hpp"
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
  std::size_t column;
  Hole where;
  std::vector<const Template*> templates;
  std::vector<std::pair<std::size_t, std::size_t>> ranges;  // distinct text -> its features in `numbers`
  Numbers numbers;
  std::unordered_map<std::int64_t, Numbers> outside;
};

constexpr std::size_t unset = static_cast<std::size_t>(-1);

/// Either a block, or a template of several holes or with values of single tokens.
struct Step {
  std::unique_ptr<Block> block;
  const Template* single = nullptr;
  bool is_evidence = false;
};

class Extraction {
 public:
  Extraction(const Plan& plan, const CharacterTable& characters, const TokenTable& tokens,
             std::vector<GivenValues> given, FeatureIndex index)
      : plan_(plan),
        tokens_(tokens),
        values_(plan, characters, tokens, std::move(given)),
        facts_(characters, *tokens.names[0]),
        evidence_(tokens, facts_),
        packer_(index) {
    for (const Template& one : plan.templates) add(one);
    packer_.reserve(tokens.n_sentences(), tokens.ids[0].size());
  }

  PackedFeatures run() {
    for (std::size_t begin = 0; begin < tokens_.n_sentences();) {
      const std::size_t end = end_of_document(begin);
      document(begin, end);
      begin = end;
    }
    return std::move(packer_).finish();
  }

 private:
  // --- the plan

  void add(const Template& one) {
    for (const Hole& hole : one.holes) needs_runs_ |= hole.anchor != Anchor::token || kind(hole) == SourceKind::place;
    if (one.holes.size() == 1 && kind(one.holes[0]) == SourceKind::evidence) {
      needs_evidence_ = true;
      steps_.push_back({nullptr, &one, true});
      return;
    }
    if (one.holes.empty() && !steps_.empty() && steps_.back().block &&
        steps_.back().block->where.anchor == Anchor::token) {
      steps_.back().block->templates.push_back(&one);
      return;
    }
    if (one.holes.size() == 1 && is_of_text(one.holes[0])) {
      if (!joins(one.holes[0])) steps_.push_back({new_block(one.holes[0]), nullptr, false});
      steps_.back().block->templates.push_back(&one);
      return;
    }
    steps_.push_back({nullptr, &one, false});
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

  std::unique_ptr<Block> new_block(const Hole& hole) const {
    auto made = std::make_unique<Block>();
    made->column = plan_.sources[hole.source].column;
    made->where = hole;
    made->ranges.resize(tokens_.names[made->column]->size(), {unset, unset});
    return made;
  }

  // --- documents and sentences

  /// Neighbours of the same document, or `alone` sentences of none.
  std::size_t end_of_document(std::size_t begin) const {
    const std::int64_t document = tokens_.documents[begin];
    std::size_t end = begin + 1;
    while (end < tokens_.n_sentences() && tokens_.documents[end] == document &&
           (document >= 0 || end - begin < plan_.alone))
      ++end;
    return end;
  }

  void document(std::size_t begin, std::size_t end) {
    has_evidence_ = needs_evidence_ && end - begin >= plan_.least;
    if (has_evidence_) evidence_.read(begin, end, tokens_.documents[begin] >= 0);
    known_evidence_.clear();
    for (std::size_t i = begin; i < end; ++i) sentence(i);
    packer_.foresee(tokens_.ids[0].size());
  }

  void sentence(std::size_t i) {
    now_.first = static_cast<std::size_t>(tokens_.offsets[i]);
    now_.size = static_cast<std::size_t>(tokens_.offsets[i + 1]) - now_.first;
    if (needs_runs_) find_runs();
    for (std::size_t t = 0; t < now_.size; ++t) {
      for (Step& step : steps_) {
        if (step.block)
          add_block(*step.block, t);
        else if (step.is_evidence)
          add_evidence(*step.single, t);
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
    auto& range = block.ranges[text];
    if (range.first == unset) {
      range.first = block.numbers.size();
      for (const Template* one : block.templates)
        number(*one, one->holes.empty() ? no_values : values_.compute(one->holes[0].source, text), block.numbers);
      range.second = block.numbers.size();
    }
    packer_.add_numbers({block.numbers.data() + range.first, range.second - range.first});
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
    const std::uint64_t key = std::uint64_t{fact.normal} << 8 | static_cast<unsigned char>(fact.letter_case);
    const auto [place, is_new] = known_evidence_.try_emplace(key);
    if (is_new)
      evidence_.features(word, [&](const std::string& text) {
        feature_ = one.texts[0];
        feature_ += text;
        feature_ += one.texts[1];
        number(feature_, place->second);
      });
    packer_.add_numbers(place->second);
  }

  void add_single(const Template& one, std::size_t t) {
    chosen_.clear();
    for (const Hole& hole : one.holes) {
      const Values* found = values_at(hole, t);
      if (found == nullptr || found->empty()) return;
      chosen_.push_back(found);
    }
    feature_ = one.texts[0];
    combine(one, 0);
  }

  /// Every combination of values, the last hole's running fastest; `feature_` holds what stands before hole h.
  void combine(const Template& one, std::size_t h) {
    if (h == one.holes.size()) {
      const std::uint32_t found = packer_.number(feature_);
      if (found != FeatureTable::none) packer_.add_numbers({&found, 1});
      return;
    }
    const std::size_t length = feature_.size();
    for (const std::string& value : *chosen_[h]) {
      feature_ += value;
      feature_ += one.texts[h + 1];
      combine(one, h + 1);
      feature_.resize(length);
    }
  }

  /// nullptr: the token has no such place.
  const Values* values_at(const Hole& hole, std::size_t t) {
    if (kind(hole) == SourceKind::place) return place_in_run(t);
    std::int64_t place;
    if (!now_.place(hole, t, place)) return nullptr;
    const std::int64_t beyond = now_.beyond(place);
    if (beyond != 0) {
      const auto [known, is_new] = beyond_[&hole].try_emplace(beyond);
      if (is_new) known->second = outside_values(hole, beyond);
      return &known->second;
    }
    const std::size_t token = now_.first + static_cast<std::size_t>(place);
    const Source& source = plan_.sources[hole.source];
    const bool by_token = source.kind == SourceKind::by_token;
    return &values_.at(hole.source, by_token ? static_cast<std::uint32_t>(token) : tokens_.ids[source.column][token]);
  }

  const Values* place_in_run(std::size_t t) {
    const std::size_t begin = now_.run_begin[t], end = now_.run_end[t];
    if (begin == end) return nullptr;
    place_[0] = std::to_string(std::min<std::size_t>(t - begin, 3));
    place_[0] += '/';
    place_[0] += std::to_string(std::min<std::size_t>(end - begin, 4));
    return &place_;
  }

  const Plan& plan_;
  const TokenTable& tokens_;
  SourceValues values_;
  WordFactTable facts_;
  Evidence evidence_;
  Packer packer_;
  std::vector<Step> steps_;
  bool needs_runs_ = false, needs_evidence_ = false, has_evidence_ = false;
  Sentence now_{};
  std::unordered_map<std::uint64_t, Numbers> known_evidence_;  // (normal form, case) -> features, in this document
  std::unordered_map<const Hole*, std::unordered_map<std::int64_t, Values>> beyond_;
  std::vector<const Values*> chosen_;
  std::string feature_;
  Values place_{""};
};

}  // namespace

PackedFeatures template_features(const Plan& plan, const CharacterTable& characters, const TokenTable& tokens,
                                 std::vector<GivenValues> given, FeatureIndex index) {
  return Extraction(plan, characters, tokens, std::move(given), index).run();
}

}  // namespace casimir::text
