#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "base/chunk_memory.hpp"
#include "problem.hpp"
#include "solve/sharded_problem.hpp"

namespace {

/// more(bytes) -> uint8[bytes], writable. Python is asked under the GIL, whoever needs the memory.
void make_memory(casimir::ChunkMemory* self, nb::callable more) {
  new (self) casimir::ChunkMemory([more = std::move(more)](std::size_t bytes) {
    const nb::gil_scoped_acquire acquire;
    const auto given = nb::cast<InOutArray<std::uint8_t, nb::ndim<1>>>(more(bytes), false);
    if (given.size() < bytes) throw std::invalid_argument("there is less memory than was asked for.");
    return reinterpret_cast<std::byte*>(given.data());
  });
}

/// enter(shard, following or None)
void make_problem(casimir::ShardedProblem* self, std::vector<casimir::Problem*> shards, nb::callable enter) {
  auto entered = [enter = std::move(enter)](std::size_t shard, std::optional<std::size_t> following) {
    const nb::gil_scoped_acquire acquire;
    enter(shard, following);
  };
  new (self) casimir::ShardedProblem(std::move(shards), std::move(entered));
}

}  // namespace

void bind_shards(nb::module_& m) {
  nb::class_<casimir::ChunkMemory>(m, "ChunkMemory", "Memory of dual variables in chunks that `more(bytes)` gives.")
      .def("__init__", &make_memory, nb::arg("more"))
      .def_prop_ro("size", &casimir::ChunkMemory::size);
  nb::class_<casimir::ShardedProblem, casimir::Problem>(m, "ShardedProblem", "Problems of the same weights as one.")
      .def("__init__", &make_problem, nb::arg("shards"), nb::arg("enter"), nb::keep_alive<1, 2>());
}
