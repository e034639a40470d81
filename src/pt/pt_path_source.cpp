#include "pt/pt_path_source.h"

#include <fmt/core.h>
#include <llvm/IR/IntrinsicInst.h>

#include <cerrno>
#include <cstring>

#include "program/source_place.h"
#include "program/stored_bytes.h"

namespace heddle {

// One telling.
class PtThreadTeller {
 public:
  PtThreadTeller(PtPaths& paths, size_t thread, PathVisitor& visitor, CallValues* values)
      : paths_(paths), thread_(thread), path_(paths.threads_[thread].path), visitor_(visitor), values_(values) {
    heap_ = PtAddresses::heap(thread);
    stack_ = PtAddresses::stack_high(thread) - 4096;
  }

  DecodeEnd run() {
    while (!stopped_ && next_ < path_.steps.size()) {
      const ProgramStep& step = path_.steps[next_];
      if (step.kind != ProgramStep::Kind::enter) {
        trouble("the path goes on where no function runs");
        break;
      }
      function(step);
    }
    end_.certain_blocks = end_.blocks;
    if (!stopped_)
      end_.kind = DecodeEnd::Kind::complete;
    else if (end_.text.empty())
      end_.kind = in_call_ ? DecodeEnd::Kind::in_call : DecodeEnd::Kind::stopped;
    if (end_.text.empty()) end_.text = path_.trouble;
    visitor_.end(end_);
    return end_;
  }

 private:
  using Kind = ProgramStep::Kind;

