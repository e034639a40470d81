#include "program/known_values.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>

#include <memory>
#include <set>
#include <string>

namespace heddle {
namespace {

// In these programs calls of @input are in the data stream and calls of @noise are not. Functions whose name
// begins with "out" are entered from outside.
class Known : public testing::Test {
 protected:
  void analyse(const std::string& ir) {
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(
        "target datalayout = \"e-m:e-p270:32:32-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n"
        "declare i32 @input()\ndeclare i64 @input64()\ndeclare ptr @input_pointer()\ndeclare float "
        "@input_float()\n"
        "declare i128 @input_wide()\ndeclare i32 @noise()\ndeclare void @use(i32)\ndeclare void @lend(ptr)\n" +
            ir,
        diagnostic, context_);
    ASSERT_NE(module_, nullptr) << diagnostic.getMessage().str() << " at line " << diagnostic.getLineNo();
    known_ = std::make_unique<KnownValues>(
        *module_,
        KnownOptions{.logged =
                         [](const llvm::Instruction& instruction) {
                           const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
                           if (call == nullptr)
                             return instruction.hasName() && instruction.getName() == "logged";
                           const llvm::Function* callee = call->getCalledFunction();
                           return callee != nullptr && callee->getName().starts_with("input");
                         },
                     .entered_silently =
                         [](const llvm::Function& function) { return function.getName().starts_with("out"); }});
  }
  void analyse_body(const std::string& body) { analyse("define void @out() {\n" + body + "\n}\n"); }

