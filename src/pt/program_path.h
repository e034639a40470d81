// From what a thread executed (trace_decoder.h) to its path through the canonical program.
//
// Machine functions are functions of the program (what was inlined was inlined before), so calls and returns
// delimit activations. Inside one, each machine block that is entered names the block of the program that it
// was made from (build/machine_blocks.h), and each call its call (build/code_map.h). Between two such places
// the thread went through *silent* blocks, which left no code of their own: the path has those only that are
// not silent, and there is a way from each to the next. Which one is for the interpreter to say
// (pt_path_source.h).
//
// A block of the program may have several machine blocks, and where the back end merged equal ends of blocks,
// the thread comes into the middle of another one. So only a machine block that has the first code of a block
// says that the block begins; the others are a hint, where there is no way without them, and a name that cannot
// be reached says nothing. Calls and returns are certain: without a way to them, the shortest one is taken.
//
// Code without a map (the procedure linkage table, startup code, foreign objects, libraries) is outside of the
// program, and skipped by its calls.
//
// A handler that interrupts code of the program has a path of its own, and the thread goes on where it was.
// longjmp comes to a place behind a call of setjmp in an activation that is still there, also out of a handler.
#pragma once

#include <llvm/IR/Instructions.h>

#include <functional>
#include <string>
#include <vector>

#include "build/code_map.h"
#include "build/machine_blocks.h"
#include "pt/trace_decoder.h"
#include "recording/path_visitor.h"

namespace heddle {

struct ProgramStep {
  enum class Kind : uint8_t {
    enter,        // function
    block,        // block
    call,         // a call leads outside
    back,         // and comes back
    leave,        // a function returns
    landed,       // invoke: an exception came to its landing pad
    jumped,       // setjmp call: longjmp came to it
    interrupted,  // instruction: by a handler that was left by a jump, before it was executed
    jumped_out,   // longjmp call: the handler that made it is left; or it led from where that interrupted the
                  // thread to the next step
    model,        // function: a call in it, of which the program has a model in its place, leads outside
    model_back,   // and comes back
  };
  Kind kind = Kind::block;
  EnteredBy by : 8 = EnteredBy::outside;  // enter
  uint32_t core = 0;
  uint32_t depth = 0;  // landed, jumped: how many functions of the program are running
  uint32_t order = 0;  // among all steps of the thread, also those of its handlers
  const llvm::Value* what = nullptr;
  uint64_t tsc = 0;  // when the span began that it lies in; of calls that lead outside: when it ended

  template <class T>
  const T& as() const {
    return *llvm::cast<T>(what);
  }
};

// What a PTWRITE instruction told.
struct ToldValue {
  size_t steps = 0;  // so many steps were before it
  const llvm::Instruction* of = nullptr;
  PtwriteSite site;
  uint64_t value = 0;
};

// Of a thread, or of its handlers.
struct ProgramSteps {
  std::vector<ProgramStep> steps;
  std::vector<ToldValue> values;
};

struct ProgramPath : ProgramSteps {
  std::string trouble;  // why it ends early; empty: it does not
  uint64_t blocks = 0;
  bool ended = false;  // the thread has come to its end
  // Else: where it stands, innermost first. Of functions that wait, their calls; null where nothing says.
  std::vector<const llvm::Instruction*> stack;
  // What signal handlers did that interrupted code of the program, one behind the other; by how many of them
  // were running, less one. Those that came while a call was outside are calls by it.
  std::vector<ProgramSteps> handlers;
};

class PathFollower {
 public:
  // `load_base`: of the executable in the traced process. `may_call_back`: whether code of the program may run
  // before this call, which leads outside, comes back.
  using MayCallBack = std::function<bool(const llvm::CallBase&)>;
  PathFollower(const Program& program, const CodeMap& code, const MachineBlocks& blocks, uint64_t load_base,
               MayCallBack may_call_back)
      : program_(program),
        code_(code),
        blocks_(blocks),
        load_base_(load_base),
        may_call_back_(std::move(may_call_back)) {}

