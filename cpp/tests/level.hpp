// Whether this CPU runs what was compiled for an instruction set level. Included by what is built for any CPU.
#pragma once

#include <cstring>

namespace testing {

/// What a program of tests returns where it cannot run.
constexpr int kSkipped = 77;

inline bool runs_here(const char* level) {
#if defined(__x86_64__) && !defined(_WIN32)
  __builtin_cpu_init();
  if (!std::strcmp(level, "v3")) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!std::strcmp(level, "v4")) return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
#endif
  return !std::strcmp(level, "v1");
}

}  // namespace testing
