// What calls that led outside gave, of which a trace says nothing: results that the effects table or the way
// behind the call tells, places of new blocks, what keys of threads hold, bytes of inputs that were kept.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <optional>
#include <vector>

#include "program/record_plan.h"
#include "pt/input_reader.h"
#include "pt/thread_values.h"
#include "recording/path_source.h"

namespace heddle {

// Of one telling of a thread.
class CallResults {
 public:
  // `values`: null if nobody asks for more than the way. `heap`: where new blocks get their places.
  CallResults(CallValues* values, InputReader inputs, ThreadValues kept, uint64_t heap, uint64_t thread_pointer)
      : values_(values),
        inputs_(std::move(inputs)),
        kept_(std::move(kept)),
        heap_(heap),
        thread_pointer_(thread_pointer) {}

  // Of a call that is about to be made or to come back; as CallValues.
  std::optional<uint64_t> argument(const llvm::CallBase& call, unsigned number) const;
  std::optional<uint64_t> settled_argument(const llvm::CallBase& call, unsigned number,
                                           std::optional<uint64_t> value = std::nullopt) const;

  // `behind`: blocks of the call's function that the thread went through next.
  using Blocks = std::vector<const llvm::BasicBlock*>;
  std::optional<uint64_t> result_of(const llvm::CallBase& call, const CallPlan& plan,
                                    llvm::function_ref<Blocks()> behind);
  // How many bytes it wrote, as far as anybody knows.
  uint64_t extent_of(const llvm::CallBase& call, const Extent& extent) const;
  // Of inputs that were kept. `result`: what the call is known to have given.
  std::optional<InputReader::Answer> read_input(const llvm::CallBase& call, const CallPlan& plan,
                                                std::optional<uint64_t> result);

  // Keys of threads. The key that the call made, which may be known; nothing if it made none.
  std::optional<uint64_t> note_key(const llvm::CallBase& call, const CallPlan& plan,
                                   std::optional<uint64_t> key);
  std::optional<uint64_t> destroyed_by(const llvm::Function& function) { return kept_.destroyed_by(function); }

 private:
  uint64_t allocate(const llvm::CallBase& call, const Effects& effects);
  uint64_t place(uint64_t size, uint64_t most);

  CallValues* values_;
  InputReader inputs_;
  ThreadValues kept_;
  uint64_t heap_, thread_pointer_;
};

}  // namespace heddle
