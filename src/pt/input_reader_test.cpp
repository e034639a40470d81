#include "pt/input_reader.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

namespace heddle {
namespace {

struct Given : InputReader::Arguments {
  std::optional<uint64_t> number(unsigned argument) override {
    return argument < numbers.size() ? numbers[argument] : std::nullopt;
  }
  std::optional<std::string> text(unsigned argument) override {
    return argument < texts.size() ? texts[argument] : std::nullopt;
  }
  std::optional<uint64_t> word(unsigned argument) override {
    return argument < words.size() ? words[argument] : std::nullopt;
  }
  std::vector<std::optional<uint64_t>> numbers, words;
  std::vector<std::optional<std::string>> texts;
};

class InputReaderTest : public testing::Test {
 protected:
  InputReaderTest() {
    llvm::SMDiagnostic problem;
    module_ = llvm::parseAssemblyString(R"(
      declare ptr @fopen(ptr, ptr)
      declare ptr @fgets(ptr, i32, ptr)
      declare i32 @fgetc(ptr)
      declare i32 @fclose(ptr)
      declare i32 @fseek(ptr, i64, i32)
      declare i32 @feof(ptr)
      declare i32 @open(ptr, i32, ...)
      declare i64 @read(i32, ptr, i64)
      declare i64 @lseek(i32, i64, i32)
      declare ptr @getenv(ptr)
      declare i64 @getline(ptr, ptr, ptr)
      define void @f(ptr %p, i32 %i, i64 %l) {
        call ptr @fopen(ptr %p, ptr %p)
        call ptr @fgets(ptr %p, i32 %i, ptr %p)
        call i32 @fgetc(ptr %p)
        call i32 @fclose(ptr %p)
        call i32 @fseek(ptr %p, i64 %l, i32 %i)
        call i32 @feof(ptr %p)
        call i32 (ptr, i32, ...) @open(ptr %p, i32 %i)
        call i64 @read(i32 %i, ptr %p, i64 %l)
        call i64 @lseek(i32 %i, i64 %l, i32 %i)
        call ptr @getenv(ptr %p)
        call i64 @getline(ptr %p, ptr %p, ptr %p)
        ret void
      })",
                                        problem, context_);
    inputs_ = {.folder = "/run",
               .files = {{.path = "/run/data", .bytes = "one\ntwo"}},
               .environment_is_known = true,
               .environment = {{"HOME", 4096}}};
  }
  std::optional<InputReader::Answer> call(InputReader& reader, llvm::StringRef name, Given given,
                                          std::optional<uint64_t> result = std::nullopt) {
    for (const llvm::Instruction& instruction : module_->getFunction("f")->getEntryBlock())
      if (const auto* made = llvm::dyn_cast<llvm::CallBase>(&instruction);
          made != nullptr && made->getCalledFunction()->getName() == name)
        return reader.call(*made, given, result);
    ADD_FAILURE() << name.str();
    return std::nullopt;
  }
  static Given numbers(std::vector<std::optional<uint64_t>> values) {
    Given out;
    out.numbers = std::move(values);
    return out;
  }
  static Given texts(std::vector<std::optional<std::string>> values) {
    Given out;
    out.texts = std::move(values);
    return out;
  }
  uint64_t stream(InputReader& reader) {
    const auto opened = call(reader, "fopen", texts({"data", "r"}));
    EXPECT_TRUE(opened);
    return opened ? opened->result : 0;
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  PtInputs inputs_;
  OpenStreams open_;
  InputReader reader_{inputs_, open_, 0, 1 << 20};
};

TEST_F(InputReaderTest, LinesOfAFileAreRead) {
  const uint64_t file = stream(reader_);
  const auto first = call(reader_, "fgets", numbers({100, 80, file}));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->result, 100u);
  EXPECT_EQ(first->bytes, std::string("one\n\0", 5));
  const auto second = call(reader_, "fgets", numbers({100, 80, file}));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->bytes, std::string("two\0", 4));
  EXPECT_EQ(call(reader_, "feof", numbers({file}))->result, 1u);
  EXPECT_EQ(call(reader_, "fgets", numbers({100, 80, file}))->result, 0u);
}

