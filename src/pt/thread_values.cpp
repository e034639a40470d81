#include "pt/thread_values.h"

#include <utility>

namespace heddle {

void ThreadKeys::add(uint64_t key, const llvm::Function* destructor) {
  const std::lock_guard lock(mutex_);
  destructors_[key] = destructor;
}

bool ThreadKeys::knows(uint64_t key) const {
  const std::lock_guard lock(mutex_);
  return destructors_.contains(key);
}

bool ThreadKeys::destroys(const llvm::Function& function, uint64_t key) const {
  const std::lock_guard lock(mutex_);
  const auto found = destructors_.find(key);
  return found != destructors_.end() && found->second == &function;
}

uint64_t ThreadValues::create(const llvm::Function* destructor, std::optional<uint64_t> key) {
  const uint64_t made = key ? *key : next_key_++;
  keys_.add(made, destructor);
  return made;
}

void ThreadValues::set(std::optional<uint64_t> key, std::optional<uint64_t> value) {
  if (key)
    values_[*key] = value;
  else
    lost_ = true;
}

std::optional<uint64_t> ThreadValues::get(std::optional<uint64_t> key) const {
  if (!key || lost_ || !keys_.knows(*key)) return std::nullopt;
  const auto found = values_.find(*key);
  return found != values_.end() ? found->second : 0;  // nothing was kept
}

std::optional<uint64_t> ThreadValues::destroyed_by(const llvm::Function& function) {
  if (lost_) return std::nullopt;
  for (auto& [key, value] : values_)
    if (value && *value != 0 && keys_.destroys(function, key)) return std::exchange(*value, 0);
  return std::nullopt;
}

}  // namespace heddle
