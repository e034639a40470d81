// What the record variant writes at which place of the program, and so what a reader of the recording finds
// there. The pass (src/instrument/record) and the decoder (src/recording) both work by this plan; it depends on
// nothing but the program, the effects table and the policy.
//
// Path stream: by segments.h, for each function. Data stream, in the order of execution of a thread:
//
// - A function that may be entered otherwise than by direct calls of the program (its address is taken, or
// foreign code may
//   know its name) has an *entry*: HEDDLE_RECORD_enter or HEDDLE_RECORD_enter_from_outside and the arguments
//   that stored_bytes() has a size for, written whenever it is reached so. Direct calls do not write it. Of
//   functions that are handed to libraries only (starts of threads, main) HEDDLE_RECORD_enter is followed by
//   the arguments too, though hardly anybody comes that way: so they are known values (known_values.h).
// - Direct calls of functions of the program write nothing.
// - A *loud* call is one that leaves the program and about which something must be told:
//     before it:  HEDDLE_RECORD_sync, if it is a synchronisation call
//     during it:  whatever callbacks write, each beginning with HEDDLE_RECORD_enter_from_outside;
//                 HEDDLE_RECORD_child
//     after it:   HEDDLE_RECORD_returned, then its ranges (HEDDLE_RECORD_bytes, HEDDLE_RECORD_file_bytes), one
//     for each
//   or else it does not return: the next thing in the log is HEDDLE_RECORD_landed, the HEDDLE_RECORD_returned
//   of a loud call further up, HEDDLE_RECORD_twice, HEDDLE_RECORD_enter_from_outside, or nothing.
// - A call through a pointer: if it leads outside, HEDDLE_RECORD_foreign and then as a loud call of which
// nothing is known;
//   else the HEDDLE_RECORD_enter of the function it leads to.
// - All other calls that leave the program are *quiet*: nothing is written, they return, and nothing of the
// program runs
//   meanwhile (but in logs of signal handlers).
// - A logged value (address_values.h, outside_values.h: of a load, or of any instruction that computes; never
// of
//   a phi, a call of the program or the end of a block) is written, `bytes` long, without a tag, directly after
//   the instruction. Bytes that are known to be 0 are left out (stored_bytes.h). Those of static allocas of the
//   entry block stand at the beginning of the function.
// - Behind a musttail call there is no place to tell anything: one that leaves the program is quiet, and if a
// pointer leads
//   outside, HEDDLE_RECORD_foreign is all there is. One that stays inside takes the place of its caller.
// - A landing pad begins with HEDDLE_RECORD_landed; a call that returns twice is followed by
// HEDDLE_RECORD_twice instead of
//   HEDDLE_RECORD_returned.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string_view>
#include <vector>

#include "abi/record.h"
#include "base/result.h"
#include "program/calls.h"
#include "program/effects.h"
#include "program/known_values.h"
#include "program/program.h"
#include "program/segments.h"
#include "program/sharing.h"

namespace heddle {

enum class RecordPolicy {
  standard,  // values that make all addresses known are logged; branches that can be computed are left
             // out
  paths,  // CLAP's idea, as small as we can: as standard, but the values logged are sizes of blocks, and blocks
          // that are released
  traced,    // what a trace of hardware tells: as paths, but no values at all
  clap,      // CLAP as published: function labels and the number of every segment, nothing left out
  branches,  // as standard, but with bits for branches that can be computed: to measure what leaving them out
             // saves
};
std::string_view record_policy_name(RecordPolicy policy);
Result<RecordPolicy> parse_record_policy(std::string_view name);

// One range of memory that a loud call wrote.
struct WrittenRange {
  const MemoryEffect* effect = nullptr;
  heddle_record_source source = HEDDLE_SOURCE_unknown;
  int source_argument = 0;  // the descriptor or stream
  int offset_argument = -1;
};

struct CallPlan {
  enum class Kind {
    inside,   // direct call of a function of the program
    pointer,  // decided at run time
    loud,     // leaves the program, tells
    quiet,    // leaves the program, tells nothing; or an intrinsic or assembly
  };
  Kind kind = Kind::quiet;
  CallInfo info;
  bool cuts = false;  // a segment ends here
  bool returns_twice = false;
  SyncKind sync = HEDDLE_SYNC_none;
  unsigned result_bytes =
      0;  // of HEDDLE_RECORD_returned: 0, 1, 2, 4 or 8 (smaller integers in the next larger size)
  bool sets_errno = false;
  std::vector<WrittenRange> ranges;  // each gives one entry; formats (scanf) one for each variadic pointer
};

class FunctionPlan {
 public:
  FunctionPlan(const llvm::Function& function) : flow(function) {}
  ControlFlow flow;
  std::unique_ptr<Segments> segments;
  bool entered_from_outside = false;  // has an entry
  bool tells_arguments = false;  // its entry tells the arguments also when the program came through a pointer
  bool silent = false;           // neither it nor what it calls writes to the path stream
  bool returns = false;          // it comes back to its caller, whatever happens (but for crashes)
};

class RecordPlan {
 public:
  // `module` is the program's, or was until it was taken out to be changed.
  RecordPlan(const Program& program, const llvm::Module& module, const EffectsTable& effects,
             RecordPolicy policy);
  ~RecordPlan();

  RecordPolicy policy() const { return policy_; }
  // Of functions that are instrumented; null for declarations, naked functions and resolvers of indirect
  // functions.
  const FunctionPlan* function(const llvm::Function& function) const;
  const CallPlan& call(const llvm::CallBase& call) const;
  // Bytes of a logged value (1, 2, 4 or 8; of addresses of stack objects the lower ones); 0 for others.
  unsigned logged(const llvm::Instruction& instruction) const;
  const KnownValues& known() const { return *known_; }
  const SharingResult& sharing() const { return sharing_; }

  struct Counts {  // what the savings are (heddle show --verbose, make bench)
    size_t branches = 0, known_branches = 0, counted_loops = 0, functions = 0, silent_functions = 0,
           entries = 0;
    size_t loads = 0, logged_values = 0, calls = 0, loud_calls = 0, cutting_calls = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  class Builder;
  RecordPolicy policy_;
  SharingResult sharing_;
  std::unique_ptr<KnownValues> known_;
  llvm::DenseMap<const llvm::Function*, std::unique_ptr<FunctionPlan>> functions_;
  llvm::DenseMap<const llvm::CallBase*, CallPlan> calls_;
  llvm::DenseMap<const llvm::Instruction*, unsigned> logged_;
  Counts counts_;
};

}  // namespace heddle
