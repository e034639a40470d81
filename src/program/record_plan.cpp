#include "program/record_plan.h"

#include <fmt/core.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "program/address_values.h"
#include "program/outside_values.h"
#include "program/stored_bytes.h"

namespace heddle {
namespace {

bool is_library_cxx(const llvm::Function& callee) {
  return callee.getName().starts_with("_Z");
}

// Functions of libraries that run code of the program given to them earlier, though the effects table says of
// nothing that they call it: the destructor of an exception object, the function of std::call_once.
bool runs_kept_code(llvm::StringRef name) {
  static const llvm::StringSet<> names = {"__cxa_end_catch", "__once_proxy", "_Unwind_DeleteException",
                                          "fclose",          "dlopen",       "dlclose",
                                          "__cxa_finalize"};
  return names.contains(name);
}

// They return only if they fail: else another program runs in the place of this one.
bool replaces_program(llvm::StringRef name) {
  return name.starts_with("exec") || name == "fexecve";
}

// Where a cancelled thread may end.
bool is_cancellation_point(SyncKind kind) {
  switch (kind) {
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_timedwait:
    case HEDDLE_SYNC_cond_wait_cxx:
    case HEDDLE_SYNC_sem_wait:
    case HEDDLE_SYNC_sem_timedwait:
    case HEDDLE_SYNC_thread_join:
    case HEDDLE_SYNC_thread_timedjoin:
    case HEDDLE_SYNC_thread_join_cxx:
    case HEDDLE_SYNC_thread_testcancel:
    case HEDDLE_SYNC_thread_setcancel:
    case HEDDLE_SYNC_thread_cancel:
    case HEDDLE_SYNC_thread_exit:
    case HEDDLE_SYNC_sleep:
      return true;
    default:
      return false;
  }
}

// Where the bytes come from that a call brings, for those functions that read files in large pieces.
struct Source {
  heddle_record_source kind = HEDDLE_SOURCE_unknown;
  int argument = 0, offset = -1;
};

Source source_of(llvm::StringRef name) {
  return llvm::StringSwitch<Source>(name)
      .Cases("read", "__read", "readv", "__read_chk", {HEDDLE_SOURCE_descriptor, 0})
      .Cases("pread", "pread64", "__pread_chk", "__pread64_chk", {HEDDLE_SOURCE_offset, 0, 3})
      .Cases("fread", "fread_unlocked", {HEDDLE_SOURCE_stream, 3})
      .Cases("__fread_chk", "__fread_unlocked_chk", {HEDDLE_SOURCE_stream, 4})
      .Default({});
}

// Extents that can be told after the call.
bool can_be_kept(const MemoryEffect& effect) {
  switch (effect.extent.kind) {
    case Extent::Kind::object:
    case Extent::Kind::reachable:
      return false;
    case Extent::Kind::format:
      return effect.place.argument == Place::kVariadic;  // not what is behind a va_list
    default:
      return effect.place.argument != Place::kVariadic;
  }
}

}  // namespace

std::string_view record_policy_name(RecordPolicy policy) {
  switch (policy) {
    case RecordPolicy::standard:
      return "standard";
    case RecordPolicy::paths:
    case RecordPolicy::traced:
      return "paths";
    case RecordPolicy::clap:
      return "clap";
    case RecordPolicy::branches:
      return "branches";
  }
  return "";
}

Result<RecordPolicy> parse_record_policy(std::string_view name) {
  for (RecordPolicy policy : {RecordPolicy::standard, RecordPolicy::paths, RecordPolicy::clap})
    if (record_policy_name(policy) == name) return policy;
  return Error{.what = fmt::format("there is no policy '{}'", name),
               .next = "choose one of: standard, paths, clap",
               .exit = ExitCode::usage};
}

// Fills a RecordPlan, step by step as in run().
class RecordPlan::Builder {
 public:
  Builder(const Program& program, const llvm::Module& module, const EffectsTable& effects, RecordPlan& plan)
      : program_(program), module_(module), effects_(effects), plan_(plan) {}

  void run() {
    find_functions();
    find_callbacks_by_name();
    for (const llvm::Function* function : order_) plan_calls(*function);
    choose_values();
    find_known_values();
    for (const llvm::Function* function : callees_first()) number(*function);
    for (const llvm::Function* function : order_) count(*function);
  }

