// Runs the targets of the fuzzers without a fuzzer: on the inputs of a folder, and on variations of them that are the
// same every time. Built for any CPU. `replay LEVEL FOLDER [VARIATIONS]`; FOLDER/TARGET.txt has an input per line, in
// hexadecimal digits, and comments after #.
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "fuzz/targets.hpp"
#include "tests/level.hpp"
#include "tests/testing.hpp"

namespace {

using Input = std::vector<std::uint8_t>;

std::vector<Input> inputs_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<Input> found;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    Input input;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2)
      input.push_back(static_cast<std::uint8_t>(std::stoul(line.substr(i, 2), nullptr, 16)));
    found.push_back(input);
  }
  return found;
}

/// A few bytes of the input are others, are missing, or come from another input.
Input varied(const std::vector<Input>& inputs, testing::Random& random) {
  const auto any = [&]() -> const Input& {
    return inputs[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(inputs.size())))];
  };
  Input made = any();
  for (std::int64_t change = 1 + random.below(6); change > 0; --change) {
    const auto place = random.below(static_cast<std::int64_t>(made.size()) + 1);
    const Input& other = any();
    if (random.below(8) == 0)
      made.resize(static_cast<std::size_t>(place));
    else if (random.below(8) == 0 && made.size() < 2000)
      made.insert(made.begin() + place, other.begin(), other.end());
    else if (place < static_cast<std::int64_t>(made.size()))
      made[static_cast<std::size_t>(place)] = static_cast<std::uint8_t>(random.below(256));
  }
  return made;
}

std::string digits_of(const Input& input) {
  std::string found;
  for (const std::uint8_t byte : input) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    found += two;
  }
  return found;
}

bool passes(const fuzz::Target& target, const Input& input) {
  try {
    target.run({input.data(), input.size()});
    return true;
  } catch (const std::exception& error) {
    std::printf("FAILED  %s: %s\n        %s\n", target.name, error.what(), digits_of(input).c_str());
    return false;
  }
}

bool replay(const fuzz::Target& target, const std::string& folder, int variations) {
  const std::vector<Input> inputs = inputs_of(folder + "/" + target.name + ".txt");
  for (const Input& input : inputs)
    if (!passes(target, input)) return false;
  testing::Random random(1);
  for (int k = 0; k < variations; ++k)
    if (!passes(target, varied(inputs, random))) return false;
  std::printf("ok      %s: %zu inputs, %d variations\n", target.name, inputs.size(), variations);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::puts("replay LEVEL FOLDER [VARIATIONS]"), 2;
  if (!testing::runs_here(argv[1])) {
    std::puts("skipped: this CPU does not run the level");
    return testing::kSkipped;
  }
  int failed = 0;
  for (const fuzz::Target& target : fuzz::kTargets)
    failed += !replay(target, argv[2], argc > 3 ? std::stoi(argv[3]) : 0);
  return failed ? 1 : 0;
}
