// Random programs for tests of what depends on paths and words: functions with loops, switches, calls and
// recursion, written as clang does at -O0 (local variables in stack slots).
//
// @main takes nothing and returns nothing. Values come from constants, from @input (i64), from @noise (i64),
// and from the global @shared, which the program itself changes. Every program ends: loops and functions use up
// @fuel.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/NoFolder.h>
#include <llvm/IR/Operator.h>

#include <memory>
#include <random>
#include <vector>

namespace heddle {

class RandomWordsProgram {
 public:
  enum class Promises { none, some };  // nsw and the like, which may be broken
  RandomWordsProgram(llvm::LLVMContext& context, uint64_t seed, Promises promises)
      : module_(std::make_unique<llvm::Module>("random", context)),
        b_(context),
        random_(seed),
        promises_(promises) {
    llvm::IntegerType* word = b_.getInt64Ty();
    input_ = module_->getOrInsertFunction("input", word);
    noise_ = module_->getOrInsertFunction("noise", word);
    shared_ = new llvm::GlobalVariable(*module_, word, false, llvm::GlobalValue::ExternalLinkage,
                                       b_.getInt64(3), "shared");
    fuel_ = new llvm::GlobalVariable(*module_, word, false, llvm::GlobalValue::ExternalLinkage,
                                     b_.getInt64(200), "fuel");
    record_ = llvm::StructType::get(
        context, {b_.getInt8Ty(), b_.getInt32Ty(), llvm::ArrayType::get(b_.getInt16Ty(), 4)});
    declare_functions();
    for (llvm::Function* function : functions_) write_function(*function);
  }

  std::unique_ptr<llvm::Module> take() { return std::move(module_); }

 private:
  size_t pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }
  bool chance(unsigned percent) { return pick(100) < percent; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[pick(list.size())];
  }
  llvm::Type* any_type() {
    return one_of<llvm::Type*>(
        {b_.getInt8Ty(), b_.getInt16Ty(), b_.getInt32Ty(), b_.getInt32Ty(), b_.getInt64Ty(), b_.getPtrTy()});
  }

  void declare_functions() {
    const size_t count = 2 + pick(4);
    for (size_t i = 0; i < count; ++i) {
      llvm::SmallVector<llvm::Type*, 4> parameters;
      for (size_t p = i == 0 ? 0 : pick(4); p > 0; --p) parameters.push_back(any_type());
      llvm::Type* result = i == 0 ? b_.getVoidTy() : any_type();
      auto* function = llvm::Function::Create(
          llvm::FunctionType::get(result, parameters, false),
          i == 0 ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage,
          i == 0 ? "main" : "f" + std::to_string(i), *module_);
      if (chance(70)) function->addFnAttr(llvm::Attribute::NoInline);
      functions_.push_back(function);
    }
  }

  void write_function(llvm::Function& function) {
    function_ = &function;
    slots_.clear();
    b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", &function));
    for (llvm::Argument& argument : function.args()) {
      slots_.push_back(b_.CreateAlloca(argument.getType()));
      b_.CreateStore(&argument, slots_.back());
    }
    for (size_t i = 2 + pick(4); i > 0; --i) {
      slots_.push_back(b_.CreateAlloca(any_type()));
      b_.CreateStore(llvm::Constant::getNullValue(slots_.back()->getAllocatedType()), slots_.back());
    }
    if (&function != functions_.front()) {
      llvm::BasicBlock* empty = new_block();
      llvm::BasicBlock* body = new_block();
      b_.CreateCondBr(burn_fuel(), body, empty);
      b_.SetInsertPoint(empty);
      b_.CreateRet(llvm::Constant::getNullValue(function.getReturnType()));
      b_.SetInsertPoint(body);
    }
    statements(2 + pick(4), 3);
    if (function.getReturnType()->isVoidTy())
      b_.CreateRetVoid();
    else
      b_.CreateRet(expression(function.getReturnType(), 2));
  }

  llvm::BasicBlock* new_block() { return llvm::BasicBlock::Create(b_.getContext(), "", function_); }

  llvm::Value* burn_fuel() {
    llvm::Value* left = b_.CreateLoad(b_.getInt64Ty(), fuel_);
    b_.CreateStore(b_.CreateSub(left, b_.getInt64(1)), fuel_);
    return b_.CreateICmpSGT(left, b_.getInt64(0));
  }

  void statements(size_t count, unsigned depth) {
    while (count-- > 0) statement(depth);
  }

  void statement(unsigned depth) {
    switch (pick(depth == 0 ? 4 : 9)) {
      case 0:
      case 1:
        return assign();
      case 2:
        return exchange();
      case 3:
        b_.CreateStore(expression(b_.getInt64Ty(), 2), shared_);
        return;
      case 4:
      case 5:
        return if_else(depth);
      case 6:
        return choice(depth);
      case 7:
        return counted_loop(depth);
      default:
        return fuelled_loop(depth);
    }
  }

  void assign() {
    llvm::AllocaInst* slot = slots_[pick(slots_.size())];
    b_.CreateStore(expression(slot->getAllocatedType(), 3), slot);
  }

