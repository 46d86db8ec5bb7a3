// Templates and sentences -> packed features, in the order in which the templates stand.
#pragma once

#include <vector>

#include "features/packer.hpp"
#include "text/characters.hpp"
#include "text/source_values.hpp"
#include "text/template_plan.hpp"
#include "text/token_table.hpp"

namespace casimir::text {

/// given: values from outside, one entry per source of the plan. Documents are spread over threads, unless the index
/// grows; what comes out does not depend on their number.
PackedFeatures template_features(const Plan& plan, const CharacterTable& characters, const TokenTable& tokens,
                                 const std::vector<GivenValues>& given, FeatureIndex index, int threads);

}  // namespace casimir::text
