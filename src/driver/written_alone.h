// What only one thread of a run writes, once it is created: from the values there can be told how far it had
// come in a core, where its place alone does not tell the iteration. Of several threads that do the same,
// another one may have done in the core what this one did in the run; so only what each of them does to memory
// of its own counts: the same instruction writes elsewhere in another of them.
#pragma once

#include <map>
#include <vector>

#include "abi/control.h"
#include "coredump/dump_compare.h"

namespace heddle {

class WrittenAlone {
 public:
  // Of these variables; pointers are left out, their values differ anyway.
  WrittenAlone(const std::vector<heddle_event>& events, const std::vector<heddle_thread_entry>& created,
               uint32_t thread, const std::vector<MemoryDifference>& variables);

  // How many do not have the core's value when the thread has performed so many events.
  size_t different(uint64_t events) const;

 private:
  struct Write {
    uint64_t number, value;  // among the thread's events, from 1; 0: what was there before
  };
  struct Variable {
    uint64_t core = 0, mask = 0;
    uint32_t site = 0;  // an instruction that writes it
    std::vector<Write> writes;
  };
  std::map<uint64_t, Variable> variables_;  // by address
};

}  // namespace heddle
