#include <cstdlib>
#include <memory>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/dot.hpp"
#include "base/simplex.hpp"
#include "bind.hpp"

namespace {

/// Python's objects are not aligned as vector registers want it, so the sums live on the heap.
class RunningDot {
 public:
  void add(InArray<double, nb::ndim<1>> a, InArray<double, nb::ndim<1>> b) {
    if (a.size() != b.size()) throw std::invalid_argument("dot needs two vectors of one length.");
    if (is_over_) throw std::invalid_argument("only the last block may have another length than a multiple of 32.");
    is_over_ = a.size() % 32 != 0;
    sum_->add(a.data(), b.data(), static_cast<std::int64_t>(a.size()));
  }
  double value() const { return sum_->value(); }

 private:
  std::unique_ptr<casimir::RunningDot> sum_ = std::make_unique<casimir::RunningDot>();
  bool is_over_ = false;
};

}  // namespace

void bind_vectors(nb::module_& m) {
  m.def(
      "dot",
      [](InArray<double, nb::ndim<1>> a, InArray<double, nb::ndim<1>> b) {
        if (a.size() != b.size()) throw std::invalid_argument("dot needs two vectors of one length.");
        nb::gil_scoped_release release;
        return casimir::dot(a.data(), b.data(), static_cast<std::int64_t>(a.size()));
      },
      nb::arg("a").noconvert(), nb::arg("b").noconvert(), "<a, b> of float64[d], summed in a fixed order.");
  nb::class_<RunningDot>(m, "RunningDot", "<a, b> of vectors that come block by block, with the bits of `dot`.")
      .def(nb::init<>())
      .def("add", &RunningDot::add, nb::arg("a").noconvert(), nb::arg("b").noconvert(),
           "All blocks but the last have a multiple of 32 numbers.")
      .def_prop_ro("value", &RunningDot::value);
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
