#include "pt/pt_path_source.h"

#include <fmt/core.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "program/source_place.h"
#include "program/stored_bytes.h"
#include "pt/call_results.h"
#include "pt/silent_ways.h"

namespace heddle {

// One telling.
class PtThreadTeller {
 public:
  PtThreadTeller(PtPaths& paths, size_t thread, PathVisitor& visitor, CallValues* values)
      : paths_(paths),
        thread_(thread),
        steps_(paths.threads_[thread].path.steps),
        told_(paths.threads_[thread].path.values),
        trouble_(paths.threads_[thread].path.trouble),
        visitor_(visitor),
        values_(values),
        results_(values, {paths.inputs_, paths.streams_, thread, PtAddresses::streams(thread)},
                 {paths.keys_, thread}, PtAddresses::heap(thread), memory().thread_pointer) {
    stack_ = memory().free - 4096;
    find_ends();
  }
  // Of its handlers.
  PtThreadTeller(PtPaths& paths, size_t thread, size_t level, PathVisitor& visitor, CallValues* values)
      : paths_(paths),
        thread_(thread),
        steps_(paths.threads_[thread].path.handlers[level].steps),
        told_(paths.threads_[thread].path.handlers[level].values),
        visitor_(visitor),
        values_(values),
        started_(true),
        results_(values, {paths.inputs_, paths.streams_, thread, PtAddresses::streams(thread) + (1 << 24)},
                 {paths.keys_, thread}, PtAddresses::heap(thread) + PtAddresses::for_handlers(level),
                 memory().thread_pointer) {
    stack_ = told_.empty() ? memory().free - PtAddresses::for_handlers(level) : memory().free - 4096;
    find_ends();
  }

  DecodeEnd run() {
    if (!started_) begin_in_model();
    while (!stopped_ && peek() != nullptr) {
      const ProgramStep& step = *peek();
      if (step.kind != Kind::enter) {
        trouble("the path goes on where no function runs");
        break;
      }
      traced_function(step);
      if (std::exchange(handler_left_, false)) unwinding_ = false;
      if (unwinding_) trouble("an exception lands where no function runs");
    }
    end_.certain_blocks = end_.blocks;
    if (!stopped_)
      end_.kind = DecodeEnd::Kind::complete;
    else if (end_.text.empty())
      end_.kind = in_call_ ? DecodeEnd::Kind::in_call : DecodeEnd::Kind::stopped;
    if (end_.text.empty()) end_.text = trouble_;
    visitor_.end(end_);
    return end_;
  }

 private:
  using Kind = ProgramStep::Kind;

  void find_ends() {
    behind_.assign(steps_.size(), steps_.size());
    std::vector<size_t> open;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const ProgramStep& step = steps_[i];
      if (step.kind == Kind::enter) open.push_back(i);
      if (step.kind == Kind::leave && !open.empty()) {
        behind_[open.back()] = i + 1;
        open.pop_back();
      }
      const bool leaves = step.kind == Kind::jumped_out && !jump_lands(i);
      for (; (is_landing(step) && open.size() > step.depth) || (leaves && !open.empty()); open.pop_back())
        behind_[open.back()] = i;
      has_interruptions_ |= step.kind == Kind::jumped_out;
    }
  }

  // An exception or a jump ends in a function that was running.
  static bool is_landing(const ProgramStep& step) {
    return step.kind == Kind::landed || step.kind == Kind::jumped;
  }

  // A jump out of a handler leads into this path; else it is that of the handler.
  bool jump_lands(size_t jumped_out) const {
    return jumped_out + 1 < steps_.size() && steps_[jumped_out + 1].kind == Kind::jumped;
  }

  struct Activation {
    const llvm::Function& function;
    bool traced = false;  // its blocks are in the path, but for silent ones
    uint32_t depth = 0;   // of traced ones
  };

