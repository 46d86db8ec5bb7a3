// Translation unit of header-only kernels.
#include "casimir/simplex.hpp"
