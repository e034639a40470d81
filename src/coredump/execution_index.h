// The execution index of a point of a thread (Weeratunge, Zhang, Jagannathan, ASPLOS 2010, section 3): which of
// all the times that the program came to an instruction, named by the nesting of calls, loops and branches, so
// that it can be found in another run.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coredump/function_regions.h"

namespace heddle {

// Regions of the program's functions, made when asked for.
class ProgramRegions {
 public:
  explicit ProgramRegions(const Program& program) : program_(program) {}
  const Program& program() const { return program_; }
  const FunctionRegions& of(FunctionId function) const;
  uint32_t block_of(InstructionId instruction) const;  // its block's number in its function
  // Code that heddle put in place of a library's: not in the executable that left the core.
  bool is_library_model(FunctionId function) const;

 private:
  const Program& program_;
  mutable std::map<uint32_t, std::unique_ptr<FunctionRegions>> regions_;
  mutable std::map<uint32_t, bool> models_;
};

struct IndexFrame {
  FunctionId function;
  std::optional<InstructionId>
      at;  // the call that led further, at last where the thread stands; nothing: not known
  // A library model stands in the place of the call, from `at` to this; the thread is somewhere in it.
  std::optional<InstructionId> until;
  // Of the loops around it, outermost first: how often the header has been entered; nothing: not known.
  std::vector<std::optional<uint64_t>> counts;
};

struct ExecutionIndex {
  std::vector<IndexFrame> frames;  // outermost first
};

// One entry of the index as the paper writes it.
struct IndexEntry {
  enum class Kind : uint8_t { function, loop, branch, either, merged, statement };
  Kind kind = Kind::function;
  FunctionId function;
  std::optional<InstructionId>
      at;                         // branch, either, merged: the predicate; loop: the header's first instruction
  uint32_t successor = 0;         // branch: number of the block that it went to
  std::optional<uint64_t> count;  // loop
};
std::vector<IndexEntry> index_entries(const ExecutionIndex& index, const ProgramRegions& regions);
// For people: "worker -> loop at a.c:12 (3 times) -> branch at a.c:14 -> a.c:15".
std::string index_text(const ExecutionIndex& index, const ProgramRegions& regions);
// In the paper's measure: a loop of n iterations counts n.
uint64_t index_length(const ExecutionIndex& index, const ProgramRegions& regions);

}  // namespace heddle
