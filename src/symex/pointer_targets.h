// What accesses may touch whose address is an expression of which no object is known: a pointer that was read
// (policy paths), or one of several that a condition chooses (CLAP section 5).
//
// Such an access can be carried out once its address is known; but only if all that lies there is known then,
// which takes that all accesses of these objects are events. So: from the address, through what was written
// where it was read, to all objects whose addresses come up. More than can be touched does no harm.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "trace/trace.h"

namespace heddle {

struct TargetObject {
  uint64_t begin = 0, size = 0;  // 0: there is none
};

class PointerTargets {
 public:
  // `object_at`: what lies at an address. `initial_word`: eight bytes that the program began with.
  PointerTargets(std::span<const ThreadTrace* const> threads, std::function<TargetObject(uint64_t)> object_at,
                 std::function<uint64_t(uint64_t)> initial_word)
      : threads_(threads), object_at_(std::move(object_at)), initial_word_(std::move(initial_word)) {}

  // By address, with their sizes.
  std::map<uint64_t, uint64_t> find();

 private:
  void follow(uint32_t thread, Expr e);
  void follow_address(uint64_t address);
  void follow_memory(uint64_t begin, uint64_t size);

  std::span<const ThreadTrace* const> threads_;
  std::function<TargetObject(uint64_t)> object_at_;
  std::function<uint64_t(uint64_t)> initial_word_;
  struct Write {  // at an address that is known
    uint64_t address;
    uint32_t size, thread;
    Expr value;
  };
  std::vector<Write> writes_;  // by address
  uint32_t largest_write_ = 0;
  std::map<uint64_t, uint64_t> found_;
  std::set<std::pair<uint64_t, uint64_t>> memory_;  // ranges that were read
  std::vector<std::pair<uint32_t, Expr>> pending_;  // yet to be followed
  std::set<std::pair<uint32_t, uint32_t>> seen_;    // threads and expressions
};

}  // namespace heddle
