// One module per instruction set level; CASIMIR_MODULE is its name.
#include "bind.hpp"

NB_MODULE(CASIMIR_MODULE, m) {
  // Objects that a host program keeps alive until exit are no leak of ours, and a library does not print.
  nb::set_leak_warnings(false);
  bind_pack(m);
  bind_text(m);
  bind_columns(m);
  bind_vectors(m);
  bind_chain(m);
  bind_graph_cut(m);
  bind_tree(m);
  bind_epochs(m);
  bind_dual(m);
  bind_linear_chain(m);
  bind_linear_tree(m);
  bind_linear_candidates(m);
  bind_linear_classes(m);
  bind_linear_labels(m);
  bind_linear_parts(m);
  bind_box_search(m);
  bind_junction(m);
  bind_matching(m);
  bind_shards(m);
}
