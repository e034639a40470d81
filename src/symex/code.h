// Functions in the form that the interpreter runs: operations with the places of their operands.
//
// A function's values lie in cells behind each other: arguments, then instructions. An operand is such a place,
// or a constant of the function (a negative number). What an operation does is a function of the file of its
// family (ops_*.cpp), found once, when the function is first reached. Several threads may use the same code.
//
// A *stop* is an operation about which the recording says something: the interpreter goes no further by itself.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Instructions.h>

#include <memory>
#include <mutex>
#include <vector>

#include "program/record_plan.h"
#include "symex/program_image.h"
#include "symex/value_layout.h"

namespace heddle {

class SymbolicMachine;
struct Op;
using OpAction = void (*)(SymbolicMachine&, const Op&);

enum class Stop : uint8_t {
  none,
  value,  // is in the data stream
  call,   // of the kinds of CallPlan that are not quiet
  end,    // of the block
};

struct Op {
  OpAction run = nullptr;
  const llvm::Instruction* instruction = nullptr;
  const ValueLayout* type = nullptr;  // of the result; of a store: of what is stored
  int32_t to = 0;                     // the result's first cell
  int32_t a = 0, b = 0, c = 0;        // operands' first cells
  uint16_t lanes = 1;                 // of vectors; 1 otherwise
  uint16_t bits = 0;                  // of a lane of the first operand, or as the action says
  uint16_t to_bits = 0;               // of a lane of the result
  Stop stop = Stop::none;
  bool reads_shared = false, writes_shared = false;  // memory that other threads may reach
  bool counts = false;                               // a controlled run decides before it who goes on
  uint8_t order = 0;                                 // AccessOrder
  uint32_t extra = 0;                                // as the action says
};

// An address: a base, a constant, and numbers times scales.
struct AddressParts {
  struct Index {
    int32_t operand;
    uint16_t bits;
    bool lanes;  // one for each lane
    int64_t scale;
  };
  bool base_lanes = false;
  int64_t constant = 0;
  std::vector<Index> indexes;
};

struct PhiMove {
  int32_t to, from;
  uint32_t cells;
};

struct BlockCode {
  const llvm::BasicBlock* block = nullptr;
  uint32_t first = 0, last = 0;  // operations; the last is the end of the block
  std::vector<std::pair<const llvm::BasicBlock*, std::vector<PhiMove>>> phis;  // by the block before
};

class FunctionOps {
 public:
  const llvm::Function* function = nullptr;
  uint32_t cells = 0;
  std::vector<Cell> constants;
  std::vector<uint32_t> thread_local_constants;  // addresses: each thread adds its thread pointer
  std::vector<Op> ops;
  std::vector<BlockCode> blocks;
  llvm::DenseMap<const llvm::BasicBlock*, uint32_t> block_numbers;
  std::vector<AddressParts> addresses;                       // Op::extra of getelementptr
  std::vector<std::vector<int>> lane_choices;                // of shufflevector
  std::vector<int32_t> arguments;                            // first cells
  llvm::DenseMap<const llvm::Instruction*, uint32_t> op_of;  // calls and logged values
  llvm::DenseMap<const llvm::Value*, int32_t> places;        // of operands
};

class CodeCache {
 public:
  CodeCache(const Program& program, const RecordPlan& plan, const ProgramImage& image);

  const FunctionOps& of(const llvm::Function& function);
  const ValueLayout& layout(llvm::Type* type) { return layouts_.of(type); }
  const Program& program() const { return program_; }
  const RecordPlan& plan() const { return plan_; }
  const ProgramImage& image() const { return image_; }
  // Whether controlled runs have an event for what the call does to memory.
  bool counts(const llvm::CallBase& call) const;
  // Memory behind arguments of it that is not private.
  llvm::ArrayRef<const ArgumentAccess*> shared_arguments(const llvm::CallBase& call) const;

 private:
  class Compiler;

  const Program& program_;
  const RecordPlan& plan_;
  const ProgramImage& image_;
  llvm::DenseSet<const llvm::Instruction*> shared_reads_, shared_writes_;  // that are not private
  llvm::DenseMap<const llvm::CallBase*, llvm::SmallVector<const ArgumentAccess*, 2>> shared_arguments_;
  ValueLayouts layouts_;
  std::mutex mutex_;
  llvm::DenseMap<const llvm::Function*, std::unique_ptr<FunctionOps>> functions_;
};

// What an instruction does; null if nobody knows. `op` is filled in but for that.
OpAction integer_action(const llvm::Instruction& instruction);
OpAction float_action(const llvm::Instruction& instruction);
OpAction cast_action(const llvm::CastInst& instruction);
OpAction memory_action(const llvm::Instruction& instruction);
OpAction aggregate_action(const llvm::Instruction& instruction);
OpAction intrinsic_action(const llvm::CallBase& call);
OpAction quiet_call_action(const llvm::CallBase& call, const CallPlan& plan);
// For instructions of which nothing is known: their results are unknown.
void unknown_result(SymbolicMachine& machine, const Op& op);
void no_effect(SymbolicMachine& machine, const Op& op);

}  // namespace heddle
