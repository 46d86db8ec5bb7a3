#include "casimir/simplex.hpp"

#include "bind.hpp"

void bind_simplex(nb::module_& m) {
  m.def(
      "project_simplex",
      [](InArray<double, nb::ndim<1>> z) {
        std::vector<double> u(z.data(), z.data() + z.size());
        {
          nb::gil_scoped_release release;
          casimir::project_simplex(u.data(), u.size());
        }
        const size_t size = u.size();
        return make_array(std::move(u), {size});
      },
      nb::arg("z").noconvert(), "Euclidean projection of z (float64[m]) onto the simplex.");
}
