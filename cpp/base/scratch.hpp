// Memory for numbers that are written before they are read: it is not cleared first, as that of a vector is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

namespace casimir {

class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch& other) { *this = other; }
  Scratch& operator=(const Scratch& other) {
    if (this == &other) return *this;
    make_room(other.size_);
    std::copy_n(other.cells_.get(), other.size_, cells_.get());
    return *this;
  }
  Scratch(Scratch&&) = default;
  Scratch& operator=(Scratch&&) = default;

  /// Room for `size` numbers; what they were is lost where there was less.
  void make_room(std::size_t size) {
    if (size <= size_) return;
    cells_ = std::unique_ptr<double[]>(new double[size]);
    size_ = size;
  }
  double* data() { return cells_.get(); }
  const double* data() const { return cells_.get(); }

 private:
  std::size_t size_ = 0;
  std::unique_ptr<double[]> cells_;
};

}  // namespace casimir
