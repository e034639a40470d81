// Thread-specific data (pthread_setspecific): what a thread kept under a key, it gets back, and so does the
// key's destructor when the thread ends. Keys get numbers of their own.
#pragma once

#include <llvm/IR/Function.h>

#include <map>
#include <mutex>
#include <optional>

namespace heddle {

// Of all threads.
class ThreadKeys {
 public:
  void add(uint64_t key, const llvm::Function* destructor);  // null: there is none
  bool knows(uint64_t key) const;
  bool destroys(const llvm::Function& function, uint64_t key) const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, const llvm::Function*> destructors_;
};

class ThreadValues {
 public:
  ThreadValues(ThreadKeys& keys, size_t thread) : keys_(keys), next_key_(1 + thread * 256) {}

  // `key`: what it was, if that is known.
  uint64_t create(const llvm::Function* destructor, std::optional<uint64_t> key = std::nullopt);
  void set(std::optional<uint64_t> key, std::optional<uint64_t> value);
  std::optional<uint64_t> get(std::optional<uint64_t> key) const;
  // The thread ends, and this function is called from outside: what it is called with.
  std::optional<uint64_t> destroyed_by(const llvm::Function& function);

 private:
  ThreadKeys& keys_;
  uint64_t next_key_;
  std::map<uint64_t, std::optional<uint64_t>> values_;
  bool lost_ = false;  // some key was set, nobody knows which
};

}  // namespace heddle
