// casimir_tests LEVEL [NAME ...] runs all tests, or those named. LEVEL is the instruction set level that they were
// compiled for. Built for any CPU.
#include <cstdio>
#include <exception>
#include <string_view>

#include "level.hpp"
#include "testing.hpp"

namespace {

struct Test {
  const char* name;
  void (*run)();
};

constexpr Test kTests[] = {{"simplex", test_simplex},
                           {"products", test_products},
                           {"chunk memory", test_chunk_memory},
                           {"lanes", test_lanes},
                           {"interval_heap", test_interval_heap},
                           {"chain", test_chain},
                           {"chain_spans", test_chain_spans},
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

/// Whether the test is named, or none is.
bool is_wanted(const Test& test, int argc, char** argv) {
  for (int k = 2; k < argc; ++k)
    if (std::string_view(argv[k]) == test.name) return true;
  return argc <= 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (!testing::runs_here(argc > 1 ? argv[1] : "v1")) {
    std::puts("skipped: this CPU does not run the level");
    return testing::kSkipped;
  }
  int failed = 0;
  for (const Test& test : kTests) {
    if (!is_wanted(test, argc, argv)) continue;
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
