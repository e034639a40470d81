// The evaluator against the machine: random programs run for real (compiled by LLVM's own JIT, with a call that
// logs every block and every value of the data stream), and the evaluator follows the log. At each known branch
// it must name the block that came next, whatever the compiler makes of the program and of its promises.
#include <gtest/gtest.h>
#include <llvm/ExecutionEngine/ExecutionEngine.h>
#include <llvm/ExecutionEngine/MCJIT.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "program/promises.h"
#include "program/random_words_program.h"
#include "program/value_evaluator.h"

namespace heddle {
namespace {

std::vector<uint64_t> log_;
std::mt19937_64 stream_;

extern "C" void oracle_log(uint64_t word) {
  log_.push_back(word);
}
// Mostly small: else equal values would never meet.
extern "C" uint64_t oracle_value() {
  const uint64_t word = stream_();
  return (word & 3) == 0 ? stream_() : (word >> 8) % 7 - 3;
}

// Values of the data stream: inputs, loads of what is shared, and some of what is computed.
bool is_logged(const llvm::Instruction& instruction) {
  if (instruction.getOpcode() == llvm::Instruction::Xor) return instruction.getType()->isIntegerTy(64);
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
    return load->getPointerOperand()->getName() == "shared";
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call != nullptr && call->getCalledFunction() != nullptr &&
         call->getCalledFunction()->getName() == "input";
}

KnownValues known_values(const llvm::Module& module) {
  const auto outside = [](const llvm::Function& function) { return function.getName() == "main"; };
  return KnownValues(module, {.logged = is_logged, .entered_silently = outside});
}

void optimise(llvm::Module& module, const std::string& passes) {
  if (passes.empty()) return;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager manager;
  ASSERT_FALSE(llvm::errorToBool(builder.parsePassPipeline(manager, passes)));
  manager.run(module, modules);
}

// Sanitizers look in front of a function for its type; compiled here it has none.
__attribute__((no_sanitize("function"))) void call_compiled(uint64_t function) {
  reinterpret_cast<void (*)()>(function)();
}

// Runs a copy in which blocks (by number) and logged values report themselves, and that makes no promises about
// what known branches need.
void run(const llvm::Module& module, const llvm::DenseMap<const llvm::BasicBlock*, uint64_t>& numbers,
         llvm::CodeGenOptLevel level, uint64_t seed) {
  llvm::ValueToValueMapTy map;
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module, map);
  drop_promises(*copy, known_values(*copy));
  llvm::IRBuilder<> b(copy->getContext());
  const llvm::FunctionCallee log = copy->getOrInsertFunction("oracle_log", b.getVoidTy(), b.getInt64Ty());
  // What the optimiser found out is no longer so.
  for (llvm::Function& function : *copy) {
    function.removeFnAttr(llvm::Attribute::Memory);
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        call->removeFnAttr(llvm::Attribute::Memory);
  }
  for (const llvm::Function& function : module) {
    for (const llvm::BasicBlock& block : function) {
      auto* there = llvm::cast<llvm::BasicBlock>(map[&block]);
      b.SetInsertPoint(there, there->getFirstInsertionPt());
      b.CreateCall(log, b.getInt64(numbers.at(&block)));
      for (const llvm::Instruction& instruction : block) {
        if (!is_logged(instruction)) continue;
        auto* value = llvm::cast<llvm::Instruction>(map[&instruction]);
        b.SetInsertPoint(value->getNextNode());
        auto* frozen = llvm::cast<llvm::Instruction>(b.CreateFreeze(value));
        value->replaceUsesWithIf(frozen, [&](const llvm::Use& use) { return use.getUser() != frozen; });
        b.CreateCall(log, frozen);
      }
    }
  }
  llvm::Function* input = copy->getFunction("input");
  llvm::Function* noise = copy->getFunction("noise");
  std::string error;
  std::unique_ptr<llvm::ExecutionEngine> engine(llvm::EngineBuilder(std::move(copy))
                                                    .setErrorStr(&error)
                                                    .setEngineKind(llvm::EngineKind::JIT)
                                                    .setOptLevel(level)
                                                    .create());
  ASSERT_NE(engine, nullptr) << error;
  for (llvm::Function* function : {input, noise})
    if (function != nullptr) engine->addGlobalMapping(function, reinterpret_cast<void*>(&oracle_value));
  engine->addGlobalMapping("oracle_log", reinterpret_cast<uint64_t>(&oracle_log));
  engine->finalizeObject();
  log_.clear();
  stream_.seed(seed);
  call_compiled(engine->getFunctionAddress("main"));
}

struct Counts {
  size_t known_branches = 0, other_branches = 0;
};

// Follows the log.
class Follower {
 public:
  Follower(const KnownValues& known, const std::vector<const llvm::BasicBlock*>& blocks, Counts& counts)
      : known_(known), blocks_(blocks), counts_(counts), evaluator_(known) {}

