#include "base/team.hpp"

#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <signal.h>
#define CASIMIR_HAS_FORK
#endif

namespace casimir {
namespace {

constexpr int kMost = 256;      // threads
constexpr int kSpins = 1 << 9;  // looks before a thread sleeps, some 10 us: waking it takes longer than a short wait

void rest() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// The value once it differs from `last`.
template <class T>
T changed(const std::atomic<T>& value, T last) {
  for (int spin = 0; spin < kSpins; ++spin) {
    const T now = value.load(std::memory_order_acquire);
    if (now != last) return now;
    rest();
  }
  value.wait(last, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

class Team {
 public:
  bool run(int workers, void (*call)(void*, int), void* context) {
    if (workers > kMost || busy_.test_and_set(std::memory_order_acquire)) return false;
    const bool is_there = grow(workers);
    if (is_there) {
      call_ = call, context_ = context;
      left_.store(workers, std::memory_order_relaxed);
      open_.store(turn_of(open_.load(std::memory_order_relaxed)) + kTurn + static_cast<std::uint64_t>(workers) * kOne,
                  std::memory_order_release);
      round_.fetch_add(1, std::memory_order_release);
      round_.notify_all();
      take_shares();
      for (int left = left_.load(std::memory_order_acquire); left != 0;) left = changed(left_, left);
    }
    busy_.clear(std::memory_order_release);
    return is_there;
  }

 private:
  // What is open: the number of the turn, its shares, and how many of these are taken.
  static constexpr std::uint64_t kOne = 1u << 10, kTurn = kOne << 10;
  static std::uint64_t turn_of(std::uint64_t open) { return open / kTurn * kTurn; }

  /// Takes shares of the open turn as long as there are any: nobody waits for a thread that has not begun.
  void take_shares() {
    std::uint64_t open = open_.load(std::memory_order_acquire);
    while (open % kOne < open % kTurn / kOne) {
      if (!open_.compare_exchange_weak(open, open + 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      call_(context_, static_cast<int>(open % kOne));
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
      open = open_.load(std::memory_order_acquire);
    }
  }

  void work(std::uint32_t round) {
    while (true) {
      round = changed(round_, round);
      take_shares();
    }
  }

  bool grow(int workers) {
#ifdef CASIMIR_HAS_FORK
    sigset_t all, own;  // signals are for the threads of the program
    if (size_ < workers) {
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &own);
    }
    const bool is_masked = size_ < workers;
#endif
    try {
      while (size_ < workers) {
        std::thread(&Team::work, this, round_.load(std::memory_order_relaxed)).detach();
        ++size_;
      }
    } catch (const std::system_error&) {  // the system has no more threads to give
    }
#ifdef CASIMIR_HAS_FORK
    if (is_masked) pthread_sigmask(SIG_SETMASK, &own, nullptr);
#endif
    return size_ >= workers;
  }

  std::atomic_flag busy_;
  std::atomic<std::uint32_t> round_{0};
  std::atomic<std::uint64_t> open_{0};
  std::atomic<int> left_{0};  // shares that are not done
  int size_ = 1;              // threads, the caller's among them
  void (*call_)(void*, int) = nullptr;
  void* context_ = nullptr;
};

Team* g_team = nullptr;  // never deleted: its threads wait until the process ends

/// A forked child has none of its parent's threads.
void renew() { g_team = new Team; }

Team& team() {
  static const bool is_made = [] {
    renew();
#ifdef CASIMIR_HAS_FORK
    pthread_atfork(nullptr, nullptr, renew);
#endif
    return true;
  }();
  static_cast<void>(is_made);
  return *g_team;
}

}  // namespace

bool run_on_team(int workers, void (*call)(void* context, int worker), void* context) {
  return team().run(workers, call, context);
}

}  // namespace casimir
