// Follows the recorded path of one thread and executes what is on it (CLAP section 3.1): the decoder says where
// the thread went and what the recording holds, this computes everything else.
//
// Between two things that the decoder tells, operations run by themselves; at each of them the thread must
// stand where the decoder says (Stop), else the program is not the one that was recorded.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recording/decoder.h"
#include "recording/path_source.h"
#include "symex/joined_threads.h"
#include "symex/machine.h"

namespace heddle {

// What a thread gets from the one that made it.
struct NewThread {
  uint64_t number = 0;  // of the children of its maker
  SymbolicMemory memory;
  uint32_t epoch = 0;
};

// Blocks that were told, though a handler had interrupted the thread and was left by a jump: these numbers. The
// thread may have entered the first ones, or none.
struct ToldInVain {
  uint64_t from = 0, end = 0;
};

class ThreadInterpreter : public PathVisitor, public CallValues {
 public:
  // `read_file`: bytes of a file that was kept (WrittenBytes::file). `made`: a thread was made.
  struct Surroundings {
    std::function<std::optional<std::vector<uint8_t>>(uint64_t file, uint64_t offset, uint64_t size)> read_file;
    std::function<void(NewThread)> made;
    JoinedThreads joined;
    std::optional<int> exit_code;          // of the process
    uint64_t last_block = UINT64_MAX;      // how many blocks are certain
    std::vector<ToldInVain> told_in_vain;  // in their order
    // Of the thread that failed: behind the certain blocks it went on up to the instruction that it died of.
    struct Death {
      std::optional<uint64_t> address;  // that was accessed
      bool of_stack = false;            // behind the end of the stack: no pointer of the program's led there
      std::string file;                 // of the source
      uint32_t line = 0;                // 0: not known
      size_t depth = 0;                 // functions of the program that were running, at least
    };
    std::optional<Death> death;
  };
  ThreadInterpreter(SymbolicMachine& machine, Surroundings surroundings)
      : machine_(machine), around_(std::move(surroundings)) {}

  bool lost() const { return lost_; }  // the program and the recording do not fit
  const std::string& why() const { return why_; }
  // The synchronisation call that the thread has not come back from.
  struct Pending {
    const llvm::CallBase* call;
    SyncEntry entry;
  };
  const std::optional<Pending>& pending_sync() const { return pending_sync_; }
  bool exits() const { return is_exiting_ || calls_exit(); }  // it is in a call that ends the process

  void finish_thread();  // the thread has ended: what was left for then

  void enter_function(FunctionId id, EnteredBy by) override;
  void arguments(FunctionId id, std::span<const uint64_t> values) override;
  void leave_function(FunctionId id, LeftBy by) override;
  void block(BlockId id) override;
  void value(const llvm::Instruction& instruction, uint64_t value) override;
  void synchronises(const llvm::CallBase& call, const SyncEntry& entry) override;
  void calls_outside(const llvm::CallBase& call, uint64_t target) override;
  void child(uint64_t number) override;
  void returned(const llvm::CallBase& call, const ReturnedEntry& entry) override;
  void written(const llvm::CallBase& call, size_t range, const WrittenBytes& bytes) override;
  void written_at(const llvm::CallBase& call, uint64_t address, std::string_view bytes,
                  uint64_t new_block) override;
  void landed(const llvm::InvokeInst& invoke) override;
  void returned_twice(const llvm::CallBase& call, const TwiceEntry& entry) override;
  void control_lost(uint64_t certain_blocks) override;
  void interrupted(const llvm::Instruction& before) override;
  void end(const DecodeEnd& end) override;
  void lost_value(const llvm::Instruction& instruction) override;
  void runs_on(uint32_t core, uint64_t tsc) override;
  std::optional<std::string> text_of(const llvm::CallBase& call, unsigned number) override;
  std::optional<uint64_t> word_behind(const llvm::CallBase& call, unsigned number) override;
  std::optional<uint64_t> argument_of(const llvm::CallBase& call, unsigned number) override;
  // ---- likely_ways.cpp
  std::optional<uint64_t> settled_argument(const llvm::CallBase& call, unsigned number,
                                           std::optional<uint64_t> known) override;
  const llvm::BasicBlock* next_block(const llvm::BasicBlock& block) override;
  const llvm::Function* called_function(const llvm::CallBase& call) override;

