// One module per instruction set level; CASIMIR_MODULE is its name.
#include "bind.hpp"

NB_MODULE(CASIMIR_MODULE, m) {
  bind_pack(m);
  bind_simplex(m);
  bind_chain(m);
}
