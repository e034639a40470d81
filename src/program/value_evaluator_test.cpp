#include "program/value_evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>

#include <memory>
#include <string>

namespace heddle {
namespace {

using testing::HasSubstr;

// Calls of @input* are in the data stream. Functions whose name begins with "out" are entered from outside.
class Evaluator : public testing::Test {
 protected:
  void analyse(const std::string& ir) {
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(
        "target datalayout = \"e-m:e-p270:32:32-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n"
        "declare i32 @input()\ndeclare i64 @input64()\ndeclare i8 @input8()\ndeclare ptr @input_pointer()\n" +
            ir,
        diagnostic, context_);
    ASSERT_NE(module_, nullptr) << diagnostic.getMessage().str() << " at line " << diagnostic.getLineNo();
    const auto logged = [](const llvm::Instruction& instruction) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      return call != nullptr && call->getCalledFunction()->getName().starts_with("input");
    };
    const auto outside = [](const llvm::Function& function) { return function.getName().starts_with("out"); };
    known_ =
        std::make_unique<KnownValues>(*module_, KnownOptions{.logged = logged, .entered_silently = outside});
    evaluator_ = std::make_unique<ValueEvaluator>(*known_);
  }

  // Follows @out, whose branches are all known, with these inputs; the names of the blocks it goes through,
  // callees included, and "?" where the evaluator does not know on.
  std::string follow(std::vector<uint64_t> inputs) {
    inputs_ = std::move(inputs);
    path_.clear();
    run(*module_->getFunction("out"), nullptr);
    EXPECT_EQ(evaluator_->depth(), lost() ? 1u : 0u);
    return path_;
  }

  // Is `condition`, an expression of i1 computed by `body` from %a and %b of `type`, true?
  std::string decide(const std::string& type, uint64_t a, uint64_t b, const std::string& body) {
    analyse("define void @out() {\n %a = call " + type + " @input_a()\n %b = call " + type + " @input_b()\n" +
            body + "\n br i1 %c, label %yes, label %no\nyes:\n ret void\nno:\n ret void\n}\ndeclare " + type +
            " @input_a()\ndeclare " + type + " @input_b()\n");
    return module_ == nullptr ? "" : follow({a, b});
  }

  bool lost() const { return path_.ends_with("?"); }

