#include "base/vectors.hpp"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/simplex.hpp"
#include "base/sparse_vector.hpp"
#include "bind.hpp"

namespace {

using casimir::SparseVector;
using Doubles = InArray<double, nb::ndim<1>>;

void check_size(const SparseVector& x, std::size_t size) {
  if (static_cast<std::int64_t>(size) != x.size())
    throw std::invalid_argument("SparseVector needs a vector of its own length.");
}

void bind_sparse_vector(nb::module_& m) {
  nb::class_<SparseVector>(m, "SparseVector", "float64[n] by its numbers other than 0.")
      .def(
          "__init__",
          [](SparseVector* self, Doubles x, int threads) {
            nb::gil_scoped_release release;
            new (self) SparseVector(x.data(), static_cast<std::int64_t>(x.size()), threads);
          },
          nb::arg("x").noconvert(), nb::arg("threads") = 1)
      .def("__len__", &SparseVector::size)
      .def_prop_ro("nbytes", &SparseVector::bytes, "Bytes of memory.")
      .def(
          "write",
          [](const SparseVector& self, InOutArray<double, nb::ndim<1>> out, int threads) {
            check_size(self, out.size());
            nb::gil_scoped_release release;
            self.write(out.data(), threads);
          },
          nb::arg("out").noconvert(), nb::arg("threads") = 1, "out = self.")
      .def(
          "mix",
          [](SparseVector& self, double a, double b, Doubles y, int threads) {
            check_size(self, y.size());
            nb::gil_scoped_release release;
            self.mix(a, b, y.data(), threads);
          },
          nb::arg("a"), nb::arg("b"), nb::arg("y").noconvert(), nb::arg("threads") = 1, "self = a self + b y.")
      .def(
          "add_to",
          [](const SparseVector& self, double a, double b, InOutArray<double, nb::ndim<1>> y, int threads) {
            check_size(self, y.size());
            nb::gil_scoped_release release;
            self.add_to(a, b, y.data(), threads);
          },
          nb::arg("a"), nb::arg("b"), nb::arg("y").noconvert(), nb::arg("threads") = 1, "y = a self + b y.")
      .def(
          "products_of_sum",
          [](const SparseVector& self, double a, double b, Doubles y, int threads) {
            check_size(self, y.size());
            nb::gil_scoped_release release;
            return self.products_of_sum(a, b, y.data(), threads);
          },
          nb::arg("a"), nb::arg("b"), nb::arg("y").noconvert(), nb::arg("threads") = 1,
          "(<g, g>, <g, y>) of g = a self + b y.");
}

}  // namespace

void bind_vectors(nb::module_& m) {
  bind_sparse_vector(m);
  m.def(
      "dot",
      [](InArray<double, nb::ndim<1>> a, InArray<double, nb::ndim<1>> b) {
        if (a.size() != b.size()) throw std::invalid_argument("dot needs two vectors of one length.");
        nb::gil_scoped_release release;
        return casimir::dot(a.data(), b.data(), static_cast<std::int64_t>(a.size()));
      },
      nb::arg("a").noconvert(), nb::arg("b").noconvert(), "<a, b> of float64[d], summed in a fixed order.");
  m.def(
      "products_of_sum",
      [](double a, InArray<double, nb::ndim<1>> x, double b, InArray<double, nb::ndim<1>> y) {
        if (x.size() != y.size()) throw std::invalid_argument("products_of_sum needs two vectors of one length.");
        nb::gil_scoped_release release;
        return casimir::products_of_sum(a, x.data(), b, y.data(), static_cast<std::int64_t>(x.size()));
      },
      nb::arg("a"), nb::arg("x").noconvert(), nb::arg("b"), nb::arg("y").noconvert(),
      "(<g, g>, <g, y>) of g = a x + b y, summed in a fixed order, without memory for g.");
  m.def(
      "release_memory",
      [] {
#ifdef __GLIBC__
        malloc_trim(0);
#endif
      },
      nb::call_guard<nb::gil_scoped_release>(),
      "Gives memory that was freed back to the system, where the C library can.");
  m.def(
      "combine",
      [](double a, InArray<double, nb::ndim<1>> x, double b, InArray<double, nb::ndim<1>> y,
         InOutArray<double, nb::ndim<1>> out) {
        if (x.size() != y.size() || x.size() != out.size())
          throw std::invalid_argument("combine needs three vectors of one length.");
        nb::gil_scoped_release release;
        casimir::combine(a, x.data(), b, y.data(), static_cast<std::int64_t>(out.size()), out.data());
      },
      nb::arg("a"), nb::arg("x").noconvert(), nb::arg("b"), nb::arg("y").noconvert(), nb::arg("out").noconvert(),
      "out = a x + b y; out may be x or y.");
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
