#include "program/function_name.h"

#include <gmock/gmock.h>

namespace heddle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

bool same(std::string_view one, std::string_view other) {
  return may_be_same(FunctionName::of(one), FunctionName::of(other)) &&
         may_be_same(FunctionName::of(other), FunctionName::of(one));
}

TEST(FunctionName, HasScopeAndOwnName) {
  const FunctionName method = FunctionName::of("store::Queue<std::pair<int, bool>>::pop(bool) const");
  EXPECT_THAT(method.scope, ElementsAre("store", "Queue"));
  EXPECT_EQ(method.own, "pop");
  EXPECT_TRUE(method.whole);
  const FunctionName plain = FunctionName::of("pop");
  EXPECT_THAT(plain.scope, IsEmpty());
  EXPECT_EQ(plain.own, "pop");
  EXPECT_FALSE(plain.whole);
}

TEST(FunctionName, LeavesOutWhatATemplateReturns) {
  const FunctionName function = FunctionName::of("std::vector<int> ns::sorted<int>(std::vector<int>)");
  EXPECT_THAT(function.scope, ElementsAre("ns"));
  EXPECT_EQ(function.own, "sorted");
}

TEST(FunctionName, KnowsOperatorsLambdasAndNamespacesWithoutName) {
  EXPECT_EQ(FunctionName::of("Index::operator()(int)").own, "operator()");
  EXPECT_EQ(FunctionName::of("Index::operator<<(int)").own, "operator<<");
  EXPECT_EQ(FunctionName::of("operator new(unsigned long)").own, "operator new");
  const FunctionName lambda = FunctionName::of("serve(int)::'lambda'(bool)::operator()(bool) const");
  EXPECT_THAT(lambda.scope, ElementsAre("serve", "'lambda'"));
  EXPECT_EQ(lambda.own, "operator()");
  const FunctionName hidden = FunctionName::of("(anonymous namespace)::Queue::pop()");
  EXPECT_THAT(hidden.scope, ElementsAre("(anonymous namespace)", "Queue"));
  EXPECT_EQ(hidden.own, "pop");
}

TEST(FunctionName, ClassesTellMethodsApart) {
  EXPECT_TRUE(same("Queue::pop(bool)", "Queue::pop(bool)"));
  EXPECT_FALSE(same("Queue::pop(bool)", "Stack::pop(bool)"));
  EXPECT_FALSE(same("a::Queue::pop()", "b::Queue::pop()"));
  EXPECT_FALSE(same("pop(bool)", "Stack::pop(bool)"));
  EXPECT_FALSE(same("Queue::pop()", "Queue::push()"));
}

TEST(FunctionName, WithoutScopeTheNameDecides) {
  EXPECT_TRUE(same("pop", "Queue::pop(bool)"));
  EXPECT_TRUE(same("pop", "pop"));
  EXPECT_TRUE(same("Queue::pop", "store::Queue::pop()"));
  EXPECT_FALSE(same("Stack::pop", "store::Queue::pop()"));
}

TEST(FunctionName, DamagedNamesAreTakenAsTheyAre) {
  for (const std::string_view name : {"", "::", "(", "f(", "f<", "operator", "operator(", ">>", "a::(b", "->"})
    EXPECT_TRUE(same(name, name)) << name;
}

}  // namespace
}  // namespace heddle