  // In loops this becomes phis that depend on each other.
  void exchange() {
    llvm::AllocaInst* x = slots_[pick(slots_.size())];
    llvm::AllocaInst* y = slots_[pick(slots_.size())];
    llvm::Value* was = b_.CreateLoad(x->getAllocatedType(), x);
    b_.CreateStore(as_type(b_.CreateLoad(y->getAllocatedType(), y), x->getAllocatedType()), x);
    b_.CreateStore(as_type(was, y->getAllocatedType()), y);
  }

  void if_else(unsigned depth) {
    llvm::BasicBlock* yes = new_block();
    llvm::BasicBlock* no = new_block();
    llvm::BasicBlock* after = new_block();
    b_.CreateCondBr(condition(2), yes, no);
    for (llvm::BasicBlock* way : {yes, no}) {
      b_.SetInsertPoint(way);
      statements(pick(3), depth - 1);
      b_.CreateBr(after);
    }
    b_.SetInsertPoint(after);
  }

  void choice(unsigned depth) {
    llvm::Value* selector = b_.CreateAnd(expression(b_.getInt32Ty(), 2), b_.getInt32(7));
    llvm::BasicBlock* after = new_block();
    llvm::SwitchInst* node = b_.CreateSwitch(selector, after);
    for (uint32_t value = 0; value < 6; ++value) {
      if (chance(40)) continue;
      llvm::BasicBlock* way = new_block();
      node->addCase(b_.getInt32(value), way);
      b_.SetInsertPoint(way);
      statements(1, depth - 1);
      b_.CreateBr(after);
    }
    b_.SetInsertPoint(after);
  }

  // A counter of its own, which nothing else changes.
  void counted_loop(unsigned depth) {
    llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    llvm::AllocaInst* counter = entry.CreateAlloca(b_.getInt32Ty());
    llvm::BasicBlock* head = new_block();
    llvm::BasicBlock* body = new_block();
    llvm::BasicBlock* after = new_block();
    b_.CreateStore(b_.getInt32(0), counter);
    llvm::Value* rounds = b_.CreateAnd(expression(b_.getInt32Ty(), 1), b_.getInt32(3));
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    b_.CreateCondBr(b_.CreateICmpULT(b_.CreateLoad(b_.getInt32Ty(), counter), rounds), body, after);
    b_.SetInsertPoint(body);
    statements(1 + pick(2), depth - 1);
    b_.CreateStore(b_.CreateAdd(b_.CreateLoad(b_.getInt32Ty(), counter), b_.getInt32(1)), counter);
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
  }

  void fuelled_loop(unsigned depth) {
    llvm::BasicBlock* head = new_block();
    llvm::BasicBlock* check = new_block();
    llvm::BasicBlock* body = new_block();
    llvm::BasicBlock* after = new_block();
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    b_.CreateCondBr(burn_fuel(), check, after);
    b_.SetInsertPoint(check);
    b_.CreateCondBr(condition(2), body, after);
    b_.SetInsertPoint(body);
    statements(1 + pick(2), depth - 1);
    if (chance(30))
      b_.CreateCondBr(condition(1), head, after);
    else
      b_.CreateBr(head);
    b_.SetInsertPoint(after);
  }

  llvm::Value* condition(unsigned depth) {
    if (depth > 0 && chance(15)) return b_.CreateLogicalAnd(condition(depth - 1), condition(depth - 1));
    llvm::Type* type = any_type();
    const auto predicate =
        static_cast<llvm::CmpInst::Predicate>(llvm::CmpInst::FIRST_ICMP_PREDICATE + pick(10));
    llvm::Value* a = expression(type, depth);
    return b_.CreateICmp(predicate, a, expression(type, depth));
  }

  llvm::Value* as_type(llvm::Value* value, llvm::Type* type) {
    if (value->getType() == type) return value;
    if (type->isPointerTy()) return b_.CreateIntToPtr(value, type);
    if (value->getType()->isPointerTy()) return b_.CreatePtrToInt(value, type);
    return chance(50) ? b_.CreateSExtOrTrunc(value, type) : b_.CreateZExtOrTrunc(value, type);
  }

  llvm::Value* leaf(llvm::Type* type) {
    const size_t kind = pick(100);
    if (kind < 25)
      return as_type(b_.getInt64(one_of<uint64_t>({0, 1, 2, 5, 127, 255, ~uint64_t{0}, random_()})), type);
    if (kind < 33) return as_type(b_.CreateCall(input_), type);
    if (kind < 36) return as_type(b_.CreateLoad(b_.getInt64Ty(), shared_), type);
    if (kind < 36 + noise_percent_) return as_type(b_.CreateCall(noise_), type);
    llvm::AllocaInst* slot = slots_[pick(slots_.size())];
    return as_type(b_.CreateLoad(slot->getAllocatedType(), slot), type);
  }

