// A fuzzer of one target: CASIMIR_FUZZ_TARGET is its name.
#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::CASIMIR_FUZZ_TARGET({data, size});  // what it throws ends the fuzzer, which writes the input to a file
  return 0;
}
