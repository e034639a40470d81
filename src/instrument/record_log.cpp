#include "instrument/record_log.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "abi/record.h"
#include "instrument/instrument.h"

namespace heddle {
namespace {

// Rounds of up to so many bits are written in place: with the exit (up to 15 bits) they fit into a word.
constexpr unsigned kRoundsBits = 24;

llvm::FunctionCallee declare_cold(llvm::Module& module, const char* name, llvm::FunctionType* type) {
  llvm::FunctionCallee hook = module.getOrInsertFunction(name, type);
  llvm::cast<llvm::Function>(hook.getCallee())->setCallingConv(llvm::CallingConv::PreserveAll);
  return hook;
}

}  // namespace

RecordHooks::RecordHooks(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* none = llvm::Type::getVoidTy(context);
  llvm::Type* number = llvm::Type::getInt32Ty(context);
  llvm::Type* wide = llvm::Type::getInt64Ty(context);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  const auto declare = [&](const char* name, std::initializer_list<llvm::Type*> arguments) {
    return module.getOrInsertFunction(name, llvm::FunctionType::get(none, arguments, false));
  };
  next_word = declare_cold(module, HEDDLE_HOOK_NEXT_WORD, llvm::FunctionType::get(none, false));
  next_data = declare_cold(module, HEDDLE_HOOK_NEXT_DATA, llvm::FunctionType::get(none, false));
  chaos = declare_cold(module, HEDDLE_HOOK_CHAOS, llvm::FunctionType::get(none, false));
  rounds =
      declare_cold(module, HEDDLE_HOOK_ROUNDS, llvm::FunctionType::get(none, {wide, number, number}, false));
  enter =
      module.getOrInsertFunction(HEDDLE_HOOK_RECORD_ENTER, llvm::FunctionType::get(number, {number}, false));
  landed = declare(HEDDLE_HOOK_LANDED, {number});
  twice_begin = declare(HEDDLE_HOOK_TWICE_BEGIN, {pointer});
  twice = declare(HEDDLE_HOOK_TWICE, {pointer, number, number});
  foreign = declare(HEDDLE_HOOK_FOREIGN, {pointer});
  sync = declare(HEDDLE_HOOK_SYNC, {number, pointer, pointer, pointer});
  returned = declare(HEDDLE_HOOK_RETURNED, {wide, number, number});
  range = declare(HEDDLE_HOOK_RANGE_WRITTEN, {pointer, wide, number, number, wide, wide});
  scanned = declare(HEDDLE_HOOK_SCANNED, {pointer, number, pointer, wide});
  block = declare(HEDDLE_HOOK_BLOCK, {number});
  constexpr size_t kFields = sizeof(heddle_record_state) / 8;
  // A variant is an executable and has the runtime in it: the offset from the thread pointer is a constant.
  state = new llvm::GlobalVariable(module, llvm::ArrayType::get(wide, kFields), false,
                                   llvm::GlobalValue::ExternalLinkage, nullptr, HEDDLE_RECORD_STATE, nullptr,
                                   llvm::GlobalVariable::LocalExecTLSModel);
  state->setDSOLocal(true);
  state->setAlignment(llvm::Align(8));
}

LogEmitter::LogEmitter(const RecordHooks& hooks, llvm::Instruction& before)
    : hooks_(hooks), before_(before), builder_(&before) {
  builder_.SetCurrentDebugLocation(hook_location(before));
}

llvm::Value* LogEmitter::field(size_t offset) {
  llvm::Value* state = builder_.CreateThreadLocalAddress(hooks_.state);
  return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), state, offset);
}

void LogEmitter::enter_cold_path(llvm::Value* condition) {
  usual_ = before_.getParent();
  llvm::Instruction* end = llvm::SplitBlockAndInsertIfThen(condition, &before_, false, unlikely());
  cold_ = end->getParent();
  builder_.SetInsertPoint(end);
  builder_.SetCurrentDebugLocation(hook_location(before_));
}

void LogEmitter::leave_cold_path() {
  builder_.SetInsertPoint(&before_);
  builder_.SetCurrentDebugLocation(hook_location(before_));
}

llvm::Value* LogEmitter::join(llvm::Value* usual, llvm::Value* cold) {
  llvm::PHINode* phi = builder_.CreatePHI(usual->getType(), 2);
  phi->addIncoming(usual, usual_);
  phi->addIncoming(cold, cold_);
  return phi;
}

llvm::MDNode* LogEmitter::unlikely() const {
  return llvm::MDBuilder(before_.getContext()).createBranchWeights(1, 1 << 20);
}

void LogEmitter::append_bits(llvm::Value* number, llvm::Value* bits) {
  llvm::Type* wide = builder_.getInt64Ty();
  const auto load_word = [&] {
    return builder_.CreateLoad(builder_.getPtrTy(), field(offsetof(heddle_record_state, word)));
  };
  llvm::Value* at = load_word();
  llvm::Value* word = builder_.CreateLoad(wide, at);
  llvm::Value* lost = builder_.CreateLShr(word, builder_.CreateSub(builder_.getInt64(64), bits));
  enter_cold_path(builder_.CreateICmpNE(lost, builder_.getInt64(0)));
  builder_.CreateCall(hooks_.next_word)->setCallingConv(llvm::CallingConv::PreserveAll);
  llvm::Value* next_at = load_word();
  llvm::Value* next_word = builder_.CreateLoad(wide, next_at);
  leave_cold_path();
  llvm::Value* final_at = join(at, next_at);
  llvm::Value* final_word = join(word, next_word);
  builder_.CreateStore(builder_.CreateOr(builder_.CreateShl(final_word, bits), number), final_at,
                       /*isVolatile=*/true);
}