 private:
  void advance();
  bool dies_at(const Op& op);
  std::optional<uint64_t> distance_from_null(Expr address) const;
  bool dies_in(const llvm::CallBase& call, uint64_t address);
  bool calls_exit() const;
  void must_exit_with(const Cell& code);
  bool active() const { return !lost_ && !done_ && !in_vain_; }
  void lose(const std::string& why);
  bool stand_at(const llvm::Instruction& instruction, Stop stop);
  const Op& next_op() { return machine_.top().code->ops[machine_.top().next]; }
  void finish_block(const llvm::BasicBlock& next);
  void move_phis(const std::vector<PhiMove>& moves);
  void take_branch(const llvm::Instruction& terminator, const llvm::BasicBlock& next);
  void pass_arguments(const llvm::CallBase& call, const FunctionOps& callee);
  void set_result(const llvm::CallBase& call, const ReturnedEntry& entry);
  void reach_callback();
  void forget_written(const llvm::CallBase& call, llvm::function_ref<bool(const MemoryEffect&)> which,
                      uint64_t most = SymbolicMachine::kMostForgotten);
  void apply_effects(const llvm::CallBase& call, const ReturnedEntry& entry);
  std::optional<uint64_t> argument(const llvm::CallBase& call, int number);
  std::optional<uint64_t> amount(const llvm::CallBase& call, const Extent& extent);

  const Cell* made_up_result(const llvm::CallBase& call);

  // ---- last_steps.cpp
  void go_on_to_death();
  bool is_where_it_died(const llvm::Instruction& instruction) const;
  std::optional<unsigned> way_to_death(const llvm::BasicBlock& block, size_t depth) const;
  const llvm::BasicBlock* next_to_death(const llvm::Instruction& terminator);

  // ---- exceptions.cpp
  void note_throw();
  void leave_by_exception();
  void note_catch(const llvm::CallBase& call);
  // ---- synchronisation.cpp
  void before_sync(const llvm::CallBase& call, const SyncEntry& entry);
  void after_sync(const llvm::CallBase& call, const SyncEntry& entry, const ReturnedEntry& returned);
  void arrived_last();
  void make_ready_at_exit(const llvm::CallBase& call);
  void begin_once();
  void abandon(const Pending& left);
  void wait_event(EventKind kind, const SyncEntry& entry);
  Event& sync_event(EventKind kind, const SyncEntry& entry, uint64_t object);
  // ---- mutex_kinds.cpp
  void note_attribute(const llvm::CallBase& call);
  void note_mutex_kind(const llvm::CallBase& call, uint64_t mutex);
  void forget_robust(uint64_t mutex);
  // ---- thread_signals.cpp
  void took_signal(const llvm::CallBase& call, const ReturnedEntry& returned);
  void took(heddle_sync_kind kind);

  SymbolicMachine& machine_;
  Surroundings around_;
  std::vector<Cell> phi_values_;  // on their way
  std::vector<EnteredBy> entered_;
  std::vector<std::pair<size_t, Pending>> pending_;  // calls under way, by depth of frames
  std::optional<Pending> pending_sync_;
  bool leaving_ = false;                         // an exception leaves functions
  std::set<size_t> called_back_;                 // calls under way that have, by depth of frames
  std::set<uint64_t> once_runs_;                 // pthread_once: functions that this thread runs
  std::map<uint64_t, uint32_t> mutex_kinds_;     // by the address of the attributes
  std::map<uint64_t, uint64_t> robust_mutexes_;  // that it holds: how often
  std::vector<SyncEntry> at_exit_;
  // Promises (set_value_at_thread_exit): their shared states, and the blocks that count the owners of these.
  std::vector<std::pair<uint64_t, uint64_t>> ready_at_exit_;
  uint64_t blocks_ = 0;
  uint64_t last_error_ = 0;  // that the log holds
  bool lost_ = false, done_ = false;
  bool in_vain_ = false;  // what is told is: until the thread is found again
  size_t entered_in_vain_ = 0;
  bool is_exiting_ = false;    // it executes what exit() does before the process ends
  bool ended_itself_ = false;  // returned, or called pthread_exit
  std::string why_;
};

}  // namespace heddle