  const ProgramStep* peek() const { return next_ < path_.steps.size() ? &path_.steps[next_] : nullptr; }
  bool at(Kind kind, const llvm::Value& what) const {
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

  void function(const ProgramStep& enter) {
    const auto& function = enter.as<llvm::Function>();
    const FunctionId id = paths_.program_.id_of(function);
    ++next_;
    visitor_.enter_function(id, enter.by);
    if (enter.by == EnteredBy::outside || enter.by == EnteredBy::callback) tell_arguments(function, id);
    const uint64_t stack = stack_;
    bool first = true;
    const llvm::BasicBlock* block = nullptr;
    while (!stopped_) {
      const ProgramStep* step = peek();
      if (step == nullptr) return stop();
      if (step->kind == Kind::leave && step->what == &function) {
        ++next_;
        if (block == nullptr || !llvm::isa<llvm::ReturnInst>(block->getTerminator()))
          return trouble(fmt::format("{} returns where it does not", readable_name(function)));
        visitor_.leave_function(id, LeftBy::returned);
        stack_ = stack;
        return;
      }
      if (step->kind != Kind::block || step->as<llvm::BasicBlock>().getParent() != &function)
        return trouble(fmt::format("the path of {} cannot be followed", readable_name(function)));
      ++next_;
      block = &step->as<llvm::BasicBlock>();
      ++end_.blocks;
      visitor_.block(paths_.program_.id_of(*block));
      if (first) tell_stack_objects(*block);
      first = false;
      instructions(*block);
    }
  }

  // main gets the arguments of the command, a thread what its maker gave it; of others nothing is known.
  void tell_arguments(const llvm::Function& function, FunctionId id) {
    std::vector<uint64_t> values;
    if (function.getName() == "main" && thread_ == 0) {
      values = {paths_.arguments_, PtAddresses::arguments()};
      if (function.arg_size() < 2) values.resize(function.arg_size());
    } else if (function.arg_size() == 1 && !started_ && thread_ != 0) {
      const std::lock_guard lock(paths_.mutex_);
      const auto found = paths_.start_arguments_.find(thread_);
      if (found != paths_.start_arguments_.end() && found->second) values.push_back(*found->second);
    }
    started_ = true;
    visitor_.arguments(id, values);
  }

  uint64_t stack_object(const llvm::AllocaInst& object) {
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

  void instructions(const llvm::BasicBlock& block) {
    for (const llvm::Instruction& instruction : block) {
      if (stopped_) return;
      if (paths_.plan_.logged(instruction) != 0 && !told_at_entry(instruction)) {
        if (const auto* object = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
          visitor_.value(instruction, stack_object(*object) & UINT32_MAX);
        else
          return trouble(fmt::format("a value that no trace holds: {}", source_place(instruction).text()));
        continue;
      }
      if (const auto* one = llvm::dyn_cast<llvm::CallBase>(&instruction)) call(*one);
    }
  }

  void call(const llvm::CallBase& call) {
    if (llvm::isa<llvm::IntrinsicInst>(call) || call.isInlineAsm()) return;
    const CallPlan& plan = paths_.plan_.call(call);
    const ProgramStep* step = peek();
    switch (plan.kind) {
      case CallPlan::Kind::inside:
        if (step == nullptr) return stop();
        if (step->kind != Kind::enter || step->what != plan.info.callee)
          return trouble(
              fmt::format("{} ran outside of the program: heddle's model of it has no path in the trace",
                          readable_name(*plan.info.callee)));
        return function(*step);
      case CallPlan::Kind::pointer:
        if (step == nullptr) return stop();
        if (step->kind == Kind::enter) {
          ProgramStep entered = *step;
          entered.by = EnteredBy::pointer;
          return function(entered);
        }
        if (!at(Kind::call, call)) return trouble("a call through a pointer that is not in the trace");
        return trouble(fmt::format("a call through a pointer leads outside: {}", source_place(call).text()));
      case CallPlan::Kind::quiet:
        if (at(Kind::call, call)) {
          ++next_;
          if (at(Kind::back, call))
            ++next_;
          else
            stop();
        } else if (step == nullptr) {
          stop();
        }
        return;
      case CallPlan::Kind::loud:
        return loud_call(call, plan);
    }
  }

  void loud_call(const llvm::CallBase& call, const CallPlan& plan) {
    if (peek() == nullptr) return stop();  // it did not come so far
    const bool seen = at(Kind::call, call);
    if (seen) ++next_;
    if (!seen && plan.sync != HEDDLE_SYNC_none)
      return trouble(fmt::format("a call that is not in the trace: {}", source_place(call).text()));
    if (plan.returns_twice)
      return trouble(fmt::format("setjmp is not followed: {}", source_place(call).text()));
    if (plan.sync != HEDDLE_SYNC_none) {
      SyncEntry entry{.kind = plan.sync};
      for (const int number : plan.info.effects->sync_objects) {
        const auto object = argument(call, static_cast<unsigned>(number));
        if (!object && plan.sync != HEDDLE_SYNC_thread_create)
          return trouble(
              fmt::format("the object of a synchronisation call is not known: {}", source_place(call).text()));
        if (entry.objects < entry.object.size()) entry.object[entry.objects++] = object.value_or(0);
      }
      visitor_.synchronises(call, entry);
      if (plan.sync == HEDDLE_SYNC_thread_create) make_thread(call, plan);
    }
    while (seen && !stopped_ && peek() != nullptr && peek()->kind == Kind::enter) function(*peek());
    if (stopped_) return;
    if (seen && !at(Kind::back, call)) {
      in_call_ = peek() == nullptr;
      return stop();
    }
    if (seen) ++next_;
    // Arguments can be asked for up to here.
    std::vector<uint64_t> sizes;
    for (const WrittenRange& range : plan.ranges) sizes.push_back(extent_of(call, range.effect->extent));
    visitor_.returned(call, {.result = result_of(call, plan)});
    tell_written(call, plan, sizes);
  }

  std::optional<uint64_t> argument(const llvm::CallBase& call, unsigned number) {
    if (values_ == nullptr) return 0;  // nobody asks for more than the way
    return values_->argument_of(call, number);
  }

  void make_thread(const llvm::CallBase& call, const CallPlan& plan) {
    const std::vector<size_t>& children = paths_.threads_[thread_].children;
    if (made_ >= children.size()) return;
    const size_t child = children[made_++];
    if (plan.info.effects->sync_objects.size() == 3 && values_ != nullptr) {
      const auto value = argument(call, static_cast<unsigned>(plan.info.effects->sync_objects[2]));
      const std::lock_guard lock(paths_.mutex_);
      paths_.start_arguments_[child] = value;
    }
    handle_ = PtAddresses::thread_pointer(child);
    visitor_.child(made_);
  }

  std::optional<uint64_t> result_of(const llvm::CallBase& call, const CallPlan& plan) {
    if (call.getType()->isVoidTy()) return std::nullopt;
    const llvm::Function* callee = plan.info.callee;
    const Effects* effects = plan.info.effects;
    if (callee != nullptr && callee->getName() == "__errno_location")
      return PtAddresses::thread_pointer(thread_) - 256;
    if (plan.sync == HEDDLE_SYNC_thread_self || (callee != nullptr && callee->getName() == "pthread_self"))
      return PtAddresses::thread_pointer(thread_);
    if (effects != nullptr &&
        (effects->allocation == AllocationKind::allocate || effects->allocation == AllocationKind::reallocate))
      return allocate(call, *effects);
    // A status; what pthread_getspecific gives is not one.
    if (plan.sync == HEDDLE_SYNC_none || !call.getType()->isIntegerTy()) return std::nullopt;
    return branch_says_failed(call, plan) ? failed_result(plan.sync) : 0;
  }

  static uint64_t failed_result(SyncKind kind) {
    switch (kind) {
      case HEDDLE_SYNC_barrier_wait:
        return UINT32_MAX;  // the one that is told so
      case HEDDLE_SYNC_sem_trywait:
      case HEDDLE_SYNC_sem_timedwait:
        return UINT32_MAX;
      case HEDDLE_SYNC_guard_acquire:
        return 1;
      case HEDDLE_SYNC_cond_timedwait:
      case HEDDLE_SYNC_mutex_timedlock:
        return ETIMEDOUT;
      default:
        return EBUSY;
    }
  }

  // The result is compared with a constant, and the next block is known.
  bool branch_says_failed(const llvm::CallBase& call, const CallPlan& plan) const {
    const uint64_t other = failed_result(plan.sync);
    const ProgramStep* step = peek();
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(call.getParent()->getTerminator());
    if (step == nullptr || step->kind != Kind::block || branch == nullptr || !branch->isConditional())
      return false;
    const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
    const auto* constant =
        compare != nullptr ? llvm::dyn_cast<llvm::ConstantInt>(compare->getOperand(1)) : nullptr;
    if (constant == nullptr || compare->getOperand(0) != &call ||
        branch->getSuccessor(0) == branch->getSuccessor(1))
      return false;
    const bool taken = branch->getSuccessor(0) == step->what;
    const auto holds = [&](uint64_t value) {
      return llvm::ICmpInst::compare(llvm::APInt(64, value).zextOrTrunc(constant->getBitWidth()),
                                     constant->getValue(), compare->getPredicate());
    };
    return holds(0) != taken && holds(other) == taken;
  }

  // Every block has a place of its own, with room around it.
  uint64_t allocate(const llvm::CallBase& call, const Effects& effects) {
    uint64_t size = 1 << 16;
    const auto value = [&](int number) {
      return argument(call, static_cast<unsigned>(number)).value_or(1 << 16);
    };
    if (effects.allocation_size.kind == Extent::Kind::bytes) size = effects.allocation_size.amount;
    if (effects.allocation_size.kind == Extent::Kind::argument)
      size = value(effects.allocation_size.first) * effects.allocation_size.amount;
    if (effects.allocation_size.kind == Extent::Kind::product)
      size = value(effects.allocation_size.first) * value(effects.allocation_size.second);
    const uint64_t at = heap_;
    heap_ += (std::min<uint64_t>(size, 1 << 30) + 4095) / 4096 * 4096 + 4096;
    return at;
  }

  // What the effects table says that the call wrote: nobody knows what, but for the handle of a thread.
  void tell_written(const llvm::CallBase& call, const CallPlan& plan, const std::vector<uint64_t>& sizes) {
    size_t number = 0;
    for (size_t which = 0; which < plan.ranges.size(); ++which) {
      const WrittenRange& range = plan.ranges[which];
      const bool variadic = range.effect->place.argument == Place::kVariadic;
      const size_t count = variadic ? call.arg_size() - call.getFunctionType()->getNumParams() : 1;
      for (size_t i = 0; i < count; ++i, ++number) {
        if (plan.sync == HEDDLE_SYNC_thread_create &&
            range.effect->place.argument == plan.info.effects->sync_objects[0]) {
          const std::string bytes(reinterpret_cast<const char*>(&handle_), sizeof handle_);
          visitor_.written(call, number, {.count = bytes.size(), .bytes = bytes});
        } else {
          visitor_.written(call, number, {.count = sizes[which], .file = UINT64_MAX});
        }
      }
    }
  }

  uint64_t extent_of(const llvm::CallBase& call, const Extent& extent) {
    constexpr uint64_t kMost = 1 << 16;
    switch (extent.kind) {
      case Extent::Kind::bytes:
        return extent.amount;
      case Extent::Kind::argument:
      case Extent::Kind::bounded_string:
        return std::min(argument(call, static_cast<unsigned>(extent.first)).value_or(64) * extent.amount,
                        kMost);
      case Extent::Kind::product:
        return std::min(argument(call, static_cast<unsigned>(extent.first)).value_or(64) *
                            argument(call, static_cast<unsigned>(extent.second)).value_or(1),
                        kMost);
      default:
        return 8;
    }
  }

  PtPaths& paths_;
  size_t thread_;
  const ProgramPath& path_;
  PathVisitor& visitor_;
  CallValues* values_;
  size_t next_ = 0, made_ = 0;
  bool stopped_ = false, in_call_ = false, started_ = false;
  uint64_t heap_ = 0, stack_ = 0, handle_ = 0;
  DecodeEnd end_;
};

namespace {

class PtPathSource : public PathSource {
 public:
  PtPathSource(PtPaths& paths, size_t thread) : paths_(paths), thread_(thread) {}
  DecodeEnd run(PathVisitor& visitor, CallValues* values) override {
    return PtThreadTeller(paths_, thread_, visitor, values).run();
  }

 private:
  PtPaths& paths_;
  size_t thread_;
};

}  // namespace

std::shared_ptr<PathSource> PtPaths::source(size_t thread) {
  return std::make_shared<PtPathSource>(*this, thread);
}

}  // namespace heddle