  void follow(const llvm::Function& function, const llvm::CallBase* call) {
    evaluator_.enter(function, call);
    const llvm::BasicBlock* from = nullptr;
    const llvm::BasicBlock* block = next_block();
    ASSERT_EQ(block, &function.getEntryBlock());
    while (true) {
      evaluator_.enter_block(*block, from);
      for (const llvm::Instruction& instruction : *block) step(instruction);
      if (testing::Test::HasFatalFailure()) return;
      if (const auto* end = llvm::dyn_cast<llvm::ReturnInst>(block->getTerminator()))
        return evaluator_.leave(end);
      from = block;
      block = next_block();
      ASSERT_NE(block, nullptr);
      check_branch(*from, *block);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  bool at_end() const { return next_ == log_.size(); }

 private:
  void step(const llvm::Instruction& instruction) {
    if (llvm::isa<llvm::PHINode>(instruction)) return;
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (is_logged(instruction))
      evaluator_.set(instruction, log_.at(next_++));
    else if (call != nullptr && !call->getCalledFunction()->isDeclaration())
      follow(*call->getCalledFunction(), call);
    else
      evaluator_.execute(instruction);
  }

  void check_branch(const llvm::BasicBlock& block, const llvm::BasicBlock& taken) {
    if (block.getUniqueSuccessor() != nullptr) return;
    if (!known_.branch_known(block)) {
      ++counts_.other_branches;
      return;
    }
    ++counts_.known_branches;
    const llvm::BasicBlock* computed = evaluator_.successor(block);
    ASSERT_EQ(computed, &taken) << evaluator_.trouble();
  }

  const llvm::BasicBlock* next_block() {
    if (next_ >= log_.size() || log_[next_] >= blocks_.size()) return nullptr;
    return blocks_[log_[next_++]];
  }

  const KnownValues& known_;
  const std::vector<const llvm::BasicBlock*>& blocks_;
  Counts& counts_;
  ValueEvaluator evaluator_;
  size_t next_ = 0;
};

void check_program(uint64_t seed, RandomWordsProgram::Promises promises, const std::string& passes,
                   llvm::CodeGenOptLevel level, Counts& counts) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = RandomWordsProgram(context, seed, promises).take();
  ASSERT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  optimise(*module, passes);
  llvm::DenseMap<const llvm::BasicBlock*, uint64_t> numbers;
  std::vector<const llvm::BasicBlock*> blocks;
  for (const llvm::Function& function : *module) {
    for (const llvm::BasicBlock& block : function) {
      numbers[&block] = blocks.size();
      blocks.push_back(&block);
    }
  }
  run(*module, numbers, level, seed);
  const KnownValues known = known_values(*module);
  Follower follower(known, blocks, counts);
  follower.follow(*module->getFunction("main"), nullptr);
  if (!testing::Test::HasFatalFailure()) EXPECT_TRUE(follower.at_end());
}

constexpr uint64_t kPrograms = 40;

void start_jit() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
}

class EvaluatorOracle : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() { start_jit(); }
};

TEST_P(EvaluatorOracle, NamesTheBlockThatCameNext) {
  Counts counts;
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    check_program(seed, RandomWordsProgram::Promises::none, GetParam(), llvm::CodeGenOptLevel::None, counts);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(counts.known_branches, 1000u);
  EXPECT_GT(counts.other_branches, 1000u);
}
INSTANTIATE_TEST_SUITE_P(Levels, EvaluatorOracle,
                         testing::Values("", "function(mem2reg)", "default<O1>", "default<O2>"));

// The program breaks promises, and code generation may make use of those that are left, on values that no known
// branch needs. (Optimisation before that would: branches on such values are undefined.)
class EvaluatorOracleWithPromises : public testing::TestWithParam<llvm::CodeGenOptLevel> {
 protected:
  static void SetUpTestSuite() { start_jit(); }
};

TEST_P(EvaluatorOracleWithPromises, NamesTheBlockThatCameNext) {
  Counts counts;
  for (uint64_t seed = 1001; seed <= 1000 + kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    check_program(seed, RandomWordsProgram::Promises::some, seed % 2 == 0 ? "" : "function(mem2reg)",
                  GetParam(), counts);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(counts.known_branches, 1000u);
  EXPECT_GT(counts.other_branches, 1000u);
}
INSTANTIATE_TEST_SUITE_P(Levels, EvaluatorOracleWithPromises,
                         testing::Values(llvm::CodeGenOptLevel::None, llvm::CodeGenOptLevel::Less,
                                         llvm::CodeGenOptLevel::Default, llvm::CodeGenOptLevel::Aggressive));

}  // namespace
}  // namespace heddle
