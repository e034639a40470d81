#include "pt/thread_values.h"

#include <gtest/gtest.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

namespace heddle {
namespace {

class ThreadValuesTest : public testing::Test {
 protected:
  llvm::Function& function(const char* name) {
    return *llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context_), false),
                                   llvm::GlobalValue::ExternalLinkage, name, module_);
  }

  llvm::LLVMContext context_;
  llvm::Module module_{"m", context_};
  ThreadKeys keys_;
};

TEST_F(ThreadValuesTest, KeysOfThreadsDiffer) {
  ThreadValues first(keys_, 0), second(keys_, 1);
  EXPECT_NE(first.create(nullptr), second.create(nullptr));
}

TEST_F(ThreadValuesTest, AKeyHoldsWhatItsThreadSet) {
  ThreadValues first(keys_, 0), second(keys_, 1);
  const uint64_t key = first.create(nullptr);
  first.set(key, 7);
  EXPECT_EQ(first.get(key), 7u);
  EXPECT_EQ(second.get(key), 0u);  // nothing was kept
  first.set(key, std::nullopt);
  EXPECT_EQ(first.get(key), std::nullopt);
}

TEST_F(ThreadValuesTest, AKeyThatIsKnownKeepsItsNumber) {
  ThreadValues values(keys_, 0);
  EXPECT_EQ(values.create(nullptr, 42), 42u);
  EXPECT_EQ(values.get(42), 0u);
}

TEST_F(ThreadValuesTest, NobodyKnowsAKeyThatWasNotMade) {
  ThreadValues values(keys_, 0);
  EXPECT_EQ(values.get(99), std::nullopt);
  EXPECT_EQ(values.get(std::nullopt), std::nullopt);
}

TEST_F(ThreadValuesTest, WhoSetsAnUnknownKeyLosesAll) {
  ThreadValues values(keys_, 0);
  const uint64_t key = values.create(nullptr);
  values.set(key, 7);
  values.set(std::nullopt, 8);
  EXPECT_EQ(values.get(key), std::nullopt);
}

TEST_F(ThreadValuesTest, DestructorsGetEachValueOnce) {
  const llvm::Function& destructor = function("destroy");
  const llvm::Function& other = function("other");
  ThreadValues values(keys_, 0);
  const uint64_t key = values.create(&destructor);
  values.set(key, 7);
  EXPECT_EQ(values.destroyed_by(other), std::nullopt);
  EXPECT_EQ(values.destroyed_by(destructor), 7u);
  EXPECT_EQ(values.destroyed_by(destructor), std::nullopt);
}

}  // namespace
}  // namespace heddle
