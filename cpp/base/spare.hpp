// Scratch memory that outlives a call, so that the next one need not ask the system for it again.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace casimir {

/// Keeps one piece. Calls at the same time get pieces of their own.
class Spare {
 public:
  /// The piece that was kept, always of the same T, or a new one.
  template <class T>
  std::shared_ptr<T> take() {
    const std::lock_guard lock(mutex_);
    if (!kept_) return std::make_shared<T>();
    return std::static_pointer_cast<T>(std::exchange(kept_, nullptr));
  }
  void keep(std::shared_ptr<void> piece) {
    const std::lock_guard lock(mutex_);
    kept_ = std::move(piece);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<void> kept_;
};

}  // namespace casimir
