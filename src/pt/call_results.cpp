#include "pt/call_results.h"

#include <algorithm>
#include <cerrno>

#include "pt/result_choice.h"

namespace heddle {
namespace {

constexpr uint64_t kUsualSize = 1 << 16;  // of what nobody knows the size

uint64_t failed_result(const CallPlan& plan) {
  if (plan.info.callee != nullptr) {  // codes of <threads.h>
    const llvm::StringRef name = plan.info.callee->getName();
    if (name == "mtx_trylock") return 1;
    if (name == "mtx_timedlock" || name == "cnd_timedwait") return 4;
  }
  switch (plan.sync) {
    case HEDDLE_SYNC_futex:
      return UINT64_MAX;
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

}  // namespace

std::optional<uint64_t> CallResults::argument(const llvm::CallBase& call, unsigned number) const {
  return values_ == nullptr ? 0 : values_->argument_of(call, number);
}

std::optional<uint64_t> CallResults::settled_argument(const llvm::CallBase& call, unsigned number,
                                                      std::optional<uint64_t> value) const {
  return values_ == nullptr ? 0 : values_->settled_argument(call, number, value);
}

std::optional<uint64_t> CallResults::result_of(const llvm::CallBase& call, const CallPlan& plan,
                                               llvm::function_ref<Blocks()> behind) {
  if (call.getType()->isVoidTy()) return std::nullopt;
  const llvm::Function* callee = plan.info.callee;
  const Effects* effects = plan.info.effects;
  if (callee != nullptr && callee->getName() == "__errno_location") return thread_pointer_ - 256;
  if (plan.sync == HEDDLE_SYNC_thread_self || (callee != nullptr && callee->getName() == "pthread_self"))
    return thread_pointer_;
  if (effects != nullptr &&
      (effects->allocation == AllocationKind::allocate || effects->allocation == AllocationKind::reallocate))
    return allocate(call, *effects);
  // A fresh part of memory.
  if (callee != nullptr && (callee->getName() == "mmap" || callee->getName() == "mmap64"))
    return place(argument(call, 1).value_or(kUsualSize), 1 << 28);
  if (plan.sync == HEDDLE_SYNC_key_get) return kept_.get(settled_argument(call, 0));
  // A status; what pthread_getspecific gives is not one.
  if (plan.sync == HEDDLE_SYNC_none || !call.getType()->isIntegerTy()) return std::nullopt;
  const Blocks blocks = behind();
  if (!path_allows(call, 0, blocks) && path_allows(call, failed_result(plan), blocks))
    return failed_result(plan);
  if (plan.sync == HEDDLE_SYNC_futex) return std::nullopt;  // how many were woken
  return 0;
}

uint64_t CallResults::allocate(const llvm::CallBase& call, const Effects& effects) {
  const auto value = [&](int number) {
    return argument(call, static_cast<unsigned>(number)).value_or(kUsualSize);
  };
  const Extent& extent = effects.allocation_size;
  uint64_t size = kUsualSize;
  if (extent.kind == Extent::Kind::bytes) size = extent.amount;
  if (extent.kind == Extent::Kind::argument) size = value(extent.first) * extent.amount;
  if (extent.kind == Extent::Kind::product) size = value(extent.first) * value(extent.second);
  return place(size, 1 << 30);
}

// Every block has a place of its own, with room around it.
uint64_t CallResults::place(uint64_t size, uint64_t most) {
  const uint64_t at = heap_;
  heap_ += (std::min(size, most) + 4095) / 4096 * 4096 + 4096;
  return at;
}

uint64_t CallResults::extent_of(const llvm::CallBase& call, const Extent& extent) const {
  constexpr uint64_t kMost = 1 << 16;
  const auto value = [&](int number, uint64_t otherwise) {
    return argument(call, static_cast<unsigned>(number)).value_or(otherwise);
  };
  switch (extent.kind) {
    case Extent::Kind::bytes:
      return extent.amount;
    case Extent::Kind::argument:
    case Extent::Kind::bounded_string:
      return std::min(value(extent.first, 64) * extent.amount, kMost);
    case Extent::Kind::product:
      return std::min(value(extent.first, 64) * value(extent.second, 1), kMost);
    default:
      return 8;
  }
}

std::optional<InputReader::Answer> CallResults::read_input(const llvm::CallBase& call, const CallPlan& plan,
                                                           std::optional<uint64_t> result) {
  if (values_ == nullptr || plan.sync != HEDDLE_SYNC_none) return std::nullopt;
  struct Values : InputReader::Arguments {
    Values(const llvm::CallBase& made, CallValues& known) : call(made), values(known) {}
    std::optional<uint64_t> number(unsigned argument) override {
      return argument < call.arg_size() ? values.argument_of(call, argument) : std::nullopt;
    }
    std::optional<std::string> text(unsigned argument) override {
      return argument < call.arg_size() ? values.text_of(call, argument) : std::nullopt;
    }
    std::optional<uint64_t> word(unsigned argument) override {
      return argument < call.arg_size() ? values.word_behind(call, argument) : std::nullopt;
    }
    const llvm::CallBase& call;
    CallValues& values;
  } arguments(call, *values_);
  return inputs_.call(call, arguments, result);
}

std::optional<uint64_t> CallResults::note_key(const llvm::CallBase& call, const CallPlan& plan,
                                              std::optional<uint64_t> key) {
  if (plan.sync == HEDDLE_SYNC_key_set) kept_.set(settled_argument(call, 0), argument(call, 1));
  if (plan.sync != HEDDLE_SYNC_key_create || call.arg_size() != 2) return std::nullopt;
  return kept_.create(llvm::dyn_cast<llvm::Function>(call.getArgOperand(1)->stripPointerCasts()), key);
}

}  // namespace heddle