 private:
  void find_functions();
  void find_callbacks_by_name();
  bool is_entered_from_outside(const llvm::Function& function) const;
  static bool is_handed_out_only(const llvm::Function& function);
  void plan_calls(const llvm::Function& function);
  CallPlan plan_call(const llvm::CallBase& call) const;
  CallPlan plan_external(const llvm::CallBase& call, CallPlan plan) const;
  bool may_call_back(const CallInfo& info) const;
  bool may_not_return(const llvm::CallBase& call, const CallInfo& info) const;
  void choose_values();
  void find_known_values();
  std::vector<const llvm::Function*> callees_first() const;
  void number(const llvm::Function& function);
  bool comes_back(const llvm::Function& function) const;
  void count(const llvm::Function& function);

  const Program& program_;
  const llvm::Module& module_;
  const EffectsTable& effects_;
  RecordPlan& plan_;
  std::vector<const llvm::Function*> order_;
  bool libraries_call_by_name_ =
      false;  // the program defines functions that libraries call (malloc, operator new)
};

void RecordPlan::Builder::find_functions() {
  llvm::SmallPtrSet<const llvm::Function*, 8> resolvers;
  for (const llvm::GlobalIFunc& ifunc : module_.ifuncs()) resolvers.insert(ifunc.getResolverFunction());
  for (const llvm::Function& function : module_) {
    if (function.isDeclarationForLinker() || function.hasFnAttribute(llvm::Attribute::Naked) ||
        resolvers.contains(&function))
      continue;
    order_.push_back(&function);
    plan_.functions_[&function] = std::make_unique<FunctionPlan>(function);
  }
}

void RecordPlan::Builder::find_callbacks_by_name() {
  for (const llvm::Function* function : order_) {
    const llvm::StringRef name = function->getName();
    if (!function->hasLocalLinkage() && effects_.find(std::string_view(name.data(), name.size())) != nullptr)
      libraries_call_by_name_ = true;
    FunctionPlan& plan = *plan_.functions_[function];
    plan.entered_from_outside = is_entered_from_outside(*function);
    plan.tells_arguments = plan.entered_from_outside && is_handed_out_only(*function);
  }
}

bool RecordPlan::Builder::is_entered_from_outside(const llvm::Function& function) const {
  const llvm::StringRef name = function.getName();
  if (!function.hasLocalLinkage() && (name == "main" || program_.has_foreign_callers() ||
                                      effects_.find(std::string_view(name.data(), name.size())) != nullptr))
    return true;
  const auto only_called = [this](const llvm::Value& value, const auto& self) -> bool {
    return llvm::all_of(value.uses(), [&](const llvm::Use& use) {
      const llvm::User* user = use.getUser();
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(user)) return call->isCallee(&use);
      if (llvm::isa<llvm::BlockAddress>(user)) return true;
      const auto* alias = llvm::dyn_cast<llvm::GlobalAlias>(user);
      return alias != nullptr && (alias->hasLocalLinkage() || !program_.has_foreign_callers()) &&
             self(*alias, self);
    });
  };
  return !only_called(function, only_called);
}

// Its address goes nowhere but to functions of libraries. They may give it back, but not often.
bool RecordPlan::Builder::is_handed_out_only(const llvm::Function& function) {
  return llvm::all_of(function.uses(), [](const llvm::Use& use) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
    if (call == nullptr || call->isCallee(&use)) return call != nullptr;
    const llvm::Function* callee = call->getCalledFunction();
    return callee != nullptr && callee->isDeclarationForLinker();
  });
}

void RecordPlan::Builder::plan_calls(const llvm::Function& function) {
  for (const llvm::Instruction& instruction : llvm::instructions(function))
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) plan_.calls_[call] = plan_call(*call);
}

// Calls of functions of the program are judged again when these are numbered: silent ones that come back do not
// cut.
CallPlan RecordPlan::Builder::plan_call(const llvm::CallBase& call) const {
  CallPlan plan{.info = classify_call(call, effects_)};
  plan.returns_twice = call.hasFnAttr(llvm::Attribute::ReturnsTwice);
  switch (plan.info.cls) {
    case CallClass::intrinsic:
    case CallClass::inline_assembly:
      return plan;
    case CallClass::inside:
      if (plan_.functions_.contains(plan.info.callee)) {
        plan.kind = CallPlan::Kind::inside;
        plan.cuts = true;
        return plan;
      }
      plan.info.cls = CallClass::unknown_external;  // naked functions have no place for hooks
      return plan_external(call, std::move(plan));
    case CallClass::indirect:
      plan.kind = CallPlan::Kind::pointer;
      plan.cuts = true;
      plan.result_bytes = stored_bytes(*call.getType());
      plan.sets_errno = true;
      return plan;
    default:
      return plan_external(call, std::move(plan));
  }
}

