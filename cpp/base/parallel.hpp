// Static chunks over examples. What is computed never depends on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/team.hpp"

namespace casimir {

/// Calls body(begin, end, worker) on `threads` chunks of [0, n); the first exception is rethrown here.
template <class Body>
void parallel_chunks(std::int64_t n, int threads, Body&& body) {
  const std::int64_t workers = std::max<std::int64_t>(1, std::min<std::int64_t>(threads, n));
  if (workers == 1) {
    body(std::int64_t{0}, n, 0);
    return;
  }
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(workers));
  const auto run = [&](std::int64_t t) {
    try {
      body(n * t / workers, n * (t + 1) / workers, static_cast<int>(t));
    } catch (...) {
      errors[static_cast<std::size_t>(t)] = std::current_exception();
    }
  };
  const auto call = [](void* context, int worker) { (*static_cast<decltype(&run)>(context))(worker); };
  if (!run_on_team(static_cast<int>(workers), call, const_cast<void*>(static_cast<const void*>(&run)))) {
    std::vector<std::thread> pool;
    pool.reserve(static_cast<std::size_t>(workers));
    for (std::int64_t t = 0; t < workers; ++t) {
      try {
        pool.emplace_back(run, t);
      } catch (const std::system_error&) {  // the system has no more threads to give
        run(t);
      }
    }
    for (auto& thread : pool) thread.join();
  }
  for (auto& error : errors)
    if (error) std::rethrow_exception(error);
}

/// Calls body(begin, end, out) on chunks as above, and appends what they leave in `out` to each other, in order.
template <class Result, class Body>
Result joined_chunks(std::int64_t n, int threads, Body&& body) {
  const std::int64_t most = std::max<std::int64_t>(n, 1);  // whatever number of threads is asked for
  std::vector<Result> parts(static_cast<std::size_t>(std::clamp<std::int64_t>(threads, 1, most)));
  parallel_chunks(n, threads, [&](std::int64_t begin, std::int64_t end, int worker) {
    body(begin, end, parts[static_cast<std::size_t>(worker)]);
  });
  Result all = std::move(parts[0]);
  for (std::size_t part = 1; part < parts.size(); ++part) all.append(parts[part]);
  return all;
}

/// all <- all, part
template <class T>
void append(std::vector<T>& all, const std::vector<T>& part) {
  all.insert(all.end(), part.begin(), part.end());
}

}  // namespace casimir
