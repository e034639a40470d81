// Names of memory locations that are the same in every run of one program, for the flushes of PSO schedules.
//
// Addresses would do while the layout is deterministic, but the solver that makes a schedule from a recording
// and the controlled run that replays it have different layouts. So a location is named by what is there:
//
//   global:NAME+OFFSET               a global variable, by its name in the canonical program
//   tls:THREAD/NAME+OFFSET           a thread-local variable, the copy of that thread
//   heap:THREAD/K+OFFSET             the K-th block (from 0) that the thread took from the heap
//   map:THREAD/K+OFFSET              the K-th mapping the thread made
//   stack:THREAD/DEPTH/K+OFFSET      the K-th local object (alloca, in the order of execution) of the frame at
//   DEPTH
//                                    on the thread's stack; 0 is the frame of the start function
//   address:0xHEX                    anything else (memory of libraries): only good for one layout
//
// OFFSET counts bytes and is the byte at which the store begins. THREAD is the thread that owns or allocated
// the memory, which need not be the one that stores. The name is the one at the time of the store: memory that
// has been freed and allocated again since then has another.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "schedule/thread_name.h"

namespace heddle {

struct Location {
  enum class Kind : uint8_t { global, tls, heap, map, stack, address };

  Kind kind = Kind::global;
  ThreadName thread;    // all but global and address
  std::string name;     // global, tls; not empty
  uint64_t frame = 0;   // stack: depth
  uint64_t index = 0;   // heap, map, stack: K
  uint64_t offset = 0;  // address: the address

  static Location global(std::string name, uint64_t offset);
  static Location tls(ThreadName thread, std::string name, uint64_t offset);
  static Location heap(ThreadName thread, uint64_t block, uint64_t offset);
  static Location map(ThreadName thread, uint64_t mapping, uint64_t offset);
  static Location stack(ThreadName thread, uint64_t frame, uint64_t object, uint64_t offset);
  static Location address(uint64_t address);

  static Result<Location> parse(std::string_view text);
  std::string text() const;
  bool has_thread() const { return kind != Kind::global && kind != Kind::address; }

  friend auto operator<=>(const Location&, const Location&) = default;
};

}  // namespace heddle