  const llvm::Instruction& find(llvm::StringRef name) const {
    for (const llvm::Function& function : *module_)
      for (const llvm::Instruction& instruction : llvm::instructions(function))
        if (instruction.getName() == name) return instruction;
    ADD_FAILURE() << "no " << name.str();
    return *module_->begin()->begin()->begin();
  }
  bool known(llvm::StringRef name) const { return known_->known(find(name)); }
  bool needed(llvm::StringRef name) const { return known_->needed(find(name)); }
  bool slot(llvm::StringRef name) const { return known_->known_slot(llvm::cast<llvm::AllocaInst>(find(name))); }
  bool argument_known(llvm::StringRef function, unsigned number) const {
    return known_->known(*module_->getFunction(function)->getArg(number));
  }
  bool branch_known(llvm::StringRef block) const {
    for (const llvm::Function& function : *module_)
      for (const llvm::BasicBlock& b : function)
        if (b.getName() == block) return known_->branch_known(b);
    ADD_FAILURE() << "no block " << block.str();
    return false;
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  std::unique_ptr<KnownValues> known_;
};

TEST_F(Known, ValuesComputedFromTheDataStream) {
  analyse_body(R"(
    %in = call i32 @input()
    %p = call ptr @input_pointer()
    %sum = add nsw i32 %in, 7
    %quotient = sdiv i32 100, %in
    %wide = sext i32 %sum to i64
    %less = icmp slt i64 %wide, 9
    %chosen = select i1 %less, i32 %in, i32 4
    %frozen = freeze i32 %chosen
    %address = getelementptr { i8, [4 x i32] }, ptr %p, i64 1, i32 1, i64 %wide
    %number = ptrtoint ptr %address to i64
    %back = inttoptr i64 %number to ptr
    %failed = icmp eq ptr %back, inttoptr (i64 -1 to ptr)
    %most = call i32 @llvm.umax.i32(i32 %in, i32 3)
    %pair = call { i32, i1 } @llvm.sadd.with.overflow.i32(i32 %in, i32 3)
    %over = extractvalue { i32, i1 } %pair, 1
    ret void)");
  for (const char* name : {"in", "p", "sum", "quotient", "wide", "less", "chosen", "frozen", "address",
                           "number", "back", "failed", "most", "over"})
    EXPECT_TRUE(known(name)) << name;
  EXPECT_FALSE(known("pair"));
}

TEST_F(Known, WhatNobodyLoggedIsNotKnown) {
  analyse(R"(
  @global = global i32 0
  define void @out(i32 %a) {
    %in = call i32 @input()
    %secret = call i32 @noise()
    %load = load i32, ptr @global
    %logged = load i32, ptr @global
    %float = call float @input_float()
    %bits = bitcast float %float to i32
    %huge = call i128 @input_wide()
    %low = trunc i128 %huge to i64
    %mixed = add i32 %in, %secret
    %outside = add i32 %in, %a
    %poisoned = add i32 %in, poison
    %undefined = select i1 true, i32 %in, i32 undef
    %address = ptrtoint ptr @global to i64
    %near = getelementptr i8, ptr @global, i64 0
    %vector = insertelement <2 x i32> zeroinitializer, i32 %in, i32 0
    %element = extractelement <2 x i32> %vector, i32 0
    %pair = call { i32, i1 } @llvm.sadd.with.overflow.i32(i32 %in, i32 %secret)
    %over = extractvalue { i32, i1 } %pair, 1
    %hinted = call i32 @llvm.expect.i32(i32 %in, i32 %secret)
    %object = alloca i32
    %same = icmp eq ptr %object, null
    ret void
  })");
  for (const char* name : {"secret", "load", "float", "bits", "huge", "low", "mixed", "outside", "poisoned",
                           "undefined", "address", "near", "vector", "element", "over", "same", "object"})
    EXPECT_FALSE(known(name)) << name;
  EXPECT_TRUE(known("logged"));
  EXPECT_TRUE(known("hinted"));
  EXPECT_FALSE(known_->known(*module_->getGlobalVariable("global")));
  EXPECT_FALSE(known_->known(*module_->getFunction("noise")));
}

TEST_F(Known, PhisOfLoops) {
  analyse_body(R"(
    br label %loop
  loop:
    %i = phi i32 [ 0, %0 ], [ %next, %loop ]
    %s = phi i32 [ 0, %0 ], [ %t, %loop ]
    %next = add i32 %i, 1
    %secret = call i32 @noise()
    %t = add i32 %s, %secret
    %more = icmp slt i32 %next, 10
    br i1 %more, label %loop, label %after
  after:
    %c = icmp eq i32 %s, 0
    br i1 %c, label %a, label %b
  a:
    br label %b
  b:
    ret void)");
  EXPECT_TRUE(known("i") && known("next") && known("more") && branch_known("loop"));
  EXPECT_FALSE(known("s") || known("t") || branch_known("after"));
  EXPECT_FALSE(branch_known("a"));
  EXPECT_TRUE(needed("i") && needed("next") && needed("more"));
  EXPECT_FALSE(needed("s"));
}

TEST_F(Known, BranchesNeedTwoSuccessors) {
  analyse_body(R"(
  same:
    %in = call i32 @input()
    %c = icmp eq i32 %in, 0
    br i1 %c, label %switch, label %switch
  switch:
    switch i32 %in, label %constant [ i32 1, label %end  i32 2, label %end ]
  constant:
    br i1 true, label %one, label %end
  one:
    switch i32 %in, label %undef [ i32 4, label %undef ]
  undef:
    br i1 undef, label %indirect, label %end
  indirect:
    %p = call ptr @input_pointer()
    indirectbr ptr %p, [label %end, label %same2]
  same2:
    br label %end
  end:
    ret void)");
  EXPECT_FALSE(branch_known("same"));
  EXPECT_TRUE(branch_known("switch"));
  EXPECT_TRUE(branch_known("constant"));
  EXPECT_FALSE(branch_known("one"));
  EXPECT_FALSE(branch_known("undef"));
  EXPECT_FALSE(branch_known("indirect"));
  EXPECT_TRUE(needed("in"));
  EXPECT_FALSE(needed("c"));
}

TEST_F(Known, ArgumentsAreKnownIfTheyAreAtEveryCall) {
  analyse(R"(
  define void @f(i32 %known, i32 %not, i32 %self) {
    %secret = call i32 @noise()
    call void @f(i32 %known, i32 %secret, i32 %self)
    ret void
  }
  define void @never_called(i32 %x) {
    ret void
  }
  @f_alias = alias void (i32, i32, i32), ptr @f
  define void @out() {
    %in = call i32 @input()
    call void @f(i32 %in, i32 1, i32 2)
    call void @f_alias(i32 5, i32 1, i32 2)
    call void @out2(i32 5)
    ret void
  }
  define void @out2(i32 %x) {
    ret void
  })");
  EXPECT_TRUE(argument_known("f", 0));
  EXPECT_FALSE(argument_known("f", 1));
  EXPECT_TRUE(argument_known("f", 2));
  EXPECT_TRUE(argument_known("never_called", 0));
  EXPECT_FALSE(argument_known("out2", 0));
}

TEST_F(Known, CallsThroughAliasesCount) {
  analyse(R"(
  define void @f(i32 %x) {
    ret void
  }
  @f_alias = alias void (i32), ptr @f
  define void @out() {
    %secret = call i32 @noise()
    call void @f(i32 5)
    call void @f_alias(i32 %secret)
    ret void
  })");
  EXPECT_FALSE(argument_known("f", 0));
}

TEST_F(Known, ArgumentsOfOtherCallsAndKinds) {
  analyse(R"(
  define i32 @mismatched(i32 %x) {
    ret i32 1
  }
  define i32 @variadic(i32 %x, ...) {
    ret i32 1
  }
  define void @copied(ptr byval(i64) %p, ptr sret(i64) %q, float %f, ptr %r) {
    ret void
  }
  define void @out() {
    %wrong = call i32 (...) @mismatched(i32 1)
    %right = call i32 @mismatched(i32 1)
    %secret = call i32 @noise()
    %v = call i32 (i32, ...) @variadic(i32 2, i32 %secret)
    call void @copied(ptr byval(i64) null, ptr sret(i64) null, float 1.0, ptr null)
    ret void
  })");
  EXPECT_FALSE(argument_known("mismatched", 0));
  EXPECT_FALSE(known("wrong"));
  EXPECT_TRUE(known("right"));
  EXPECT_TRUE(argument_known("variadic", 0));
  EXPECT_TRUE(known("v"));
  EXPECT_FALSE(argument_known("copied", 0));
  EXPECT_FALSE(argument_known("copied", 1));
  EXPECT_FALSE(argument_known("copied", 2));
  EXPECT_TRUE(argument_known("copied", 3));
}

TEST_F(Known, ResultsOfFunctionsOfTheProgram) {
  analyse(R"(
  define i32 @twice(i32 %x) {
    %r = mul i32 %x, 2
    ret i32 %r
  }
  define i32 @unsure(i32 %x) {
    %zero = icmp eq i32 %x, 0
    br i1 %zero, label %then, label %else
  then:
    ret i32 1
  else:
    %secret = call i32 @noise()
    ret i32 %secret
  }
  define available_externally i32 @copy() {
    ret i32 1
  }
  define i32 @naked() naked {
    call void asm sideeffect "ret", ""()
    unreachable
  }
  define internal ptr @resolver(i32 %x) {
    %r = call i32 @helper(i32 5)
    ret ptr null
  }
  define i32 @helper(i32 %x) {
    ret i32 3
  }
  @indirect = ifunc i32 (), ptr @resolver
  define i32 @outer() {
    ret i32 1
  }
  define i32 @tail() {
    %r = musttail call i32 @input()
    ret i32 %r
  }
  define i32 @tail_inside() {
    %r = musttail call i32 @outer()
    ret i32 %r
  }
  define void @out(ptr %pointer) personality ptr @noise {
    %in = call i32 @input()
    %a = call i32 @twice(i32 %in)
    %b = call i32 @unsure(i32 %in)
    %c = call i32 @copy()
    %d = call i32 @naked()
    %e = call i32 @indirect()
    %f = call i32 %pointer()
    %g = call i32 asm "", "=r"()
    %h = call i32 @tail()
    %i = call i32 @tail_inside()
    %k = call ptr @resolver(i32 1)
    %j = invoke i32 @twice(i32 5) to label %fine unwind label %pad
  fine:
    %l = add i32 %j, 1
    ret void
  pad:
    %lp = landingpad { ptr, i32 } cleanup
    %sel = extractvalue { ptr, i32 } %lp, 1
    resume { ptr, i32 } %lp
  })");
  for (const char* name : {"a", "i", "j", "l"}) EXPECT_TRUE(known(name)) << name;
  for (const char* name : {"b", "c", "d", "e", "f", "g", "h", "k", "sel"}) EXPECT_FALSE(known(name)) << name;
  EXPECT_FALSE(argument_known("helper", 0));
  EXPECT_FALSE(argument_known("resolver", 0));
}

TEST_F(Known, RecursionKeepsWhatIsKnown) {
  analyse(R"(
  define i32 @down(i32 %n) {
  top:
    %end = icmp eq i32 %n, 0
    br i1 %end, label %stop, label %more
  stop:
    ret i32 1
  more:
    %less = sub i32 %n, 1
    %rest = call i32 @down(i32 %less)
    %product = mul i32 %n, %rest
    ret i32 %product
  }
  define void @out() {
    %r = call i32 @down(i32 5)
    ret void
  })");
  EXPECT_TRUE(known("end") && known("rest") && known("product") && known("r"));
  EXPECT_TRUE(branch_known("top"));
  EXPECT_TRUE(needed("less") && needed("end"));
  EXPECT_FALSE(needed("rest") || needed("product") || needed("r"));
  EXPECT_TRUE(known_->needed(*module_->getFunction("down")->getArg(0)));
}

TEST_F(Known, SlotsThatAreStoredToBefore) {
  analyse(R"(
  define void @out() {
    %good = alloca i32
    %half = alloca i32
    %never = alloca i32
    %secret = alloca i32
    %ended = alloca i32
    %in = call i32 @input()
    store i32 %in, ptr %good
    store i32 1, ptr %ended
    %noise = call i32 @noise()
    store i32 1, ptr %secret
    store i32 %noise, ptr %secret
    %c = icmp eq i32 %noise, 0
    br i1 %c, label %a, label %b
  a:
    store i32 1, ptr %half
    %half_a = load i32, ptr %half
    call void @llvm.lifetime.end.p0(i64 4, ptr %ended)
    br label %b
  b:
    %good_b = load i32, ptr %good
    %half_b = load i32, ptr %half
    %never_b = load i32, ptr %never
    %secret_b = load i32, ptr %secret
    %ended_b = load i32, ptr %ended
    store i32 3, ptr %half
    %half_later = load i32, ptr %half
    br label %loop
  loop:
    %good_loop = load i32, ptr %good
    %half_loop = load i32, ptr %half
    %next = add i32 %good_loop, 1
    store i32 %next, ptr %good
    %more = icmp slt i32 %next, 10
    br i1 %more, label %loop, label %end
  end:
    ret void
  })");
  for (const char* name : {"good_b", "half_a", "half_later", "good_loop", "half_loop", "next", "more"})
    EXPECT_TRUE(known(name)) << name;
  for (const char* name : {"half_b", "never_b", "secret_b", "ended_b"}) EXPECT_FALSE(known(name)) << name;
  EXPECT_TRUE(slot("good"));
  EXPECT_FALSE(slot("half")) << "no branch needs it";
  EXPECT_FALSE(slot("secret"));
  EXPECT_TRUE(needed("good_loop"));
  EXPECT_FALSE(needed("good_b"));
  size_t stores = 0;
  for (const llvm::Instruction& instruction : llvm::instructions(*module_->getFunction("out")))
    stores += llvm::isa<llvm::StoreInst>(instruction) && known_->needed(instruction);
  EXPECT_EQ(stores, 2u);
}

TEST_F(Known, StackObjectsThatAreNoSlots) {
  analyse(R"(
  define void @out(i32 %n) {
    %volatile = alloca i32
    %atomic = alloca i32
    %lent = alloca i32
    %narrow = alloca i32
    %bytes = alloca i32
    %self = alloca ptr
    %many = alloca i32, i32 %n
    %table = alloca [4 x i32]
    store volatile i32 1, ptr %volatile
    %1 = load i32, ptr %volatile
    store i32 1, ptr %atomic
    %2 = load atomic i32, ptr %atomic monotonic, align 4
    store i32 1, ptr %lent
    call void @lend(ptr %lent)
    %3 = load i32, ptr %lent
    store i32 1, ptr %narrow
    %4 = load i16, ptr %narrow
    store i32 1, ptr %bytes
    %second = getelementptr i8, ptr %bytes, i64 1
    %5 = load i32, ptr %bytes
    store ptr %self, ptr %self
    %6 = load ptr, ptr %self
    store i32 1, ptr %many
    %7 = load i32, ptr %many
    store i32 1, ptr %table
    %8 = load i32, ptr %table
    br label %late
  late:
    %placed_late = alloca i32
    store i32 1, ptr %placed_late
    %9 = load i32, ptr %placed_late
    ret void
  })");
  const llvm::Function& function = *module_->getFunction("out");
  std::set<std::string> read;
  for (const llvm::Instruction& instruction : llvm::instructions(function))
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
      if (known_->known(instruction)) read.insert(load->getPointerOperand()->getName().str());
  EXPECT_EQ(read, std::set<std::string>{"table"});
}

// More slots than are looked at together.
TEST_F(Known, ManySlots) {
  std::string ir = "define void @out() {\n";
  for (int i = 0; i < 150; ++i) ir += "%s" + std::to_string(i) + " = alloca i32\n";
  for (int i = 0; i < 150; i += 2) ir += "store i32 1, ptr %s" + std::to_string(i) + "\n";
  for (int i = 0; i < 150; ++i)
    ir += "%l" + std::to_string(i) + " = load i32, ptr %s" + std::to_string(i) + "\n";
  for (int i = 1; i < 150; i += 2) ir += "store i32 1, ptr %s" + std::to_string(i) + "\n";
  analyse(ir + "ret void\n}\n");
  for (int i = 0; i < 150; ++i) EXPECT_EQ(known("l" + std::to_string(i)), i % 2 == 0) << i;
}

TEST_F(Known, NothingButArgumentsBesideCallsThatReturnTwice) {
  analyse(R"(
  declare i32 @input_setjmp(ptr) returns_twice
  define i32 @f(i32 %x) {
  top:
    %s = alloca i32
    store i32 1, ptr %s
    %in = call i32 @input()
    %r = call i32 @input_setjmp(ptr null)
    %c = icmp eq i32 %in, %x
    %l = load i32, ptr %s
    br i1 %c, label %a, label %b
  a:
    call void @g(i32 %x, i32 %l)
    ret i32 1
  b:
    ret i32 2
  }
  define void @g(i32 %x, i32 %y) {
    ret void
  }
  define void @out() {
    %result = call i32 @f(i32 5)
    ret void
  })");
  EXPECT_TRUE(argument_known("f", 0));
  EXPECT_TRUE(argument_known("g", 0));
  EXPECT_FALSE(argument_known("g", 1));
  EXPECT_FALSE(known("in") || known("r") || known("c") || known("l") || branch_known("top"));
  EXPECT_TRUE(known("result"));
}

TEST_F(Known, OnlyWhatBranchesNeedIsNeeded) {
  analyse(R"(
  define i32 @pick(i32 %x, i32 %y) {
    %useless = add i32 %y, 1
    %r = add i32 %x, 1
    ret i32 %r
  }
  define void @out() {
  top:
    %a = call i32 @input()
    %b = call i32 @input()
    %c = call i32 @input()
    %r = call i32 @pick(i32 %a, i32 %b)
    %d = add i32 %c, 1
    %p = icmp eq i32 %r, 0
    br i1 %p, label %then, label %end
  then:
    %phi = phi i32 [ %c, %top ]
    br label %end
  end:
    ret void
  })");
  for (const char* name : {"a", "r", "p"}) EXPECT_TRUE(needed(name)) << name;
  for (const char* name : {"b", "c", "d", "useless", "phi"}) {
    EXPECT_TRUE(known(name)) << name;
    EXPECT_FALSE(needed(name)) << name;
  }
  EXPECT_TRUE(known_->needed(*module_->getFunction("pick")->getArg(0)));
  EXPECT_FALSE(known_->needed(*module_->getFunction("pick")->getArg(1)));
  std::vector<std::string> names;
  for (const llvm::Instruction* instruction :
       known_->needed_instructions(module_->getFunction("out")->getEntryBlock()))
    names.push_back(instruction->getName().str());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "r", "p"}));
  EXPECT_TRUE(known_->needed_phis(module_->getFunction("out")->back()).empty());
  EXPECT_EQ(known_->places(*module_->getFunction("out")), 3u);
  EXPECT_EQ(known_->places(*module_->getFunction("pick")), 2u);
}

}  // namespace
}  // namespace heddle
