// The memory file that heddle and a controlled program share (abi/control.h), from heddle's side.
//
// Invariant: nothing that decides where heddle reads or writes comes from the shared memory itself; the layout
// is kept here.
#pragma once

#include <cstdint>
#include <optional>

#include "abi/control.h"
#include "base/result.h"
#include "replay/answer.h"
#include "replay/steps.h"

namespace heddle {

// How much fits in. The file is sparse: what is not used takes no memory.
struct ControlCapacity {
  uint64_t steps_in = 1 << 22;
  uint64_t steps_out = 1 << 22;
  uint64_t events = 0;
  uint64_t moves = 0;

  bool holds(const ControlCapacity& other) const {
    return steps_in >= other.steps_in && steps_out >= other.steps_out && events >= other.events &&
           moves >= other.moves;
  }
};

class ControlMemory {
 public:
  static Result<ControlMemory> create(const ControlCapacity& capacity);
  ControlMemory(ControlMemory&& other) noexcept;
  ControlMemory& operator=(ControlMemory&&) = delete;
  ~ControlMemory();

  int file() const { return file_; }
  const ControlCapacity& capacity() const { return capacity_; }
  heddle_control_block& block() { return *block_; }

  // Writes plan and steps and sets the request; does not wake anybody. plan.steps is set here.
  // `server`: who is asked; 0, or a snapshot that was kept until now.
  void ask(heddle_plan plan, const GivenSteps* given, uint32_t server = 0);
  bool answered() const;
  // Waits for the answer, for at most this long.
  void wait(uint32_t milliseconds) const;
  void wake() const;

  enum class Detail { counts, all };  // counts: the lists are left out
  Result<Answer> read(Detail detail) const;

 private:
  ControlMemory(int file, char* base, const ControlCapacity& capacity, const heddle_control_layout& layout);
  template <class T>
  T* at(uint64_t offset) const {
    return reinterpret_cast<T*>(base_ + offset);
  }

  int file_;
  char* base_;
  heddle_control_block* block_;
  ControlCapacity capacity_;
  heddle_control_layout layout_;
  uint32_t request_ = 0;
};

}  // namespace heddle
