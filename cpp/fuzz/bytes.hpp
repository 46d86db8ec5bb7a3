// The input of a fuzzer read as choices: small numbers, scores, texts. Behind its end everything is 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace fuzz {

/// What scores are made of; with whole ones sums are exact, so that ties are ties.
enum class Scores { whole, fractions, any };

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : text_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return text_.empty(); }

  std::uint8_t byte() {
    if (text_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(text_.front());
    text_.remove_prefix(1);
    return first;
  }

  bool flag() { return byte() & 1; }

  /// low, ..., high; of a byte.
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + byte() % (high - low + 1); }

  /// Any eight bytes.
  template <class T>
  T raw() {
    char bytes[sizeof(T)] = {};
    const std::size_t size = std::min(sizeof(T), text_.size());
    std::memcpy(bytes, text_.data(), size);
    text_.remove_prefix(size);
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
  }

  Scores kind_of_scores() { return static_cast<Scores>(between(0, 2)); }

  /// A finite score; of kind `any` 0 or between 1e-100 and 1e100 in size.
  double score(Scores kind) {
    if (kind == Scores::whole) return static_cast<double>(between(-3, 3));
    if (kind == Scores::fractions) return raw<std::int16_t>() / 1000.0;
    const auto value = raw<double>();
    return std::abs(value) >= 1e-100 && std::abs(value) <= 1e100 ? value : 0.0;
  }

  std::vector<double> scores(std::int64_t count, Scores kind) {
    std::vector<double> found(static_cast<std::size_t>(count));
    for (double& value : found) value = score(kind);
    return found;
  }

  /// All that is left.
  std::string_view rest() {
    const std::string_view found = text_;
    text_ = {};
    return found;
  }

  /// At most so many of the bytes that are left.
  std::string_view text(std::size_t most) {
    const std::string_view found = text_.substr(0, most);
    text_.remove_prefix(found.size());
    return found;
  }

 private:
  std::string_view text_;
};

}  // namespace fuzz