  // `stopped_at`: the instruction that the thread died of, 0: it did not. `ended`: it came to its end before
  // the process did, so that what it called last has come back.
  ProgramPath follow(const PtThread& thread, uint64_t stopped_at = 0, bool ended = false);

 private:
  struct Activation {
    const MachineFunction* code = nullptr;
    const llvm::Function* function = nullptr;
    const llvm::BasicBlock* block = nullptr;     // it is in
    std::vector<const llvm::BasicBlock*> hints;  // code of these was passed since
    bool begun = false;                          // with code of its own
    const MachineBlock* later = nullptr;         // its block begins behind the call that was made
    const llvm::CallBase* last_call = nullptr;   // in the block
    bool calls = false, outside = false;         // it waits at a call; that has left the program
    bool tail = false;                           // and is its last act
    uint64_t call_address = 0;
    const llvm::CallBase* call = nullptr;  // null: of nothing that the program calls
    bool model = false;                    // of something that it has a model of, in the place of the call
    struct Mark {
      uint64_t address = 0;
      const llvm::CallBase* call = nullptr;
    };
    std::vector<Mark> marks;  // calls of setjmp that have come back
  };
  // What a handler has interrupted.
  struct Interrupted {
    std::vector<Activation> stack;
    ProgramSteps path;
    uint64_t address = 0, last = 0;
  };

  void run(const PtBlock& block, uint64_t begin, uint64_t last);
  void note_value(uint64_t address, uint64_t value);
  void arrive(uint64_t begin);
  void go_outside();
  void come_back(Activation& from);
  bool resume(uint64_t begin);
  bool is_landing_pad(const llvm::InvokeInst& invoke, uint64_t begin);
  bool jump_back(uint64_t begin);
  bool jump_out_of_handler(uint64_t begin);
  void begin_handler(uint64_t interrupted_at);
  void end_handler();
  void continue_from(const PtSpan& before, const PtSpan& span);
  void enter(const MachineFunction& code, EnteredBy by);
  void leave();
  void return_from_top();
  void return_from_tails();
  bool has_returned_outside() const;
  void pass_machine_block(const MachineBlock& block);
  void move_to(const llvm::BasicBlock& to);
  void move_for_certain(const llvm::BasicBlock& to);
  bool find_way(const llvm::BasicBlock& to, std::vector<const llvm::BasicBlock*>& way);
  void go(const std::vector<const llvm::BasicBlock*>& way);
  bool is_way(const llvm::BasicBlock& from, const llvm::BasicBlock& to);
  void make_call(uint64_t address, bool tail);
  const llvm::CallBase* call_at(uint64_t address);
  struct FunctionBlocks {
    llvm::DenseSet<const llvm::BasicBlock*> named;  // by a machine block
    // Machine blocks with which a block of the program begins, and where its own code begins there.
    llvm::DenseMap<uint64_t, uint64_t> entries;
  };
  const FunctionBlocks& blocks_of(const llvm::Function& function);
  bool is_silent(const llvm::BasicBlock& block) {
    return !blocks_of(*block.getParent()).named.contains(&block);
  }
  void step(ProgramStep::Kind kind, const llvm::Value& what, EnteredBy by = EnteredBy::outside);
  void lose(std::string why);

  const Program& program_;
  const CodeMap& code_;
  const MachineBlocks& blocks_;
  uint64_t load_base_;
  MayCallBack may_call_back_;
  std::vector<Activation> stack_;
  std::vector<Interrupted> interrupted_;
  bool lost_ = false;
  uint64_t last_ = 0;  // instruction of the program
  uint32_t core_ = 0;
  uint64_t tsc_ = 0, span_end_ = 0;
  uint32_t order_ = 0;
  std::map<const llvm::Function*, FunctionBlocks> function_blocks_;
  ProgramPath out_;
};

}  // namespace heddle
