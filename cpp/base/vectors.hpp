// Inner products in one fixed order: a BLAS splits them by its number of threads, and the last bits follow. Sums of two
// vectors in one pass.
#pragma once

#include <cstdint>
#include <utility>

namespace casimir {

double dot(const double* a, const double* b, std::int64_t size);

/// (<g, g>, <g, y>) of g = a x + b y, without memory for g.
std::pair<double, double> products_of_sum(double a, const double* x, double b, const double* y, std::int64_t size);

/// out = a x + b y; out may be x or y.
void combine(double a, const double* x, double b, const double* y, std::int64_t size, double* out);

}  // namespace casimir
