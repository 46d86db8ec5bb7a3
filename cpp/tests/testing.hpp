// Checks, random numbers and the list of tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace testing {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where a check stands; std::source_location is not there with every Clang that builds the core.
struct Place {
  const char* file;
  int line;
  static constexpr Place current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

[[noreturn]] inline void fail(const std::string& what, const Place& place) {
  throw Failure(std::string(place.file) + ":" + std::to_string(place.line) + ": " + what);
}

inline void check(bool holds, const Place& place = Place::current()) {
  if (!holds) fail("the condition does not hold", place);
}

template <class Call>
void check_refused(Call&& call, const Place& place = Place::current()) {
  try {
    call();
  } catch (const std::invalid_argument&) {
    return;
  }
  fail("std::invalid_argument was not thrown", place);
}

inline void check_equal(std::int64_t actual, std::int64_t expected, const Place& place = Place::current()) {
  if (actual != expected) fail(std::to_string(actual) + " instead of " + std::to_string(expected), place);
}

/// |actual - expected| <= tolerance (1 + |expected|)
inline void check_close(double actual, double expected, double tolerance, const Place& place = Place::current()) {
  if (!(std::abs(actual - expected) <= tolerance * (1.0 + std::abs(expected))))
    fail(std::to_string(actual) + " instead of " + std::to_string(expected) + ", off by " +
             std::to_string((actual - expected) / tolerance) + " tolerances",
         place);
}

/// SplitMix64: the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n)); }
  double uniform(double low, double high) { return low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53; }
  std::vector<double> uniforms(std::int64_t count, double low, double high) {
    std::vector<double> x(static_cast<std::size_t>(count));
    for (double& value : x) value = uniform(low, high);
    return x;
  }
  std::vector<std::int64_t> permutation(std::int64_t n) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    for (std::int64_t i = n - 1; i > 0; --i)
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(below(i + 1))]);
    return order;
  }

 private:
  std::uint64_t state_;
};

inline double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] * y[j];
  return sum;
}

}  // namespace testing

void test_simplex();
void test_chunk_memory();
void test_lanes();
void test_interval_heap();
void test_chain();
void test_chain_spans();
void test_linear_chain();
void test_candidates();
void test_classes();
void test_labels();
void test_fixed_rows();
void test_stretch();
void test_epochs();
void test_dual();
void test_maxflow();
void test_products();
void test_box_search();
void test_matching();
void test_junction();
void test_tree();
void test_text();