CallPlan RecordPlan::Builder::plan_external(const llvm::CallBase& call, CallPlan plan) const {
  const Effects* effects = plan.info.effects;
  const bool calls_back = may_call_back(plan.info), not_return = may_not_return(call, plan.info);
  plan.cuts = calls_back || not_return || plan.returns_twice;
  // Behind a call that must be the last there is no place to tell anything.
  if (call.isMustTailCall()) return plan;
  const bool frees = effects != nullptr && effects->allocation == AllocationKind::release;
  const bool computed = effects != nullptr && effects->pure;
  const bool writes =
      effects != nullptr && llvm::any_of(effects->memory, [](const auto& e) { return e.writes; });
  const bool tells = effects == nullptr || effects->sync != HEDDLE_SYNC_none || effects->sets_errno ||
                     effects->blocks || effects->input || writes || !call.getType()->isVoidTy();
  if (!plan.cuts && (frees || computed || !tells)) return plan;
  plan.kind = CallPlan::Kind::loud;
  if (effects != nullptr) plan.sync = effects->sync;
  if (computed) return plan;
  plan.result_bytes = stored_bytes(*call.getType());
  plan.sets_errno = effects == nullptr || effects->sets_errno;
  if (effects == nullptr) return plan;
  const Source source = source_of(plan.info.callee->getName());
  for (const MemoryEffect& effect : effects->memory)
    if (effect.writes && can_be_kept(effect))
      plan.ranges.push_back({.effect = &effect,
                             .source = source.kind,
                             .source_argument = source.argument,
                             .offset_argument = source.offset});
  return plan;
}

bool RecordPlan::Builder::may_call_back(const CallInfo& info) const {
  if (info.effects == nullptr || !info.effects->calls.empty()) return true;
  // What follows from its arguments alone was not computed by the program's code.
  if (info.effects->pure) return false;
  if (libraries_call_by_name_) return true;
  if (info.effects->sync == HEDDLE_SYNC_once || runs_kept_code(info.callee->getName())) return true;
  // Virtual functions of the program's own classes: a stream with a buffer of its own.
  return is_library_cxx(*info.callee) && info.cls == CallClass::known_external;
}

bool RecordPlan::Builder::may_not_return(const llvm::CallBase& call, const CallInfo& info) const {
  if (call.doesNotReturn() || info.effects == nullptr) return true;
  const Effects& effects = *info.effects;
  if (effects.no_return || effects.blocks || is_cancellation_point(effects.sync)) return true;
  if (replaces_program(info.callee->getName())) return true;
  return is_library_cxx(*info.callee) && !call.doesNotThrow();
}

void RecordPlan::Builder::choose_values() {
  plan_.sharing_ = analyse_sharing(module_, effects_, {.foreign_callers = program_.has_foreign_callers()});
  for (const llvm::Function* function : order_)
    for (const llvm::Instruction& instruction : llvm::instructions(*function))
      if (const unsigned bytes = outside_value_bytes(instruction)) plan_.logged_[&instruction] = bytes;
  if (plan_.policy_ == RecordPolicy::traced || plan_.policy_ == RecordPolicy::clap) return;
  const auto recorded = [this](const llvm::Function& function) { return plan_.functions_.contains(&function); };
  const ValuesFor wanted = plan_.policy_ == RecordPolicy::paths ? ValuesFor::blocks : ValuesFor::addresses;
  for (const llvm::Instruction* value : address_values(module_, effects_, plan_.sharing_, recorded, wanted))
    plan_.logged_[value] = stored_bytes(*value);
}

void RecordPlan::Builder::find_known_values() {
  const auto logged = [this](const llvm::Instruction& instruction) {
    if (plan_.logged_.contains(&instruction)) return !llvm::isa<llvm::AllocaInst>(instruction);
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr) return false;
    // Of a pointer that leads inside, the result is not told.
    const CallPlan& plan = plan_.call(*call);
    return plan.returns_twice || (plan.kind == CallPlan::Kind::loud && plan.result_bytes != 0);
  };
  const auto entered = [this](const llvm::Function& function) {
    const FunctionPlan* plan = plan_.function(function);
    return plan == nullptr || (plan->entered_from_outside && !plan->tells_arguments);
  };
  plan_.known_ =
      std::make_unique<KnownValues>(module_, KnownOptions{.logged = logged, .entered_silently = entered});
}

