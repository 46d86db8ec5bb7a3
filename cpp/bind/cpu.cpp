// Which compiled core this CPU can run. Kept apart from the core modules: it must run on every machine.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace {

const char* best_level() {
#if defined(__x86_64__) && !defined(_WIN32)  // on Windows v1 alone is built
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? "v4" : v3 ? "v3" : "v1";
#else
  return "v1";
#endif
}

}  // namespace

NB_MODULE(_cpu, m) { m.def("best_level", &best_level, "Best x86-64 level of this CPU: 'v1', 'v3' or 'v4'."); }
