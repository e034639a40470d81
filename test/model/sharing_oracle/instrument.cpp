// Sharing oracle, step 2: judges the accesses of a module and makes every one of them report itself.
//
//   instrument IN.bc OUT.bc [TABLE]    writes the instrumented module
//   instrument --print IN.bc [TABLE]   prints verdicts and counts instead (for people)
//
// The instrumented module calls oracle_access(number, address, size, flags) before each access (runtime.c). So
// that an address means one object for the whole run, stack objects are taken from oracle_alloc(), which never
// gives the same memory twice, and malloc, calloc, realloc and free are renamed to versions that do so too. The
// verdicts are made on the untouched module.
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>

#include "program/sharing.h"

namespace {

constexpr unsigned kWrite = 1;
constexpr unsigned kPrivate = 2;
constexpr unsigned kConstant = 4;
constexpr unsigned kUnreachable = 8;

unsigned flags_of(const heddle::Access& access) {
  unsigned flags = access.kind == heddle::AccessKind::read ? 0 : kWrite;
  if (access.sharing != heddle::Sharing::shared) flags |= kPrivate;
  if (access.sharing == heddle::Sharing::constant_memory) flags |= kConstant;
  if (access.sharing == heddle::Sharing::unreachable_code) flags |= kUnreachable;
  return flags;
}

class Rewriter {
 public:
  explicit Rewriter(llvm::Module& module) : module_(module), context_(module.getContext()) {
    word_ = llvm::Type::getInt64Ty(context_);
    number_ = llvm::Type::getInt32Ty(context_);
    pointer_ = llvm::PointerType::getUnqual(context_);
    report_ = module.getOrInsertFunction(
        "oracle_access",
        llvm::FunctionType::get(llvm::Type::getVoidTy(context_), {number_, pointer_, word_, number_}, false));
    alloc_ = module.getOrInsertFunction("oracle_alloc", llvm::FunctionType::get(pointer_, {word_}, false));
  }

  void report(const heddle::Access& access, size_t index) {
    auto* at = const_cast<llvm::Instruction*>(access.instruction);
    llvm::IRBuilder<> builder(at);
    auto* pointer = const_cast<llvm::Value*>(access.pointer);
    if (pointer->getType()->isVectorTy()) return;  // gather and scatter: not made for plain x86-64
    llvm::Value* size = builder.getInt64(access.size);
    if (access.size == 0) {
      const auto* call = llvm::dyn_cast<llvm::MemIntrinsic>(at);
      if (call == nullptr) return;
      size = builder.CreateZExtOrTrunc(call->getLength(), word_);
    }
    builder.CreateCall(report_, {builder.getInt32(static_cast<uint32_t>(index)), pointer, size,
                                 builder.getInt32(flags_of(access))});
  }

  void move_stack_objects(llvm::Function& function) {
    llvm::SmallVector<llvm::AllocaInst*, 16> objects;
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
        if (auto* object = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) objects.push_back(object);
        auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (call != nullptr && call->isLifetimeStartOrEnd()) call->eraseFromParent();
      }
    }
    for (llvm::AllocaInst* object : objects) {
      llvm::IRBuilder<> builder(object);
      const uint64_t bytes = module_.getDataLayout().getTypeAllocSize(object->getAllocatedType());
      llvm::Value* count = builder.CreateZExtOrTrunc(object->getArraySize(), word_);
      object->replaceAllUsesWith(
          builder.CreateCall(alloc_, {builder.CreateMul(count, builder.getInt64(bytes))}));
      object->eraseFromParent();
    }
    move_arguments(function);
    // Moved objects are no frame of the caller any more: a tail call is as good as any, musttail is not made
    // from C.
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction))
        call->setTailCallKind(llvm::CallInst::TCK_None);
    }
  }

  void rename(llvm::StringRef from, llvm::StringRef to) {
    llvm::Function* function = module_.getFunction(from);
    if (function == nullptr || !function->isDeclaration()) return;
    function->replaceAllUsesWith(module_.getOrInsertFunction(to, function->getFunctionType()).getCallee());
  }

 private:
  void move_arguments(llvm::Function& function) {
    llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
    for (llvm::Argument& argument : function.args()) {
      if (!argument.hasByValAttr()) continue;
      const uint64_t bytes = module_.getDataLayout().getTypeAllocSize(argument.getParamByValType());
      llvm::CallInst* copy = builder.CreateCall(alloc_, {builder.getInt64(bytes)});
      argument.replaceAllUsesWith(copy);
      builder.CreateMemCpy(copy, llvm::MaybeAlign(8), &argument, llvm::MaybeAlign(8), bytes);
    }
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::Type* word_;
  llvm::Type* number_;
  llvm::Type* pointer_;
  llvm::FunctionCallee report_;
  llvm::FunctionCallee alloc_;
};

heddle::EffectsTable load_table(const char* path) {
  heddle::EffectsTable table;
  if (path == nullptr) return table;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (auto added = table.add(text.str(), path); !added) {
    llvm::errs() << added.error().text() << '\n';
    std::exit(3);
  }
  return table;
}

void print(const heddle::SharingResult& result, size_t instructions, double seconds) {
  const char* quiet = std::getenv("ORACLE_QUIET");
  for (size_t i = 0; quiet == nullptr && i < result.accesses.size(); ++i) {
    const heddle::Access& access = result.accesses[i];
    llvm::outs() << i << ' ' << heddle::sharing_name(access.sharing) << ' '
                 << access.instruction->getFunction()->getName() << ':' << *access.instruction << '\n';
  }
  for (size_t i = 0; i < heddle::kSharings; ++i) {
    llvm::outs() << heddle::sharing_name(static_cast<heddle::Sharing>(i)) << ' ' << result.counts[i] << '\n';
  }
  llvm::outs() << instructions << " instructions, " << result.accesses.size() << " accesses, "
               << static_cast<int>(100.0 - 100.0 * static_cast<double>(result.counts[0]) /
                                               static_cast<double>(std::max<size_t>(1, result.accesses.size())))
               << "% excluded, " << static_cast<int>(seconds * 1000) << " ms\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool only_print = std::strcmp(argv[1], "--print") == 0;
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseIRFile(only_print ? argv[2] : argv[1], diagnostic, context);
  if (module == nullptr) {
    diagnostic.print(argv[0], llvm::errs());
    return 3;
  }
  const heddle::EffectsTable table = load_table(argc > 3 ? argv[3] : nullptr);
  const auto start = std::chrono::steady_clock::now();
  const heddle::SharingResult result = heddle::analyse_sharing(*module, table, {});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (only_print) {
    print(result, module->getInstructionCount(), seconds.count());
    return 0;
  }
  Rewriter rewriter(*module);
  for (size_t i = 0; i < result.accesses.size(); ++i) rewriter.report(result.accesses[i], i);
  for (llvm::Function& function : *module) {
    if (!function.isDeclaration()) rewriter.move_stack_objects(function);
  }
  rewriter.rename("malloc", "oracle_alloc");
  rewriter.rename("calloc", "oracle_calloc");
  rewriter.rename("realloc", "oracle_realloc");
  rewriter.rename("free", "oracle_free");
  rewriter.rename("pthread_create", "oracle_create");
  if (llvm::verifyModule(*module, &llvm::errs())) return 70;
  std::error_code error;
  llvm::raw_fd_ostream out(argv[2], error);
  if (error) return 3;
  llvm::WriteBitcodeToFile(*module, out);
  return 0;
}