  // The next step. Those of models in the place of calls are none: what they are for is known from the program.
  const ProgramStep* peek() {
    for (; next_ < steps_.size(); ++next_) {
      const ProgramStep& step = steps_[next_];
      if (step.kind != Kind::model && step.kind != Kind::model_back) return &step;
      in_model_ = step.kind == Kind::model;
    }
    return nullptr;
  }
  bool at(Kind kind, const llvm::Value& what) {
    const ProgramStep* step = peek();
    return step != nullptr && step->kind == kind && step->what == &what;
  }
  void stop() { stopped_ = true; }
  void trouble(std::string text) {
    if (!stopped_) {
      end_.kind = DecodeEnd::Kind::trouble;
      end_.text = std::move(text);
    }
    stop();
  }
  const PtThreadMemory& memory() const { return paths_.threads_[thread_].memory; }

  // What a PTWRITE instruction told about this, on the way to the next step: of the results of invokes and of
  // arguments behind it, since those stand in the next block. What was told before it was of code that is not
  // followed.
  std::optional<uint64_t> told(const llvm::Instruction& of, PtwriteSite site) {
    peek();
    const size_t steps = next_ + (of.isTerminator() || site.kind == PtwriteKind::argument ? 1 : 0);
    for (size_t at = next_told_; at < told_.size() && told_[at].steps <= steps; ++at)
      if (told_[at].of == &of && told_[at].site == site) {
        next_told_ = at + 1;
        return told_[at].value;
      }
    return std::nullopt;
  }

  // Where the thread is. Whatever leaves the program may be anywhere, until it is seen again.
  void note_core(const ProgramStep& step) {
    if (values_ == nullptr || (core_ == step.core && core_since_ == step.tsc)) return;
    core_ = step.core;
    core_since_ = step.tsc;
    visitor_.runs_on(core_, core_since_);
  }
  void note_outside() {
    if (values_ == nullptr || core_ == PathVisitor::kAnyCore) return;
    core_ = PathVisitor::kAnyCore;
    visitor_.runs_on(core_, core_since_);
  }
  bool has_code(const llvm::Function& function) const { return paths_.with_code_.contains(&function); }

  // ---- functions

  // Code of a library that has a model may have made the thread: what it began with is not in the path.
  void begin_in_model() {
    PtPaths::Start start;
    {
      const std::lock_guard lock(paths_.mutex_);
      if (const auto found = paths_.starts_.find(thread_); found != paths_.starts_.end()) start = found->second;
    }
    if (start.routine == nullptr) return;
    const FunctionId id = paths_.program_.id_of(*start.routine);
    visitor_.enter_function(id, EnteredBy::outside);
    std::vector<uint64_t> values;
    if (start.argument) values.push_back(*start.argument);
    visitor_.arguments(id, values);
    started_ = true;
    body({.function = *start.routine});
  }

  void traced_function(ProgramStep enter) {
    const auto& function = enter.as<llvm::Function>();
    const FunctionId id = paths_.program_.id_of(function);
    note_core(enter);
    ++next_;
    visitor_.enter_function(id, enter.by);
    if (enter.by == EnteredBy::outside || enter.by == EnteredBy::callback) tell_arguments(function, id);
    ++depth_;
    body({.function = function, .traced = true, .depth = depth_});
    --depth_;
  }

  void model_function(const llvm::Function& function, EnteredBy by) {
    visitor_.enter_function(paths_.program_.id_of(function), by);
    body({.function = function});
  }

  void body(const Activation& here) {
    const FunctionId id = paths_.program_.id_of(here.function);
    const uint64_t stack = stack_;
    const llvm::BasicBlock* block = nullptr;
    for (bool first = true; !stopped_; first = false) {
      block = first ? &here.function.getEntryBlock() : next_block(here, *block);
      if (stopped_) return;
      if (block == nullptr) {
        visitor_.leave_function(id, LeftBy::returned);
        break;
      }
      if (at(Kind::block, *block)) {
        note_core(*peek());
        ++next_;
        idle_blocks_ = 0;
      } else if (++idle_blocks_ > kMostIdle) {
        return trouble(
            fmt::format("heddle's model of {} goes on without end here", readable_name(here.function)));
      }
      ++end_.blocks;
      visitor_.block(paths_.program_.id_of(*block));
      if (first) tell_stack_objects(*block);
      instructions(block->front());
      if (is_interrupted()) leave_by_jump();
      while (unwinding_) {
        const llvm::BasicBlock* landed = land(here);
        if (landed == nullptr) break;
        block = landed;
      }
      if (unwinding_) {
        visitor_.leave_function(id, LeftBy::unwound);
        break;
      }
    }
    stack_ = stack;
  }

