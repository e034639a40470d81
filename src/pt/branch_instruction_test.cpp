#include "pt/branch_instruction.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle {
namespace {

TEST(BranchInstruction, PtwriteOfARegister) {
  const std::vector<uint8_t> rax = {0xf3, 0x48, 0x0f, 0xae, 0xe0};
  EXPECT_EQ(classify_instruction(rax).ptwrite, 0);
  EXPECT_EQ(classify_instruction(rax).size, 5);
  EXPECT_TRUE(classify_instruction(rax).wide);
  const std::vector<uint8_t> r13 = {0xf3, 0x49, 0x0f, 0xae, 0xe5};
  EXPECT_EQ(classify_instruction(r13).ptwrite, 13);
  const std::vector<uint8_t> ecx = {0xf3, 0x0f, 0xae, 0xe1};
  EXPECT_EQ(classify_instruction(ecx).ptwrite, 1);
  EXPECT_EQ(classify_instruction(ecx).size, 4);
  EXPECT_FALSE(classify_instruction(ecx).wide);
}

TEST(BranchInstruction, WhatIsLikePtwriteIsNone) {
  const std::vector<uint8_t> mfence = {0x0f, 0xae, 0xf0}, xsave = {0x0f, 0xae, 0x20},
                             wrfsbase = {0xf3, 0x48, 0x0f, 0xae, 0xd0}, memory = {0xf3, 0x0f, 0xae, 0x20};
  for (const auto& bytes : {mfence, xsave, wrfsbase, memory})
    EXPECT_EQ(classify_instruction(bytes).ptwrite, -1);
}

}  // namespace
}  // namespace heddle