void LogEmitter::write_bits(llvm::Value* number, unsigned bits) {
  append_bits(number, builder_.getInt64(bits));
}

// rounds + 1 in Elias gamma is that number in twice its length minus one bits.
void LogEmitter::write_rounds(llvm::Value* rounds, uint32_t exit, unsigned exit_bits) {
  llvm::Value* number = builder_.CreateAdd(rounds, builder_.getInt64(1));
  llvm::Value* many = builder_.CreateICmpUGE(number, builder_.getInt64(uint64_t{1} << kRoundsBits));
  llvm::Instruction *if_many = nullptr, *if_few = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(many, &before_, &if_many, &if_few, unlikely());
  builder_.SetInsertPoint(if_many);
  builder_.SetCurrentDebugLocation(hook_location(before_));
  builder_.CreateCall(hooks_.rounds, {rounds, builder_.getInt32(exit), builder_.getInt32(exit_bits)})
      ->setCallingConv(llvm::CallingConv::PreserveAll);
  LogEmitter few(hooks_, *if_few);
  llvm::IRBuilder<>& builder = few.builder_;
  llvm::Value* zeros = builder.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, number, builder.getTrue());
  llvm::Value* bits = builder.CreateSub(builder.getInt64(127 + exit_bits), builder.CreateShl(zeros, 1));
  few.append_bits(builder.CreateOr(builder.CreateShl(number, exit_bits), builder.getInt64(exit)), bits);
  builder_.SetInsertPoint(&before_);
  builder_.SetCurrentDebugLocation(hook_location(before_));
}

llvm::Value* LogEmitter::path() {
  return builder_.CreateLoad(builder_.getInt64Ty(), field(offsetof(heddle_record_state, path)));
}

void LogEmitter::set_path(llvm::Value* number) {
  builder_.CreateStore(number, field(offsetof(heddle_record_state, path)), /*isVolatile=*/true);
}

void LogEmitter::set_count(llvm::Value* rounds) {
  builder_.CreateStore(rounds, field(offsetof(heddle_record_state, count)), /*isVolatile=*/true);
}

void LogEmitter::append(llvm::ArrayRef<LoggedValue> values) {
  constexpr size_t kAtOnce = HEDDLE_RECORD_SMALL / sizeof(uint64_t);
  for (; values.size() > kAtOnce; values = values.drop_front(kAtOnce)) append_few(values.take_front(kAtOnce));
  append_few(values);
}

void LogEmitter::append_few(llvm::ArrayRef<LoggedValue> values) {
  llvm::Type* wide = builder_.getInt64Ty();
  const auto load_chunk = [&] {
    return builder_.CreateLoad(builder_.getPtrTy(), field(offsetof(heddle_record_state, data)));
  };
  const auto load_used = [&](llvm::Value* chunk) { return builder_.CreateLoad(wide, chunk); };
  static_assert(offsetof(heddle_record_chunk, used) == 0);
  llvm::Value* chunk = load_chunk();
  llvm::Value* used = load_used(chunk);
  llvm::Value* limit = builder_.CreateLoad(wide, field(offsetof(heddle_record_state, data_limit)));
  enter_cold_path(builder_.CreateICmpUGT(used, limit));
  builder_.CreateCall(hooks_.next_data)->setCallingConv(llvm::CallingConv::PreserveAll);
  llvm::Value* next_chunk = load_chunk();
  llvm::Value* next_used = load_used(next_chunk);
  leave_cold_path();
  chunk = join(chunk, next_chunk);
  used = join(used, next_used);
  for (const LoggedValue& each : values) {
    llvm::Value* at = builder_.CreateInBoundsGEP(builder_.getInt8Ty(), chunk, used);
    builder_.CreateAlignedStore(stored_form(each.value, each.bytes), at, llvm::Align(1), /*isVolatile=*/true);
    used = builder_.CreateAdd(used, builder_.getInt64(each.bytes));
  }
  builder_.CreateStore(used, chunk, /*isVolatile=*/true);
}

llvm::Value* LogEmitter::stored_form(llvm::Value* value, unsigned bytes) {
  llvm::Type* type = value->getType();
  llvm::IntegerType* as = builder_.getIntNTy(bytes * 8);
  if (type->isPointerTy()) return builder_.CreatePtrToInt(value, as);
  if (type->isFloatingPointTy()) return builder_.CreateBitCast(value, as);
  return builder_.CreateZExt(value, as);
}

void LogEmitter::set_called(llvm::Value* leads_outside) {
  llvm::Value* inside = builder_.CreateZExt(builder_.CreateNot(leads_outside), builder_.getInt64Ty());
  builder_.CreateStore(inside, field(offsetof(heddle_record_state, called)));
}

void LogEmitter::count_down_to_chaos() {
  llvm::Value* left = builder_.CreateLoad(builder_.getInt64Ty(), field(offsetof(heddle_record_state, chaos)));
  left = builder_.CreateSub(left, builder_.getInt64(1));
  builder_.CreateStore(left, field(offsetof(heddle_record_state, chaos)));
  enter_cold_path(builder_.CreateICmpEQ(left, builder_.getInt64(0)));
  builder_.CreateCall(hooks_.chaos)->setCallingConv(llvm::CallingConv::PreserveAll);
  leave_cold_path();
}

}  // namespace heddle