  // The exception on its way comes to this function, or the jump: to a block of it. Null: it does not.
  const llvm::BasicBlock* land(const Activation& here) {
    const ProgramStep* step = peek();
    if (!here.traced || step == nullptr || !is_landing(*step) || step->depth != here.depth) return nullptr;
    ++next_;
    unwinding_ = false;
    const auto& call = step->as<llvm::CallBase>();
    if (step->kind == Kind::landed)
      visitor_.landed(llvm::cast<llvm::InvokeInst>(call));
    else
      come_back_again(call);
    return call.getParent();
  }

  void come_back_again(const llvm::CallBase& call) {
    visitor_.returned_twice(call, {.call = paths_.program_.id_of(call).value,
                                   .returns = ++returns_[&call],
                                   .result = static_cast<uint32_t>(jump_value_)});
    if (!call.isTerminator()) instructions(*call.getNextNode());
  }

  // By a handler that was left by a jump.
  bool is_interrupted() {
    if (!has_interruptions_ || stopped_ || unwinding_ || peek() == nullptr) return false;
    return peek()->kind == Kind::interrupted || peek()->kind == Kind::jumped_out;
  }
  bool is_interrupted_before(const llvm::Instruction& instruction) {
    return is_interrupted() && at(Kind::interrupted, instruction);
  }

  void leave_by_jump() {
    if (peek()->kind == Kind::interrupted) visitor_.interrupted(steps_[next_++].as<llvm::Instruction>());
    const auto& jump = steps_[next_].as<llvm::CallBase>();
    unwinding_ = true;
    handler_left_ = !jump_lands(next_++);
    if (handler_left_) return;
    // The handler is told apart from this: what it computes is not known here.
    const auto* value =
        jump.arg_size() == 2 ? llvm::dyn_cast<llvm::ConstantInt>(jump.getArgOperand(1)) : nullptr;
    if (value == nullptr)
      return trouble(fmt::format("what longjmp gives is not known: {}", source_place(jump).text()));
    jump_value_ = std::max<uint64_t>(value->getZExtValue(), 1);
  }

  // Null: the function returns.
  const llvm::BasicBlock* next_block(const Activation& here, const llvm::BasicBlock& block) {
    const llvm::Instruction& end = *block.getTerminator();
    const llvm::BasicBlock* target = here.traced ? target_in(here) : nullptr;
    if (stopped_) return nullptr;
    if (llvm::isa<llvm::ReturnInst>(end)) {
      if (!here.traced) return nullptr;
      if (at(Kind::leave, here.function))
        ++next_;
      else if (peek() == nullptr)
        stop();
      else
        trouble(fmt::format("the path of {} cannot be followed", readable_name(here.function)));
      return nullptr;
    }
    if (here.traced && target == nullptr && !in_model_) {
      if (peek() == nullptr)
        stop();
      else
        trouble(fmt::format("the path of {} cannot be followed", readable_name(here.function)));
      return nullptr;
    }
    const std::vector<const llvm::BasicBlock*> ways = ways_.to(block, target);
    if (ways.empty()) {
      if (peek() == nullptr || target == nullptr)
        stop();
      else
        trouble(fmt::format("the path of {} cannot be followed", readable_name(here.function)));
      return nullptr;
    }
    if (ways.size() == 1) return ways.front();
    const llvm::BasicBlock* said = values_ != nullptr ? values_->next_block(block) : nullptr;
    return std::ranges::find(ways, said) != ways.end() ? said : ways.front();
  }

  // The next block of this activation that the path has. What it calls comes first.
  const llvm::BasicBlock* target_in(const Activation& here) {
    if (peek() == nullptr) return nullptr;
    size_t at = next_;
    while (at < steps_.size() && (steps_[at].kind == Kind::enter || steps_[at].kind == Kind::model ||
                                  steps_[at].kind == Kind::model_back))
      at = steps_[at].kind == Kind::enter ? behind_[at] : at + 1;
    if (at >= steps_.size() || steps_[at].kind != Kind::block) return nullptr;
    const auto& block = steps_[at].as<llvm::BasicBlock>();
    return block.getParent() == &here.function ? &block : nullptr;
  }

