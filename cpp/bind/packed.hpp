// Packed features as Python gets them.
#pragma once

#include <utility>

#include "bind.hpp"
#include "features/packer.hpp"

/// (offsets, indptr, indices, values or None)
inline nb::tuple packed_tuple(casimir::PackedFeatures&& packed) {
  const std::size_t n = packed.offsets.size(), tokens = packed.indptr.size(), nnz = packed.indices.size();
  nb::object values = packed.weighted ? make_frozen_array(std::move(packed.values), {nnz}) : nb::none();
  return nb::make_tuple(make_frozen_array(std::move(packed.offsets), {n}),
                        make_frozen_array(std::move(packed.indptr), {tokens}),
                        make_frozen_array(std::move(packed.indices), {nnz}), values);
}
