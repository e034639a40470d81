// What accesses may touch whose address is an expression of which no object is known: a pointer that was read
// (policy paths), or one of several that a condition chooses (CLAP section 5).
//
// Such an access can be carried out once its address is known; but only if all that lies there is known then,
// which takes that all accesses of these objects are events. So: from the address, through what was written
// where it was read, to all objects whose addresses come up. More than can be touched does no harm. Less would:
// where a pointer may come from something unknown, the list is not complete. Pointers may also lead to memory
// of libraries, of which nothing is known.
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
  // What is known of memory.
  struct Memory {
    std::function<std::vector<TargetObject>(uint64_t)> objects_at;  // at an address, one after another
    std::function<uint64_t(uint64_t)> initial_word;                 // eight bytes that the program began with
    std::function<bool(uint64_t)> is_elsewhere;  // an address of memory, but in none of the program's objects
    std::function<bool(uint32_t)> is_garbage;    // approximations that are values of memory which nobody wrote
  };
  PointerTargets(std::span<const ThreadTrace* const> threads, Memory memory)
      : threads_(threads), around_(std::move(memory)) {}

  // By address, with their sizes.
  std::map<uint64_t, uint64_t> find();
  bool is_complete() const { return complete_; }
  const std::set<uint64_t>& elsewhere() const { return elsewhere_; }  // addresses

 private:
  void follow(uint32_t thread, Expr e);
  void follow_address(uint64_t address);
  void follow_memory(uint64_t begin, uint64_t size);

  std::span<const ThreadTrace* const> threads_;
  Memory around_;
  bool complete_ = true;
  std::set<uint64_t> elsewhere_;
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