  void run(const llvm::Function& function, const llvm::CallBase* call) {
    evaluator_->enter(function, call);
    const llvm::BasicBlock* from = nullptr;
    for (const llvm::BasicBlock* block = &function.getEntryBlock(); block != nullptr;) {
      if (block->hasName()) path_ += (path_.empty() ? "" : " ") + block->getName().str();
      evaluator_->enter_block(*block, from);
      for (const llvm::Instruction& instruction : *block) {
        if (llvm::isa<llvm::PHINode>(instruction)) continue;
        if (const auto* made = llvm::dyn_cast<llvm::CallBase>(&instruction);
            made != nullptr && !made->getCalledFunction()->isIntrinsic()) {
          if (!made->getCalledFunction()->isDeclaration()) {
            run(*made->getCalledFunction(), made);
            if (lost()) return;
          } else if (!inputs_.empty()) {
            evaluator_->set(instruction, inputs_.front());
            inputs_.erase(inputs_.begin());
          }
        } else {
          evaluator_->execute(instruction);
        }
      }
      if (const auto* end = llvm::dyn_cast<llvm::ReturnInst>(block->getTerminator())) {
        evaluator_->leave(end);
        return;
      }
      from = block;
      block =
          block->getUniqueSuccessor() != nullptr ? block->getUniqueSuccessor() : evaluator_->successor(*block);
      if (block == nullptr) path_ += " ?";
    }
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  std::unique_ptr<KnownValues> known_;
  std::unique_ptr<ValueEvaluator> evaluator_;
  std::vector<uint64_t> inputs_;
  std::string path_;
};

struct Case {
  const char* type;
  uint64_t a, b;
  const char* operation;  // with the result type's width
  const char* result_type;
  const char* result;
};

TEST_F(Evaluator, Operations) {
  const Case cases[] = {
      {"i8", 200, 100, "add i8 %a, %b", "i8", "44"},
      {"i8", 5, 9, "sub i8 %a, %b", "i8", "-4"},
      {"i64", uint64_t{1} << 63, 2, "mul i64 %a, %b", "i64", "0"},
      {"i32", 0xfffffff9, 2, "sdiv i32 %a, %b", "i32", "-3"},
      {"i32", 0xfffffff9, 2, "srem i32 %a, %b", "i32", "-1"},
      {"i32", 0xfffffff9, 2, "udiv i32 %a, %b", "i32", "2147483644"},
      {"i32", 0xfffffff9, 4, "urem i32 %a, %b", "i32", "1"},
      {"i16", 0x8001, 4, "shl i16 %a, %b", "i16", "16"},
      {"i16", 0x8001, 4, "lshr i16 %a, %b", "i16", "2048"},
      {"i16", 0x8001, 4, "ashr i16 %a, %b", "i16", "-2048"},
      {"i8", 12, 10, "and i8 %a, %b", "i8", "8"},
      {"i8", 12, 10, "or i8 %a, %b", "i8", "14"},
      {"i8", 12, 10, "xor i8 %a, %b", "i8", "6"},
      {"i8", 0x1ff, 0, "sext i8 %a to i32", "i32", "-1"},  // more bits than the value has are left out
      {"i8", 255, 0, "zext i8 %a to i32", "i32", "255"},
      {"i64", 0x1234567890, 0, "trunc i64 %a to i16", "i16", "30864"},
      {"i1", 1, 0, "sext i1 %a to i8", "i8", "-1"},
      {"i33", 0x1ffffffff, 0, "add i33 %a, 1", "i33", "0"},
      {"i32", 7, 3, "select i1 true, i32 %a, i32 %b", "i32", "7"},
      {"i32", 7, 3, "freeze i32 %b", "i32", "3"},
      {"i32", 7, 0xffffffff, "call i32 @llvm.umin.i32(i32 %a, i32 %b)", "i32", "7"},
      {"i32", 7, 0xffffffff, "call i32 @llvm.umax.i32(i32 %a, i32 %b)", "i32", "-1"},
      {"i32", 7, 0xffffffff, "call i32 @llvm.smin.i32(i32 %a, i32 %b)", "i32", "-1"},
      {"i32", 7, 0xffffffff, "call i32 @llvm.smax.i32(i32 %a, i32 %b)", "i32", "7"},
      {"i32", 0xffffffff, 0, "call i32 @llvm.abs.i32(i32 %a, i1 true)", "i32", "1"},
      {"i32", 0xff, 0, "call i32 @llvm.ctpop.i32(i32 %a)", "i32", "8"},
      {"i32", 0xff, 0, "call i32 @llvm.ctlz.i32(i32 %a, i1 true)", "i32", "24"},
      {"i32", 0, 0, "call i32 @llvm.cttz.i32(i32 %a, i1 false)", "i32", "32"},
      {"i32", 0x01020304, 0, "call i32 @llvm.bswap.i32(i32 %a)", "i32", "67305985"},
      {"i8", 0x01, 0, "call i8 @llvm.bitreverse.i8(i8 %a)", "i8", "-128"},
      {"i8", 0x81, 0x40, "call i8 @llvm.fshl.i8(i8 %a, i8 %b, i8 10)", "i8", "5"},
      {"i8", 0x81, 0x40, "call i8 @llvm.fshr.i8(i8 %a, i8 %b, i8 1)", "i8", "-96"},
      {"i8", 0x81, 0x40, "call i8 @llvm.fshr.i8(i8 %a, i8 %b, i8 8)", "i8", "64"},
      {"i8", 100, 100, "call i8 @llvm.sadd.sat.i8(i8 %a, i8 %b)", "i8", "127"},
      {"i8", 100, 200, "call i8 @llvm.usub.sat.i8(i8 %a, i8 %b)", "i8", "0"},
      {"i8", 100, 200, "call i8 @llvm.scmp.i8.i8(i8 %a, i8 %b)", "i8", "1"},
      {"i8", 100, 200, "call i8 @llvm.ucmp.i8.i8(i8 %a, i8 %b)", "i8", "-1"},
      {"i8", 100, 0, "call i8 @llvm.expect.i8(i8 %a, i8 0)", "i8", "100"},
      {"ptr", 1000, 0, "ptrtoint ptr %a to i8", "i8", "-24"},
      {"ptr", 1000, 0, "ptrtoint ptr %a to i64", "i64", "1000"},
      {"i8", 255, 0, "inttoptr i8 %a to ptr", "ptr", "inttoptr (i64 255 to ptr)"},
      {"ptr", 1000, 0, "getelementptr { i8, [4 x { i16, i32 }] }, ptr %a, i64 -1, i32 1, i64 2, i32 1", "ptr",
       "inttoptr (i64 988 to ptr)"},
      {"i32", 0xffffffff, 0, "getelementptr i32, ptr null, i32 %a", "ptr", "inttoptr (i64 -4 to ptr)"},
  };
  for (const Case& c : cases) {
    const std::string compare =
        std::string(" %r = ") + c.operation + "\n %c = icmp eq " + c.result_type + " %r, " + c.result;
    EXPECT_EQ(decide(c.type, c.a, c.b, compare), "yes") << c.operation << " " << evaluator_->trouble();
    const std::string differ =
        std::string(" %r = ") + c.operation + "\n %c = icmp ne " + c.result_type + " %r, " + c.result;
    EXPECT_EQ(decide(c.type, c.a, c.b, differ), "no") << c.operation;
  }
}

TEST_F(Evaluator, OverflowPairs) {
  const auto over = [&](const char* operation, uint64_t a, uint64_t b) {
    return decide("i8", a, b,
                  " %pair = call { i8, i1 } @llvm." + std::string(operation) +
                      ".with.overflow.i8(i8 %a, i8 %b)\n %c = extractvalue { i8, i1 } %pair, 1");
  };
  EXPECT_EQ(over("sadd", 100, 27), "no");
  EXPECT_EQ(over("sadd", 100, 28), "yes");
  EXPECT_EQ(over("uadd", 100, 155), "no");
  EXPECT_EQ(over("uadd", 100, 156), "yes");
  EXPECT_EQ(over("ssub", 128, 1), "yes");
  EXPECT_EQ(over("usub", 1, 2), "yes");
  EXPECT_EQ(over("smul", 16, 8), "yes");
  EXPECT_EQ(over("umul", 16, 8), "no");
  EXPECT_EQ(decide("i8", 100, 100,
                   " %pair = call { i8, i1 } @llvm.sadd.with.overflow.i8(i8 %a, i8 %b)\n"
                   " %sum = extractvalue { i8, i1 } %pair, 0\n %c = icmp eq i8 %sum, -56"),
            "yes");
}

TEST_F(Evaluator, Comparisons) {
  const auto holds = [&](const char* predicate, uint64_t a, uint64_t b) {
    return decide("i8", a, b, " %c = icmp " + std::string(predicate) + " i8 %a, %b") == "yes";
  };
  EXPECT_TRUE(holds("eq", 5, 5) && !holds("ne", 5, 5) && holds("ult", 5, 200) && !holds("slt", 5, 200));
  EXPECT_TRUE(holds("sge", 5, 200) && !holds("uge", 5, 200) && holds("sle", 5, 5) && !holds("sgt", 5, 5));
}

// The recorded program makes none of these (promises.h).
TEST_F(Evaluator, PromisesAreNotLookedAt) {
  const Case cases[] = {
      {"i8", 100, 28, "add nsw i8 %a, %b", "i8", "-128"},
      {"i8", 200, 56, "add nuw i8 %a, %b", "i8", "0"},
      {"i8", 128, 1, "sub nsw i8 %a, %b", "i8", "127"},
      {"i8", 1, 2, "sub nuw i8 %a, %b", "i8", "-1"},
      {"i8", 64, 2, "mul nsw i8 %a, %b", "i8", "-128"},
      {"i8", 128, 2, "mul nuw i8 %a, %b", "i8", "0"},
      {"i8", 64, 1, "shl nsw i8 %a, %b", "i8", "-128"},
      {"i8", 128, 1, "shl nuw i8 %a, %b", "i8", "0"},
      {"i8", 5, 1, "lshr exact i8 %a, %b", "i8", "2"},
      {"i8", 5, 1, "ashr exact i8 %a, %b", "i8", "2"},
      {"i8", 5, 2, "udiv exact i8 %a, %b", "i8", "2"},
      {"i8", 5, 2, "sdiv exact i8 %a, %b", "i8", "2"},
      {"i8", 3, 1, "or disjoint i8 %a, %b", "i8", "3"},
      {"i8", 255, 0, "zext nneg i8 %a to i16", "i16", "255"},
      {"i8", 255, 0, "trunc nuw i8 %a to i4", "i4", "-1"},
      {"i8", 127, 0, "trunc nsw i8 %a to i4", "i4", "-1"},
      {"i8", 128, 0, "call i8 @llvm.abs.i8(i8 %a, i1 true)", "i8", "-128"},
      {"i8", 0, 0, "call i8 @llvm.ctlz.i8(i8 %a, i1 true)", "i8", "8"},
      {"i8", 0, 0, "call i8 @llvm.cttz.i8(i8 %a, i1 true)", "i8", "8"},
      {"ptr", 1, 0, "getelementptr inbounds i8, ptr %a, i64 -2", "ptr", "inttoptr (i64 -1 to ptr)"},
  };
  for (const Case& c : cases) {
    const std::string compare =
        std::string(" %r = ") + c.operation + "\n %c = icmp eq " + c.result_type + " %r, " + c.result;
    EXPECT_EQ(decide(c.type, c.a, c.b, compare), "yes") << c.operation << " " << evaluator_->trouble();
  }
}

TEST_F(Evaluator, OperationsWithoutResult) {
  const Case cases[] = {
      {"i8", 1, 8, "shl i8 %a, %b", "i8", "0"},      {"i8", 1, 255, "lshr i8 %a, %b", "i8", "0"},
      {"i8", 1, 9, "ashr i8 %a, %b", "i8", "0"},     {"i8", 1, 0, "udiv i8 %a, %b", "i8", "0"},
      {"i8", 1, 0, "srem i8 %a, %b", "i8", "0"},     {"i8", 128, 255, "sdiv i8 %a, %b", "i8", "0"},
      {"i8", 128, 255, "srem i8 %a, %b", "i8", "0"},
  };
  for (const Case& c : cases) {
    const std::string compare =
        std::string(" %r = ") + c.operation + "\n %c = icmp eq " + c.result_type + " %r, " + c.result;
    EXPECT_EQ(decide(c.type, c.a, c.b, compare), " ?") << c.operation;
    EXPECT_THAT(evaluator_->trouble(), HasSubstr(c.operation));
    EXPECT_THAT(evaluator_->trouble(), HasSubstr("undefined behaviour"));
  }
}

TEST_F(Evaluator, FaultsTravelWithValuesButNotThroughSelect) {
  const std::string bad = " %bad = shl i8 %a, %b\n";
  EXPECT_EQ(
      decide("i8", 100, 100, bad + " %more = xor i8 %bad, 1\n %f = freeze i8 %more\n %c = icmp eq i8 %f, 0"),
      " ?");
  EXPECT_THAT(evaluator_->trouble(), HasSubstr("shl"));
  EXPECT_EQ(decide("i8", 100, 100,
                   bad + " %good = icmp eq i8 %a, 100\n %s = select i1 %good, i8 1, i8 %bad\n"
                         " %c = icmp eq i8 %s, 1"),
            "yes");
  EXPECT_EQ(
      decide("i8", 100, 100, bad + " %good = icmp eq i8 %bad, 100\n %c = select i1 %good, i1 true, i1 true"),
      " ?");
}

TEST_F(Evaluator, ValuesThatWereNeverSet) {
  analyse(R"(
  define void @out() {
    %a = call i32 @input()
    %b = add i32 %a, 1
    %c = icmp eq i32 %b, 0
    br i1 %c, label %yes, label %no
  yes:
    ret void
  no:
    ret void
  })");
  EXPECT_EQ(follow({}), " ?");
  EXPECT_EQ(evaluator_->trouble(), "no value is known for '%a = call i32 @input()' at out");
}

TEST_F(Evaluator, TroubleNamesTheSourceLine) {
  analyse(R"(
  define void @out() !dbg !3 {
    %a = call i32 @input()
    %b = udiv i32 1, %a, !dbg !4
    %c = icmp eq i32 %b, 0
    br i1 %c, label %yes, label %no
  yes:
    ret void
  no:
    ret void
  }
  !llvm.dbg.cu = !{!0}
  !llvm.module.flags = !{!5}
  !0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
  !1 = !DIFile(filename: "count.c", directory: "/src")
  !2 = !DISubroutineType(types: !{})
  !3 = distinct !DISubprogram(name: "out", file: !1, line: 10, type: !2, unit: !0, spFlags: DISPFlagDefinition)
  !4 = !DILocation(line: 12, column: 3, scope: !3)
  !5 = !{i32 2, !"Debug Info Version", i32 3}
  )");
  EXPECT_EQ(follow({0}), " ?");
  EXPECT_THAT(evaluator_->trouble(), HasSubstr("at /src/count.c:12 in out"));
}

TEST_F(Evaluator, PhisReadBeforeTheyAreWritten) {
  analyse(R"(
  define void @out() {
    br label %loop
  loop:
    %i = phi i32 [ 0, %0 ], [ %next, %loop ]
    %x = phi i32 [ 1, %0 ], [ %y, %loop ]
    %y = phi i32 [ 2, %0 ], [ %x, %loop ]
    %next = add i32 %i, 1
    %more = icmp slt i32 %next, 2
    br i1 %more, label %loop, label %end
  end:
    %c = icmp eq i32 %x, 2
    br i1 %c, label %swapped, label %wrong
  swapped:
    ret void
  wrong:
    ret void
  })");
  EXPECT_EQ(follow({}), "loop loop end swapped");
}

TEST_F(Evaluator, Switches) {
  analyse(R"(
  define void @out() {
    %v = call i8 @input8()
    switch i8 %v, label %other [ i8 0, label %zero  i8 -1, label %minus  i8 7, label %zero ]
  zero:
    ret void
  minus:
    ret void
  other:
    ret void
  })");
  EXPECT_EQ(follow({0}), "zero");
  EXPECT_EQ(follow({7}), "zero");
  EXPECT_EQ(follow({255}), "minus");
  EXPECT_EQ(follow({1}), "other");
}

TEST_F(Evaluator, CallsRecursionAndSlots) {
  analyse(R"(
  define i32 @factorial(i32 %n) {
  f:
    %slot = alloca i32
    store i32 %n, ptr %slot
    %is_end = icmp ule i32 %n, 1
    br i1 %is_end, label %stop, label %more
  stop:
    ret i32 1
  more:
    %less = sub i32 %n, 1
    %rest = call i32 @factorial(i32 %less)
    %mine = load i32, ptr %slot
    %product = mul i32 %mine, %rest
    ret i32 %product
  }
  define void @out() {
    %n = call i32 @input()
    %r = call i32 @factorial(i32 %n)
    %c = icmp eq i32 %r, 24
    br i1 %c, label %yes, label %no
  yes:
    ret void
  no:
    ret void
  })");
  EXPECT_EQ(follow({4}), "f more f more f more f stop yes");
  EXPECT_EQ(follow({1}), "f stop no");
}

TEST_F(Evaluator, ActivationsThatEndWithoutReturn) {
  analyse(R"(
  define i32 @f(i32 %x) {
    %y = add i32 %x, 1
    ret i32 %y
  }
  define void @out() {
    %r = call i32 @f(i32 4)
    %c = icmp eq i32 %r, 5
    br i1 %c, label %yes, label %no
  yes:
    ret void
  no:
    ret void
  })");
  const llvm::Function& out = *module_->getFunction("out");
  const llvm::Function& f = *module_->getFunction("f");
  const auto& call = llvm::cast<llvm::CallBase>(out.getEntryBlock().front());
  evaluator_->enter(out, nullptr);
  evaluator_->enter(f, &call);
  EXPECT_EQ(evaluator_->depth(), 2u);
  evaluator_->leave(nullptr);
  EXPECT_EQ(evaluator_->depth(), 1u);
  evaluator_->execute(out.getEntryBlock().front());
  evaluator_->execute(*call.getNextNode());
  EXPECT_EQ(evaluator_->successor(out.getEntryBlock()), nullptr);
  // Entered from outside against what the options said: the argument was never given.
  evaluator_->enter(f, nullptr);
  evaluator_->execute(f.getEntryBlock().front());
  evaluator_->leave(llvm::cast<llvm::ReturnInst>(f.getEntryBlock().getTerminator()));
  EXPECT_EQ(evaluator_->depth(), 1u);
}

}  // namespace
}  // namespace heddle