// Each function behind those that it calls; those that call each other in some order.
std::vector<const llvm::Function*> RecordPlan::Builder::callees_first() const {
  struct Visit {
    const llvm::Function* function;
    std::vector<const llvm::Function*> callees;
    size_t next = 0;
  };
  const auto callees_of = [this](const llvm::Function& function) {
    std::vector<const llvm::Function*> out;
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
          call != nullptr && plan_.call(*call).kind == CallPlan::Kind::inside)
        out.push_back(plan_.call(*call).info.callee);
    return out;
  };
  std::vector<const llvm::Function*> out;
  llvm::DenseSet<const llvm::Function*> seen;
  std::vector<Visit> path;
  for (const llvm::Function* root : order_) {
    if (!seen.insert(root).second) continue;
    path.push_back({root, callees_of(*root)});
    while (!path.empty()) {
      Visit& top = path.back();
      if (top.next == top.callees.size()) {
        out.push_back(top.function);
        path.pop_back();
      } else if (const llvm::Function* next = top.callees[top.next++]; seen.insert(next).second) {
        path.push_back({next, callees_of(*next)});
      }
    }
  }
  return out;
}

// A function that calls itself, by whatever way, meets a callee that has no numbers yet, and that call cuts.
void RecordPlan::Builder::number(const llvm::Function& function) {
  FunctionPlan& plan = *plan_.functions_[&function];
  const bool plain = plan_.policy_ == RecordPolicy::clap;
  const bool computed = !plain && plan_.policy_ != RecordPolicy::branches;
  bool callees_silent = true;
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr) continue;
    CallPlan& of_call = plan_.calls_[call];
    if (of_call.kind == CallPlan::Kind::inside) {
      const FunctionPlan& callee = *plan_.functions_[of_call.info.callee];
      of_call.cuts = plain || !callee.silent || !callee.returns;
      callees_silent &= callee.silent;
    }
  }
  plan.segments = std::make_unique<Segments>(
      plan.flow, SegmentOptions{.cuts = [this](const llvm::CallBase& call) { return plan_.calls_[&call].cuts; },
                                .known =
                                    [this, computed](const llvm::BasicBlock& block) {
                                      return computed && plan_.known_->branch_known(block);
                                    },
                                .counted_loops = !plain,
                                .plain = plain});
  plan.silent = callees_silent && plan.segments->silent();
  plan.returns = comes_back(function);
}

bool RecordPlan::Builder::comes_back(const llvm::Function& function) const {
  return llvm::all_of(llvm::instructions(function), [this](const llvm::Instruction& instruction) {
    if (llvm::isa<llvm::ResumeInst, llvm::LandingPadInst>(instruction)) return false;
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call == nullptr || !plan_.call(*call).cuts;
  });
}

void RecordPlan::Builder::count(const llvm::Function& function) {
  Counts& counts = plan_.counts_;
  const FunctionPlan& plan = *plan_.function(function);
  ++counts.functions;
  counts.silent_functions += plan.silent;
  counts.entries += plan.entered_from_outside;
  counts.counted_loops += plan.segments->counted_loops().size();
  for (const llvm::BasicBlock& block : function) {
    if (plan.flow.successors(plan.flow.number(&block)).size() > 1) {
      ++counts.branches;
      counts.known_branches += plan.segments->known(plan.segments->last_piece(plan.flow.number(&block)));
    }
    for (const llvm::Instruction& instruction : block) {
      if (llvm::isa<llvm::LoadInst>(instruction)) ++counts.loads;
      if (plan_.logged(instruction) != 0) ++counts.logged_values;
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr || llvm::isa<llvm::IntrinsicInst>(call)) continue;
      ++counts.calls;
      counts.loud_calls += plan_.call(*call).kind == CallPlan::Kind::loud;
      counts.cutting_calls += plan_.call(*call).cuts;
    }
  }
}

RecordPlan::RecordPlan(const Program& program, const llvm::Module& module, const EffectsTable& effects,
                       RecordPolicy policy)
    : policy_(policy) {
  Builder(program, module, effects, *this).run();
}

RecordPlan::~RecordPlan() = default;

const FunctionPlan* RecordPlan::function(const llvm::Function& function) const {
  const auto found = functions_.find(&function);
  return found == functions_.end() ? nullptr : found->second.get();
}

const CallPlan& RecordPlan::call(const llvm::CallBase& call) const {
  const auto found = calls_.find(&call);
  HEDDLE_CHECK(found != calls_.end());
  return found->second;
}

unsigned RecordPlan::logged(const llvm::Instruction& instruction) const {
  return logged_.lookup(&instruction);
}

}  // namespace heddle
