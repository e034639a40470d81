#include "instrument/record_log.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "abi/record.h"
#include "instrument/instrument.h"

namespace heddle {
namespace {

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

LogEmitter::LogEmitter(const RecordHooks& hooks, llvm::Instruction& before, const PathWord* word)
    : hooks_(hooks), before_(before), variables_(word), builder_(&before) {
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

LogEmitter::Word LogEmitter::word_in_memory() {
  llvm::Value* at = builder_.CreateLoad(builder_.getPtrTy(), field(offsetof(heddle_record_state, word)));
  return {at, builder_.CreateLoad(builder_.getInt64Ty(), at)};
}

LogEmitter::Word LogEmitter::present_word() {
  if (variables_ == nullptr) return word_in_memory();
  return {builder_.CreateLoad(builder_.getPtrTy(), variables_->at),
          builder_.CreateLoad(builder_.getInt64Ty(), variables_->word)};
}

LogEmitter::Word LogEmitter::next_word(const Word& present, llvm::Value* full) {
  enter_cold_path(full);
  builder_.CreateCall(hooks_.next_word)->setCallingConv(llvm::CallingConv::PreserveAll);
  const Word next = word_in_memory();
  leave_cold_path();
  return {join(present.at, next.at), join(present.word, next.word)};
}

void LogEmitter::store(const Word& word) {
  builder_.CreateStore(word.word, word.at, /*isVolatile=*/true);
  if (variables_ == nullptr) return;
  builder_.CreateStore(word.at, variables_->at);
  builder_.CreateStore(word.word, variables_->word);
}

void LogEmitter::load_word() {
  const Word word = word_in_memory();
  builder_.CreateStore(word.at, variables_->at);
  builder_.CreateStore(word.word, variables_->word);
}

void LogEmitter::write_bits(llvm::Value* number, unsigned bits) {
  const Word present = present_word();
  llvm::Value* none = builder_.getInt64(0);
  llvm::Value* full =
      bits == 1 ? builder_.CreateICmpSLT(present.word, none)
                : builder_.CreateICmpNE(builder_.CreateLShr(present.word, builder_.getInt64(64 - bits)), none);
  const Word word = next_word(present, full);
  store({word.at, builder_.CreateOr(builder_.CreateShl(word.word, builder_.getInt64(bits)), number)});
}

// Doubles the word; the carry says that it was full.
void LogEmitter::write_round() {
  const Word present = present_word();
  llvm::Value* doubled =
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::uadd_with_overflow, present.word, present.word);
  llvm::Value* usual = builder_.CreateExtractValue(doubled, 0);
  enter_cold_path(builder_.CreateExtractValue(doubled, 1));
  builder_.CreateCall(hooks_.next_word)->setCallingConv(llvm::CallingConv::PreserveAll);
  const Word next = word_in_memory();
  llvm::Value* next_doubled = builder_.CreateShl(next.word, 1);
  leave_cold_path();
  llvm::Value* at = join(present.at, next.at);
  store({at, join(usual, next_doubled)});
}

llvm::Value* LogEmitter::path() {
  return builder_.CreateLoad(builder_.getInt64Ty(), field(offsetof(heddle_record_state, path)));
}

void LogEmitter::set_path(llvm::Value* number) {
  builder_.CreateStore(number, field(offsetof(heddle_record_state, path)), /*isVolatile=*/true);
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
