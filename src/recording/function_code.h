// A function as the decoder goes through it: for each piece (segments.h) what happens in it that the log knows
// of or that a known branch needs. Made once for each function that a thread reaches.
#pragma once

#include <vector>

#include "program/program.h"
#include "program/record_plan.h"

namespace heddle {

class FunctionCode {
 public:
  using Piece = Segments::Piece;

  FunctionCode(const Program& program, const RecordPlan& plan, const llvm::Function& function);

  struct Action {
    enum class Kind : uint8_t {
      compute,  // a known value
      value,    // is in the data stream
      inside,   // the kinds of CallPlan, of calls that are not quiet
      pointer,
      loud,
      no_return,  // a quiet call behind which nothing comes
    };
    Kind kind;
    uint8_t bytes = 0;         // value
    bool cuts = false;         // a call that ends the piece
    bool can_return = true;    // calls
    bool last_of_all = false;  // musttail
    const llvm::Instruction* instruction;
    const CallPlan* plan = nullptr;

    const llvm::CallBase& call() const { return *llvm::cast<llvm::CallBase>(instruction); }
  };

  struct PieceCode {
    const llvm::BasicBlock* block;
    BlockId id;
    uint32_t first_action, last_action;  // behind the last
    bool starts_block;
    bool has_phis;  // that known branches need
    bool announced;
    bool ends_block;                    // else it ends with a call
    bool edge_writes;                   // one at least of the edges from here
    const Segments::CountedLoop* loop;  // that it is in
    int32_t plain_round;                // of its header: index in plain_rounds(); else, and if it has none, -1
  };

  const llvm::Function& function() const { return function_; }
  FunctionId id() const { return id_; }
  const FunctionPlan& plan() const { return plan_; }
  const Segments& segments() const { return *plan_.segments; }
  const PieceCode& piece(Piece p) const { return pieces_[p]; }
  const Action& action(uint32_t index) const { return actions_[index]; }
  // Counted loops in which there is neither an action nor a choice: the blocks of a round, the header last.
  const std::vector<std::vector<BlockId>>& plain_rounds() const { return plain_rounds_; }

 private:
  void add_piece(const Program& program, const RecordPlan& plan, Piece p, llvm::BasicBlock::const_iterator& at);
  void add_value(const RecordPlan& plan, const llvm::Instruction& instruction);
  void add_action(const RecordPlan& plan, const llvm::Instruction& instruction, bool cuts);
  void find_plain_rounds();

  const llvm::Function& function_;
  const FunctionPlan& plan_;
  FunctionId id_;
  std::vector<PieceCode> pieces_;
  std::vector<Action> actions_;
  std::vector<std::vector<BlockId>> plain_rounds_;
};

}  // namespace heddle