  bool tell_written_arguments(const llvm::Function& function, FunctionId id) {
    std::vector<uint64_t> values;
    for (const llvm::Argument& argument : function.args()) {
      if (stored_bytes(*argument.getType()) == 0) continue;
      const auto value = told(function.getEntryBlock().front(), {PtwriteKind::argument, argument.getArgNo()});
      if (!value) return false;
      values.push_back(*value);
    }
    if (values.empty()) return false;
    started_ = true;
    visitor_.arguments(id, values);
    return true;
  }

  // main gets the arguments of the command, a thread what its maker gave it; of others nothing is known.
  void tell_arguments(const llvm::Function& function, FunctionId id) {
    if (tell_written_arguments(function, id)) return;
    std::vector<uint64_t> values;
    if (function.getName() == "main" && thread_ == 0) {
      values = {paths_.arguments_, PtAddresses::arguments()};
      if (function.arg_size() < 2) values.resize(function.arg_size());
    } else if (function.arg_size() == 1 && !started_ && thread_ != 0) {
      const std::lock_guard lock(paths_.mutex_);
      const auto found = paths_.starts_.find(thread_);
      if (found != paths_.starts_.end() && found->second.argument) values.push_back(*found->second.argument);
    } else if (function.arg_size() == 1) {
      if (const std::optional<uint64_t> value = results_.destroyed_by(function)) values.push_back(*value);
    }
    started_ = true;
    visitor_.arguments(id, values);
  }

  uint64_t stack_object(const llvm::AllocaInst& object) {
    if (const auto address = told(object, {PtwriteKind::value})) return *address;
    const auto size = object.getAllocationSize(object.getModule()->getDataLayout());
    stack_ -= size ? (size->getFixedValue() + 15) / 16 * 16 + 16 : 4096;
    stack_ = stack_ / object.getAlign().value() * object.getAlign().value();
    return stack_;
  }

  static bool told_at_entry(const llvm::Instruction& instruction) {
    const auto* object = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    return object != nullptr && object->isStaticAlloca();
  }

  void tell_stack_objects(const llvm::BasicBlock& block) {
    for (const llvm::Instruction& instruction : block)
      if (told_at_entry(instruction) && paths_.plan_.logged(instruction) != 0)
        visitor_.value(instruction, stack_object(llvm::cast<llvm::AllocaInst>(instruction)) & UINT32_MAX);
  }

