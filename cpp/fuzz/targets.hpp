// What the fuzzers call: each takes any bytes, and throws (or crashes) only where the core is wrong.
#pragma once

#include "fuzz/bytes.hpp"

namespace fuzz {

void boxes(Bytes input);
void chain(Bytes input);
void columns(Bytes input);
void cut(Bytes input);
void junction(Bytes input);
void matching(Bytes input);
void potentials(Bytes input);
void simplex(Bytes input);
void states(Bytes input);
void templates(Bytes input);
void tree(Bytes input);
void vocabulary(Bytes input);

struct Target {
  const char* name;
  void (*run)(Bytes);
};

inline constexpr Target kTargets[] = {{"boxes", boxes},
                                      {"chain", chain},
                                      {"columns", columns},
                                      {"cut", cut},
                                      {"junction", junction},
                                      {"matching", matching},
                                      {"potentials", potentials},
                                      {"simplex", simplex},
                                      {"states", states},
                                      {"templates", templates},
                                      {"tree", tree},
                                      {"vocabulary", vocabulary}};

}  // namespace fuzz
