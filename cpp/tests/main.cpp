// Runs all tests; the argument is the instruction set level that they were compiled for. Built for any CPU.
#include <cstdio>
#include <cstring>
#include <exception>

#include "testing.hpp"

namespace {

constexpr int kSkipped = 77;

bool runs_here(const char* level) {
#if defined(__x86_64__) && !defined(_WIN32)
  __builtin_cpu_init();
  if (!std::strcmp(level, "v3")) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!std::strcmp(level, "v4")) return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
#endif
  return !std::strcmp(level, "v1");
}

struct Test {
  const char* name;
  void (*run)();
};

constexpr Test kTests[] = {{"simplex", test_simplex},
                           {"chunk memory", test_chunk_memory},
                           {"lanes", test_lanes},
                           {"interval_heap", test_interval_heap},
                           {"chain", test_chain},
                           {"linear_chain", test_linear_chain},
                           {"candidates", test_candidates},
                           {"classes", test_classes},
                           {"labels", test_labels},
                           {"fixed_rows", test_fixed_rows},
                           {"stretch", test_stretch},
                           {"epochs", test_epochs},
                           {"dual", test_dual},
                           {"maxflow", test_maxflow},
                           {"box_search", test_box_search},
                           {"matching", test_matching},
                           {"junction", test_junction},
                           {"tree", test_tree},
                           {"text", test_text}};

}  // namespace

int main(int argc, char** argv) {
  if (!runs_here(argc > 1 ? argv[1] : "v1")) {
    std::puts("skipped: this CPU does not run the level");
    return kSkipped;
  }
  int failed = 0;
  for (const Test& test : kTests) {
    try {
      test.run();
      std::printf("ok      %s\n", test.name);
    } catch (const std::exception& error) {
      std::printf("FAILED  %s: %s\n", test.name, error.what());
      ++failed;
    }
  }
  return failed ? 1 : 0;
}
