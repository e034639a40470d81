// Follows the path of one thread through the program by what its log holds (record_plan.h says where what
// stands).
//
// The thread's state is a stack of activations of functions of the program. An activation is running, or waits
// at a call: of another function, or of code outside, which may call the program back, so activations can lie
// above one that waits outside. Control that is lost (an exception, longjmp, a call that does not return) is
// found again by the next entry: landed names the invoke that some activation waits at, returned belongs to the
// innermost call outside that can return, twice to the activation that made the first return, and enter begins
// a new activation on top.
//
// Known hole: when code outside catches an exception that came out of a
// callback through a call outside that is not known not to return, the `returned` is taken for that call's.
//
// A handler that interrupts the thread and is left by a jump is known from the log of the handlers only
// (jumps_out_of_handlers): up to where the log was then both streams are read as up to their ends, and what
// comes behind is where control was found again. Behind the last thing that was read the decoder goes on as far
// as the code leaves no choice, but not out of a function that is needed where control was found again.
//
// The path stream ends where the thread had last written. From there on the decoder goes only where the thread
// must have gone or must go next (pending()), so that what is left in the data stream is read too.
//
// Nothing in a log can make the decoder crash or run for ever: ways without an end are given up
// (DecodeEnd::trouble).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "program/record_plan.h"
#include "program/value_evaluator.h"
#include "recording/entries.h"
#include "recording/function_code.h"
#include "recording/interruptions.h"
#include "recording/log_file.h"
#include "recording/path_visitor.h"

namespace heddle {

class ThreadDecoder {
 public:
  // All but `interruptions` must outlive the decoder.
  ThreadDecoder(const Program& program, const RecordPlan& plan, const LogFile& log, PathVisitor& visitor,
                std::vector<SignalEntry> interruptions = {});

  // Goes on to the end of the present piece (block, or part of one up to a call), or by one entry while the
  // thread is outside. False when it has ended; the visitor was told why.
  bool step();
  const DecodeEnd& run();  // to the end

  const DecodeEnd& end() const { return end_; }  // so far
  size_t depth() const { return stack_.size(); }

 private:
  using Piece = Segments::Piece;
  using Action = FunctionCode::Action;

  // What is known of the number of the present segment.
  enum class Number {
    written,
    begun,    // not in the log, but the thread's state held its first part
    missing,  // not in the log
  };

  struct Activation {
    const FunctionCode* code;
    Piece piece = 0;
    uint32_t next_action = 0;
    EnteredBy entered_by;
    Number number = Number::written;
    uint64_t rest = 0;                 // of the number
    bool added_is_known = false;       // number missing: what the thread had added so far was looked at (rest)
    const Action* waits_at = nullptr;  // a call
    bool outside = false;              // the call has left the program
    const Segments::CountedLoop* loop = nullptr;  // that it is in
    uint64_t rounds = 0;                          // of it that are still to come
    Segments::LoopExit exit{};                    // of it
  };
  // The first return of a call that may return twice, in an activation of the stack.
  struct FirstReturn {
    size_t depth;
    const Action* action;
    Piece piece;
    uint64_t position;  // of its entry
  };

  // ---- in the code of the program
  void run_piece();
  bool perform(Activation& top, const Action& action);
  void perform_pointer_call(Activation& top, const Action& action);
  void perform_loud_call(Activation& top, const Action& action);
  void end_piece(Activation& top);
  std::optional<Segments::Step> only_silent_way(const Activation& top) const;
  void go_on_unwritten(Activation& top);
  void go_round(Activation& top);
  void end_function(Activation& top);
  std::optional<Segments::Step> find_successor(const Activation& top);
  const llvm::BasicBlock* known_successor(const Activation& top);
  void cross(Activation& top, const Segments::Step& step);
  bool enter_piece(Activation& top, Piece p);
  void start_segment(Activation& top);
  void start_loop(Activation& top);
  void tell_plain_rounds(Activation& top);
  void read_nothing(Activation& top);

  // ---- outside
  void await();
  void entered(bool from_outside);
  void landed();
  bool waits_at_invoke(const Activation& activation, uint32_t id) const;
  void returned(unsigned flags);
  bool read_ranges(const Action& action);
  void returned_twice(uint64_t position);
  void first_return(uint64_t position, const TwiceEntry& entry);
  void later_return(uint64_t position, const TwiceEntry& entry);

  void push(const llvm::Function& function, EnteredBy by, const llvm::CallBase* call,
            std::span<const uint64_t> arguments = {});
  void set_arguments(const llvm::Function& function, std::span<const uint64_t> told);
  void pop(LeftBy by, const llvm::ReturnInst* returned);
  void unwind_to(size_t depth);
  void resume_caller();

  // ---- interruptions
  const SignalEntry* interruption() const;
  void await_interruption();
  bool interrupted();
  bool left_before_return();

  // ---- ends
  bool all_read();
  bool lost_in_silence();
  void consumed();
  void data_ended();
  void path_ended();
  void give_up(const llvm::Function& function);
  void unexpected(std::string_view what);
  void damaged_path(std::string_view what);
  void finish(DecodeEnd::Kind kind, std::string text = {});

  const FunctionCode& code_of(const llvm::Function& function);

  const Program& program_;
  const RecordPlan& plan_;
  const LogFile& log_;
  PathVisitor& visitor_;
  ValueEvaluator evaluator_;
  PathBits path_;
  EntryReader entries_;
  std::vector<std::unique_ptr<FunctionCode>> codes_;  // by function id
  std::vector<Activation> stack_;
  std::vector<FirstReturn> first_returns_;
  std::vector<SignalEntry> interruptions_;
  size_t next_interruption_ = 0;
  // What stands behind the next interruption, if somebody has looked: the id of an invoke, or a return of a
  // call that may return twice and the position of the first one.
  struct FoundAgain {
    std::optional<uint32_t> invoke;
    std::optional<uint64_t> first_return;
  };
  std::optional<FoundAgain> found_again_;
  bool outside_ = true;  // no activation is running
  bool ended_ = false;
  bool pending_ = false;
  Piece announced_ = UINT32_MAX;  // the piece that was announced on the way to it
  uint64_t last_read_ = 0;        // how many blocks when something was read from the log, ...
  uint64_t last_choice_ = 0;      // ... or a branch was computed
  DecodeEnd end_;
};

}  // namespace heddle