TEST_F(InputReaderTest, WholeLinesGoToABlockOfTheirOwn) {
  inputs_.files[0].bytes = "one\n" + std::string(200, 'x') + "\ntwo";
  Given given = numbers({100, 200, stream(reader_)});
  given.words = {0, std::nullopt};
  const auto first = call(reader_, "getline", given);
  ASSERT_TRUE(first && first->line);
  EXPECT_EQ(first->result, 4u);
  EXPECT_TRUE(first->line->is_new);
  EXPECT_EQ(first->line->size, 120u);
  EXPECT_EQ(first->line->bytes, std::string("one\n\0", 5));
  given.words = {first->line->address, first->line->size};
  const auto second = call(reader_, "getline", given);
  ASSERT_TRUE(second && second->line);
  EXPECT_EQ(second->result, 201u);
  EXPECT_TRUE(second->line->is_new);
  EXPECT_EQ(second->line->size, 240u);
  EXPECT_NE(second->line->address, first->line->address);
  given.words = {second->line->address, second->line->size};
  const auto third = call(reader_, "getline", given);
  ASSERT_TRUE(third && third->line);
  EXPECT_EQ(third->line->address, second->line->address);
  EXPECT_FALSE(third->line->is_new);
  EXPECT_EQ(third->line->bytes, std::string("two\0", 4));
  EXPECT_EQ(call(reader_, "getline", given)->result, UINT64_MAX);
  // Where results are told, so is not where the block lies.
  given.numbers[2] = stream(reader_);
  EXPECT_FALSE(call(reader_, "getline", given, 4));
}

TEST_F(InputReaderTest, BytesOfADescriptorAreReadFromItsPosition) {
  Given opening = texts({"/run/data"});
  opening.numbers = {std::nullopt, 0};
  const auto descriptor = call(reader_, "open", opening);
  ASSERT_TRUE(descriptor);
  EXPECT_EQ(call(reader_, "read", numbers({descriptor->result, 100, 3}))->bytes, "one");
  EXPECT_EQ(call(reader_, "lseek", numbers({descriptor->result, 5, 0}))->result, 5u);
  EXPECT_EQ(call(reader_, "read", numbers({descriptor->result, 100, 10}))->bytes, "wo");
  EXPECT_EQ(call(reader_, "read", numbers({descriptor->result, 100, 10}))->result, 0u);
}

TEST_F(InputReaderTest, StreamsAreCalledAsTheyWere) {
  const auto opened = call(reader_, "fopen", texts({"data", "r"}), 0x5555);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->result, 0x5555u);
  EXPECT_EQ(call(reader_, "fgetc", numbers({0x5555}))->result, uint64_t{'o'});
  EXPECT_TRUE(call(reader_, "fclose", numbers({0x5555})));
  EXPECT_FALSE(call(reader_, "fgetc", numbers({0x5555})));
  ASSERT_TRUE(call(reader_, "fopen", texts({"data", "r"}), 0x5555));  // the address is used again
  EXPECT_EQ(call(reader_, "fgetc", numbers({0x5555}))->result, uint64_t{'o'});
}

TEST_F(InputReaderTest, NothingIsSaidOfWhatIsNotKept) {
  EXPECT_FALSE(call(reader_, "fopen", texts({"other", "r"})));
  EXPECT_FALSE(call(reader_, "fopen", texts({"data", "w"})));
  EXPECT_FALSE(call(reader_, "fopen", texts({"data", "r+"})));
  EXPECT_FALSE(call(reader_, "fopen", texts({std::nullopt, "r"})));
  EXPECT_FALSE(call(reader_, "fgetc", numbers({77})));
}

TEST_F(InputReaderTest, ACallThatIsNotModelledEndsWhatIsKnownOfTheStream) {
  const uint64_t file = stream(reader_);
  EXPECT_TRUE(call(reader_, "fgetc", numbers({file})));
  EXPECT_FALSE(call(reader_, "fseek", numbers({file, 0, 0})));
  EXPECT_FALSE(call(reader_, "fgetc", numbers({file})));
}

TEST_F(InputReaderTest, AStreamThatTwoThreadsReadIsNotKnown) {
  const uint64_t file = stream(reader_);
  InputReader other(inputs_, open_, 1, 1 << 21);
  EXPECT_FALSE(call(other, "fgetc", numbers({file})));
  EXPECT_FALSE(call(reader_, "fgetc", numbers({file})));
}

TEST_F(InputReaderTest, TheEnvironmentIsThatOfTheRun) {
  EXPECT_EQ(call(reader_, "getenv", texts({"HOME"}))->result, 4096u);
  EXPECT_EQ(call(reader_, "getenv", texts({"NONE"}))->result, 0u);
  inputs_.environment_is_known = false;
  EXPECT_FALSE(call(reader_, "getenv", texts({"HOME"})));
}

}  // namespace
}  // namespace heddle