  llvm::Value* expression(llvm::Type* type, unsigned depth) {
    if (depth == 0 || chance(25)) return leaf(type);
    switch (pick(8)) {
      case 0:
        return call(type, depth - 1);
      case 1:
        return b_.CreateSelect(condition(depth - 1), expression(type, depth - 1), expression(type, depth - 1));
      case 2:
        return as_type(intrinsic(depth - 1), type);
      case 3:
        return as_type(b_.CreateZExt(condition(depth - 1), b_.getInt32Ty()), type);
      default:
        return type->isPointerTy() ? pointer(depth - 1) : arithmetic(type, depth - 1);
    }
  }

  llvm::Value* call(llvm::Type* type, unsigned depth) {
    llvm::Function* callee = functions_[1 + pick(functions_.size() - 1)];
    llvm::SmallVector<llvm::Value*, 4> arguments;
    for (llvm::Argument& argument : callee->args()) arguments.push_back(expression(argument.getType(), depth));
    return as_type(b_.CreateCall(callee, arguments), type);
  }

  llvm::Value* pointer(unsigned depth) {
    llvm::Value* base = expression(b_.getPtrTy(), depth);
    if (chance(50)) return b_.CreateGEP(any_type(), base, expression(b_.getInt32Ty(), depth));
    return b_.CreateGEP(
        record_, base,
        {expression(b_.getInt64Ty(), depth), b_.getInt32(2), expression(b_.getInt16Ty(), depth)});
  }

  llvm::Value* arithmetic(llvm::Type* type, unsigned depth) {
    using Op = llvm::Instruction::BinaryOps;
    const Op op = one_of<Op>({llvm::Instruction::Add, llvm::Instruction::Sub, llvm::Instruction::Mul,
                              llvm::Instruction::And, llvm::Instruction::Or, llvm::Instruction::Xor,
                              llvm::Instruction::Shl, llvm::Instruction::LShr, llvm::Instruction::AShr,
                              llvm::Instruction::UDiv, llvm::Instruction::URem, llvm::Instruction::SDiv,
                              llvm::Instruction::SRem});
    llvm::Value* a = expression(type, depth);
    llvm::Value* b = expression(type, depth);
    const auto width = type->getIntegerBitWidth();
    if (llvm::Instruction::isShift(op)) b = b_.CreateAnd(b, llvm::ConstantInt::get(type, width - 1));
    // Never 0 and never -1.
    if (llvm::Instruction::isIntDivRem(op))
      b = b_.CreateAdd(b_.CreateAnd(b, llvm::ConstantInt::get(type, 7)), llvm::ConstantInt::get(type, 1));
    llvm::Value* result = b_.CreateBinOp(op, a, b);
    if (auto* made = llvm::dyn_cast<llvm::Instruction>(result); made != nullptr && promises_ == Promises::some)
      promise(*made);
    return result;
  }

  void promise(llvm::Instruction& made) {
    if (llvm::isa<llvm::OverflowingBinaryOperator>(made)) {
      made.setHasNoSignedWrap(chance(30));
      made.setHasNoUnsignedWrap(chance(10));
    }
    if (llvm::isa<llvm::PossiblyExactOperator>(made)) made.setIsExact(chance(20));
  }

  llvm::Value* intrinsic(unsigned depth) {
    namespace I = llvm::Intrinsic;
    llvm::Type* type = one_of<llvm::Type*>({b_.getInt16Ty(), b_.getInt32Ty(), b_.getInt64Ty()});
    llvm::Value* a = expression(type, depth);
    llvm::Value* b = expression(type, depth);
    switch (pick(5)) {
      case 0:
        return b_.CreateBinaryIntrinsic(one_of<I::ID>({I::umin, I::umax, I::smin, I::smax, I::uadd_sat,
                                                       I::sadd_sat, I::usub_sat, I::ssub_sat}),
                                        a, b);
      case 1:
        return b_.CreateUnaryIntrinsic(one_of<I::ID>({I::ctpop, I::bswap, I::bitreverse}), a);
      case 2:
        return b_.CreateBinaryIntrinsic(one_of<I::ID>({I::ctlz, I::cttz, I::abs}), a, b_.getFalse());
      case 3:
        return b_.CreateIntrinsic(one_of<I::ID>({I::fshl, I::fshr}), {type}, {a, b, expression(type, depth)});
      default: {
        llvm::Value* pair = b_.CreateBinaryIntrinsic(
            one_of<I::ID>({I::sadd_with_overflow, I::uadd_with_overflow, I::ssub_with_overflow,
                           I::usub_with_overflow, I::smul_with_overflow, I::umul_with_overflow}),
            a, b);
        return b_.CreateSelect(b_.CreateExtractValue(pair, 1), b_.CreateExtractValue(pair, 0), b);
      }
    }
  }

  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<llvm::NoFolder> b_;
  std::mt19937_64 random_;
  Promises promises_;
  // What follows from noise spreads far: in most programs there is little or none.
  size_t noise_percent_ = one_of<size_t>({0, 0, 1, 2});
  llvm::FunctionCallee input_, noise_;
  llvm::GlobalVariable* shared_ = nullptr;
  llvm::GlobalVariable* fuel_ = nullptr;
  llvm::StructType* record_ = nullptr;
  std::vector<llvm::Function*> functions_;
  llvm::Function* function_ = nullptr;
  std::vector<llvm::AllocaInst*> slots_;
};

}  // namespace heddle