  // From this one on, to the end of its block.
  void instructions(const llvm::Instruction& first) {
    for (const llvm::Instruction& instruction :
         llvm::make_range(first.getIterator(), first.getParent()->end())) {
      if (stopped_ || unwinding_) return;
      if (is_interrupted_before(instruction)) return leave_by_jump();
      if (paths_.plan_.logged(instruction) != 0 && !told_at_entry(instruction)) {
        if (const auto* object = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
          visitor_.value(instruction, stack_object(*object) & UINT32_MAX);
        else if (const auto value = told(instruction, {PtwriteKind::value}))
          visitor_.value(instruction, *value);
        else
          visitor_.lost_value(instruction);
        continue;
      }
      if (const auto* one = llvm::dyn_cast<llvm::CallBase>(&instruction)) call(*one);
    }
  }

  // ---- calls

  // Code that ran outside, though the program has it: a function without machine code, or what was put in the
  // place of a call.
  bool is_of_model(const llvm::Instruction& instruction) const {
    if (blind_ || !has_code(*instruction.getFunction())) return true;
    for (const llvm::DILocation* at = instruction.getDebugLoc(); at != nullptr; at = at->getInlinedAt())
      if (at->getFilename().starts_with("<library model>")) return true;
    return false;
  }

  void call(const llvm::CallBase& call) {
    if (llvm::isa<llvm::IntrinsicInst>(call) || call.isInlineAsm()) return;
    if (is_interrupted() && !is_of_model(call)) return leave_by_jump();
    const CallPlan& plan = paths_.plan_.call(call);
    const ProgramStep* step = peek();
    switch (plan.kind) {
      case CallPlan::Kind::inside:
        if (blind_) return model_function(*plan.info.callee, EnteredBy::call);
        if (step != nullptr && step->kind == Kind::enter && step->what == plan.info.callee)
          return traced_function(*step);
        if (!has_code(*plan.info.callee)) return call_model(call, *plan.info.callee, EnteredBy::call);
        if (step == nullptr) return stop();
        return trouble(fmt::format("{} was not seen where it is called", readable_name(*plan.info.callee)));
      case CallPlan::Kind::pointer:
        return call_pointer(call);
      case CallPlan::Kind::quiet:
        if (at(Kind::call, call)) {
          note_outside();
          ++next_;
          come_back(call);
          note_return();
        } else if (step == nullptr && !is_of_model(call)) {
          stop();
        }
        return;
      case CallPlan::Kind::loud:
        return loud_call(call, plan);
    }
  }

  // Behind what a call that leads outside has called.
  void come_back(const llvm::CallBase& call) {
    while (!stopped_ && !unwinding_ && peek() != nullptr && peek()->kind == Kind::enter) {
      ProgramStep entered = *peek();
      entered.by = EnteredBy::callback;
      traced_function(entered);
    }
    if (stopped_ || unwinding_) return;
    if (at(Kind::back, call)) {
      ++next_;
    } else if (peek() != nullptr && is_landing(*peek())) {
      if (peek()->kind == Kind::jumped) note_jump(call);
      unwinding_ = !stopped_;
    } else if (is_interrupted()) {
      leave_by_jump();
    } else {
      in_call_ = peek() == nullptr;
      stop();
    }
  }

  // What the call of longjmp gives to where it jumps.
  void note_jump(const llvm::CallBase& call) {
    const std::optional<uint64_t> value =
        call.arg_size() == 2 ? results_.settled_argument(call, 1) : std::nullopt;
    if (!value) return trouble(fmt::format("what longjmp gives is not known: {}", source_place(call).text()));
    jump_value_ = *value == 0 ? 1 : *value;
  }

  // Behind what a call that came back did.
  void note_return() {
    if (!stopped_ && !unwinding_ && next_ > 0 && steps_[next_ - 1].kind == Kind::back)
      note_core(steps_[next_ - 1]);
  }

  // A function that has no code of its own ran: what the library did instead is known from the model.
  void call_model(const llvm::CallBase& call, const llvm::Function& callee, EnteredBy by) {
    const bool seen = at(Kind::call, call);
    if (seen) ++next_;
    if (peek() == nullptr && !seen && !is_of_model(call)) return stop();
    note_outside();
    const bool before = std::exchange(in_model_, true);
    // What a library calls, it may call in another order than the model, and more or less often.
    const bool was_blind = blind_;
    if (const std::optional<size_t> back = seen ? back_behind_callbacks(call) : std::nullopt) {
      next_ = *back;
      blind_ = true;
    }
    model_function(callee, by);
    blind_ = was_blind;
    in_model_ = before;
    if (stopped_ || unwinding_ || !seen) return;
    if (at(Kind::back, call))
      ++next_;
    else
      peek() == nullptr ? stop() : trouble(fmt::format("{} did not come back", readable_name(callee)));
  }

  // The step with which the call comes back, if it has called functions of the program.
  std::optional<size_t> back_behind_callbacks(const llvm::CallBase& call) {
    size_t at = next_;
    while (at < steps_.size() && steps_[at].kind == Kind::enter) at = behind_[at];
    if (at == next_ || at >= steps_.size() || steps_[at].kind != Kind::back || steps_[at].what != &call)
      return std::nullopt;
    return at;
  }

  void call_pointer(const llvm::CallBase& call) {
    const ProgramStep* step = peek();
    if (blind_) {
      const llvm::Function* known = values_ != nullptr ? values_->called_function(call) : nullptr;
      if (known != nullptr && !known->isDeclaration()) return model_function(*known, EnteredBy::pointer);
      return visitor_.returned(call, {});
    }
    if (step != nullptr && step->kind == Kind::enter) {
      ProgramStep entered = *step;
      entered.by = EnteredBy::pointer;
      return traced_function(entered);
    }
    const llvm::Function* callee = values_ != nullptr ? values_->called_function(call) : nullptr;
    if (callee != nullptr && !callee->isDeclaration() && !has_code(*callee))
      return call_model(call, *callee, EnteredBy::pointer);
    if (at(Kind::call, call)) {
      note_outside();
      ++next_;
      come_back(call);
      if (!stopped_ && !unwinding_) visitor_.returned(call, {.result = told(call, {PtwriteKind::result})});
      note_return();
      return;
    }
    if (is_of_model(call)) return visitor_.returned(call, {});
    if (step == nullptr) return stop();
    trouble("a call through a pointer that is not in the trace");
  }

  static bool may_wait(SyncKind kind) {
    switch (kind) {
      case HEDDLE_SYNC_mutex_lock:
      case HEDDLE_SYNC_cond_wait:
      case HEDDLE_SYNC_cond_timedwait:
      case HEDDLE_SYNC_cond_wait_cxx:
      case HEDDLE_SYNC_thread_join:
      case HEDDLE_SYNC_thread_join_cxx:
      case HEDDLE_SYNC_rwlock_rdlock:
      case HEDDLE_SYNC_rwlock_wrlock:
      case HEDDLE_SYNC_sem_wait:
      case HEDDLE_SYNC_barrier_wait:
      case HEDDLE_SYNC_once:
      case HEDDLE_SYNC_guard_acquire:
        return true;
      default:
        return false;
    }
  }

  void loud_call(const llvm::CallBase& call, const CallPlan& plan) {
    const bool of_model = is_of_model(call);
    if (peek() == nullptr && !of_model) return stop();  // it did not come so far
    const bool seen = at(Kind::call, call);
    const uint64_t left = seen ? peek()->tsc : 0;
    if (seen) ++next_;
    if (!seen && plan.sync != HEDDLE_SYNC_none && !of_model)
      return trouble(fmt::format("a call that is not in the trace: {}", source_place(call).text()));
    note_outside();
    if (plan.returns_twice) {
      if (seen) come_back(call);
      if (stopped_ || unwinding_) return;
      returns_[&call] = 0;
      return visitor_.returned_twice(call, {.call = paths_.program_.id_of(call).value});
    }
    if (plan.sync != HEDDLE_SYNC_none) {
      SyncEntry entry{.kind = plan.sync};
      if (seen) entry.tsc = left;
      for (const int number : plan.info.effects->sync_objects) {
        const bool must = plan.sync != HEDDLE_SYNC_thread_create;
        const auto which = static_cast<unsigned>(number);
        const auto object = must ? results_.settled_argument(call, which, null_object(seen, plan))
                                 : results_.argument(call, which);
        if (!object && must)
          return trouble(
              fmt::format("the object of a synchronisation call is not known: {}", source_place(call).text()));
        if (entry.objects < entry.object.size()) entry.object[entry.objects++] = object.value_or(0);
      }
      visitor_.synchronises(call, entry);
      if (plan.sync == HEDDLE_SYNC_thread_create) make_thread(call, plan);
      if (!seen && peek() == nullptr && may_wait(plan.sync)) {  // the last thing that it did
        in_call_ = true;
        return stop();
      }
    }
    if (seen) {
      come_back(call);
    } else if (call.doesNotReturn()) {
      if (peek() != nullptr && is_landing(*peek()))
        unwinding_ = true;
      else
        stop();
    } else if (plan.sync == HEDDLE_SYNC_once) {
      while (!stopped_ && !unwinding_ && peek() != nullptr && peek()->kind == Kind::enter) {
        ProgramStep entered = *peek();
        entered.by = EnteredBy::callback;
        traced_function(entered);
      }
    }
    if (stopped_ || unwinding_) return;
    // Arguments can be asked for up to here.
    std::vector<uint64_t> sizes;
    for (const WrittenRange& range : plan.ranges)
      sizes.push_back(results_.extent_of(call, range.effect->extent));
    const std::optional<uint64_t> result = told(call, {PtwriteKind::result});
    const std::optional<uint64_t> handle = told(call, {PtwriteKind::handle});
    if (handle) handle_ = *handle;
    if (const auto key = results_.note_key(call, plan, handle)) handle_ = *key;
    const std::optional<InputReader::Answer> read = results_.read_input(call, plan, result);
    ReturnedEntry entry{.result = read ? std::optional(read->result)
                                       : results_.result_of(call, plan, [&] { return blocks_behind(); })};
    if (result) entry.result = result;
    if (call.getType()->isVoidTy()) entry.result.reset();
    if (seen && plan.sync != HEDDLE_SYNC_none) entry.tsc = steps_[next_ - 1].tsc;
    visitor_.returned(call, entry);
    tell_written(call, plan, sizes, read);
    if (read && read->line) tell_line(call, *read->line);
    if (seen) note_return();
  }

  // The object of a synchronisation call in which the thread died, if it died of accessing something there.
  std::optional<uint64_t> null_object(bool seen, const CallPlan& plan) const {
    constexpr uint64_t kLargestObject = 256;
    const std::optional<uint64_t>& fault = paths_.threads_[thread_].fault;
    if (!fault || *fault >= kLargestObject || plan.info.effects->sync_objects.size() != 1) return std::nullopt;
    return seen && next_ == steps_.size() ? std::optional<uint64_t>(0) : std::nullopt;
  }

  // Those of this function that the thread went through next.
  CallResults::Blocks blocks_behind() const {
    constexpr size_t kFar = 16;
    CallResults::Blocks blocks;
    for (size_t at = next_; at < steps_.size() && blocks.size() < kFar;) {
      const ProgramStep& step = steps_[at];
      if (step.kind == Kind::leave || step.kind == Kind::jumped_out || is_landing(step)) break;
      if (step.kind == Kind::block) blocks.push_back(&step.as<llvm::BasicBlock>());
      at = step.kind == Kind::enter ? behind_[at] : at + 1;
    }
    return blocks;
  }

  void make_thread(const llvm::CallBase& call, const CallPlan& plan) {
    const std::vector<size_t>& children = paths_.threads_[thread_].children;
    if (made_ >= children.size()) return;
    const size_t child = children[made_++];
    const std::vector<int>& objects = plan.info.effects->sync_objects;
    if (objects.size() == 3 && values_ != nullptr) {
      PtPaths::Start start{.argument = results_.argument(call, static_cast<unsigned>(objects[2]))};
      const auto* routine = llvm::dyn_cast<llvm::Function>(
          call.getArgOperand(static_cast<unsigned>(objects[1]))->stripPointerCasts());
      if (routine != nullptr && !routine->isDeclaration() && !has_code(*routine)) start.routine = routine;
      const std::lock_guard lock(paths_.mutex_);
      paths_.starts_[child] = start;
    }
    handle_ = paths_.threads_[child].memory.thread_pointer;
    visitor_.child(made_);
  }

  // What the effects table says that the call wrote: nobody knows what, but for handles of threads and keys.
  void tell_written(const llvm::CallBase& call, const CallPlan& plan, const std::vector<uint64_t>& sizes,
                    const std::optional<InputReader::Answer>& read) {
    size_t number = 0;
    for (size_t which = 0; which < plan.ranges.size(); ++which) {
      const WrittenRange& range = plan.ranges[which];
      const bool variadic = range.effect->place.argument == Place::kVariadic;
      const size_t count = variadic ? call.arg_size() - call.getFunctionType()->getNumParams() : 1;
      for (size_t i = 0; i < count; ++i, ++number) {
        if (read && range.effect->place.argument == read->written) {
          if (!read->bytes.empty())
            visitor_.written(call, number, {.count = read->bytes.size(), .bytes = read->bytes});
          continue;
        }
        const bool key = plan.sync == HEDDLE_SYNC_key_create;
        if ((key || plan.sync == HEDDLE_SYNC_thread_create) &&
            range.effect->place.argument == plan.info.effects->sync_objects[0]) {
          const std::string bytes(reinterpret_cast<const char*>(&handle_), key ? 4 : sizeof handle_);
          visitor_.written(call, number, {.count = bytes.size(), .bytes = bytes});
        } else {
          visitor_.written(call, number, {.count = sizes[which], .file = UINT64_MAX});
        }
      }
    }
  }

  // Of getline.
  void tell_line(const llvm::CallBase& call, const InputReader::Answer::Line& line) {
    const auto bytes_of = [](const uint64_t& word) {
      return std::string_view(reinterpret_cast<const char*>(&word), sizeof word);
    };
    visitor_.written_at(call, line.address, line.bytes, line.is_new ? line.size : 0);
    visitor_.written_at(call, line.pointer, bytes_of(line.address), 0);
    visitor_.written_at(call, line.room, bytes_of(line.size), 0);
  }

  PtPaths& paths_;
  size_t thread_;
  const std::vector<ProgramStep>& steps_;
  const std::vector<ToldValue>& told_;
  std::string trouble_;
  PathVisitor& visitor_;
  CallValues* values_;
  size_t next_ = 0, next_told_ = 0, made_ = 0;
  std::vector<size_t> behind_;  // by step, of those that enter functions: the first behind their ends
  SilentWays ways_{paths_.named_};
  // Blocks that the path does not have, since the last one that it has: what guesses lead to may have no end.
  static constexpr uint64_t kMostIdle = 20'000;
  uint64_t idle_blocks_ = 0;
  uint32_t depth_ = 0;
  llvm::DenseMap<const llvm::CallBase*, uint64_t> returns_;  // of setjmp, but for the first
  uint64_t jump_value_ = 1;
  uint32_t core_ = PathVisitor::kAnyCore - 1;
  uint64_t core_since_ = 0;
  bool stopped_ = false, in_call_ = false, started_ = false;
  bool in_model_ = false;   // what runs is not in the path
  bool blind_ = false;      // nor what it calls
  bool unwinding_ = false;  // an exception is on its way
  bool has_interruptions_ = false, handler_left_ = false;
  uint64_t stack_ = 0, handle_ = 0;
  DecodeEnd end_;
  CallResults results_;
};

namespace {

class PtPathSource : public PathSource {
 public:
  PtPathSource(PtPaths& paths, size_t thread, std::optional<size_t> handlers)
      : paths_(paths), thread_(thread), handlers_(handlers) {}
  DecodeEnd run(PathVisitor& visitor, CallValues* values) override {
    return handlers_ ? PtThreadTeller(paths_, thread_, *handlers_, visitor, values).run()
                     : PtThreadTeller(paths_, thread_, visitor, values).run();
  }

 private:
  PtPaths& paths_;
  size_t thread_;
  std::optional<size_t> handlers_;  // level
};

}  // namespace

PtThreadMemory PtThreadMemory::of(size_t thread, const ProgramPath& path) {
  PtThreadMemory out{.stack_low = PtAddresses::stack_low(thread),
                     .stack_high = PtAddresses::stack_high(thread),
                     .thread_pointer = PtAddresses::thread_pointer(thread),
                     .free = PtAddresses::stack_high(thread)};
  uint64_t low = UINT64_MAX, high = 0;
  bool known = false;
  for (const ToldValue& told : path.values) {
    if (told.site.kind == PtwriteKind::thread_pointer) {
      out.thread_pointer = told.value;
      known = true;
    }
    if (told.site.kind != PtwriteKind::value || !llvm::isa<llvm::AllocaInst>(told.of)) continue;
    low = std::min(low, told.value);
    high = std::max(high, told.value);
  }
  if (high == 0) return out;
  // The data of threads that a program makes lie at the upper ends of their stacks. Objects of library models,
  // which have no real addresses, lie below all others.
  constexpr uint64_t kLargestFrame = 1 << 16, kLargestStack = 1 << 26;
  const bool above = known && out.thread_pointer > high && out.thread_pointer - high < kLargestStack;
  out.stack_high = above ? out.thread_pointer : high + kLargestFrame;
  out.free = low - kLargestFrame;
  out.stack_low = out.free - kLargestFrame;
  return out;
}

PtPaths::PtPaths(const Program& program, const RecordPlan& plan, std::vector<Thread> threads, Blocks named,
                 unsigned arguments, PtInputs inputs)
    : program_(program),
      plan_(plan),
      threads_(std::move(threads)),
      named_(std::move(named)),
      arguments_(arguments),
      inputs_(std::move(inputs)) {
  for (const llvm::BasicBlock* block : named_) with_code_.insert(block->getParent());
}

std::shared_ptr<PathSource> PtPaths::source(size_t thread) {
  return std::make_shared<PtPathSource>(*this, thread, std::nullopt);
}

std::shared_ptr<PathSource> PtPaths::handlers(size_t thread, size_t level) {
  return std::make_shared<PtPathSource>(*this, thread, level);
}

}  // namespace heddle
