#include "coredump/core_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/compress.h"
#include "base/files.h"
#include "coredump/core_fixture.h"
#include "coredump/core_stacks.h"

namespace heddle {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// The first page of an executable with a build id.
std::string first_page() {
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_phoff = sizeof head;
  head.e_phnum = 2;
  Elf64_Phdr load{.p_type = PT_LOAD, .p_flags = 0, .p_offset = 0, .p_vaddr = 0x400000};
  const Elf64_Nhdr note{.n_namesz = 4, .n_descsz = 4, .n_type = NT_GNU_BUILD_ID};
  const std::string id = CoreFixture::raw(note) + std::string("GNU\0", 4) + "\xde\xad\xbe\xef";
  Elf64_Phdr notes{.p_type = PT_NOTE, .p_flags = 0, .p_offset = sizeof head + 2 * sizeof load};
  notes.p_filesz = id.size();
  return CoreFixture::raw(head) + CoreFixture::raw(load) + CoreFixture::raw(notes) + id;
}

CoreFixture two_threads() {
  CoreFixture core;
  core.threads = {{101, 0x401004}, {100, 0x7f0000001000}};
  core.files = {{0x400000, 0x402000, 0, "/no/such/app"}};
  core.memory = {{0x400000, first_page(), 0x2000}, {0x600000, std::string("hello\0world!", 12), 0}};
  return core;
}

TEST(CoreFile, TellsThreadsSignalAndMemory) {
  const Result<CoreFile> core = CoreFile::from_bytes(two_threads().bytes(), "test");
  ASSERT_TRUE(core) << core.error().text();
  ASSERT_THAT(core->threads(), SizeIs(2));
  EXPECT_EQ(core->threads()[0].tid, 101);
  EXPECT_EQ(core->threads()[0].registers.rip, 0x401004u);
  EXPECT_EQ(core->signal(), SIGSEGV);
  EXPECT_EQ(core->fault_address(), 0x10u);
  EXPECT_EQ(core->text(0x600000), "hello");
  char bytes[32];
  EXPECT_EQ(core->read(0x600006, bytes, sizeof bytes), 6u);
  EXPECT_EQ(core->read(0x900000, bytes, 1), 0u);
  EXPECT_FALSE(core->readable(0x401000));  // not in the core, and the file is not there
}

TEST(CoreFile, NamesTheExecutableByItsBuildId) {
  const Result<CoreFile> core = CoreFile::from_bytes(two_threads().bytes(), "test");
  ASSERT_TRUE(core);
  ASSERT_NE(core->executable(), nullptr);
  EXPECT_EQ(core->executable()->file, "/no/such/app");
  EXPECT_EQ(core->executable()->build_id, "deadbeef");
  EXPECT_EQ(core->executable()->base, 0u);
}

TEST(CoreFile, SaysWhatIsMissingOfACoreThatWasCutOff) {
  std::string bytes = two_threads().bytes();
  bytes.resize(bytes.size() - 8);
  const Result<CoreFile> core = CoreFile::from_bytes(bytes, "test");
  ASSERT_TRUE(core);
  ASSERT_THAT(core->notes(), SizeIs(1));
  EXPECT_THAT(core->notes()[0], HasSubstr("cut off"));
  char out[32];
  EXPECT_EQ(core->read(0x600000, out, sizeof out), 4u);  // what is left of it
}

TEST(CoreFile, RefusesWhatIsNoCore) {
  for (const std::string& bytes :
       {std::string(), std::string("core"), std::string(100, 'x'), two_threads().bytes().substr(0, 100)}) {
    const Result<CoreFile> core = CoreFile::from_bytes(bytes, "test");
    ASSERT_FALSE(core);
    EXPECT_THAT(core.error().text(), HasSubstr("not a core file"));
  }
  std::string program = two_threads().bytes();
  program[16] = ET_EXEC;
  EXPECT_THAT(CoreFile::from_bytes(program, "test").error().why, HasSubstr("another kind"));
}

TEST(CoreFile, UnpacksCompressedCores) {
  const Result<TempFolder> folder = TempFolder::create();
  ASSERT_TRUE(folder);
  const fs::path file = folder->path() / "core.zst";
  CoreFixture fixture = two_threads();
  fixture.memory.push_back({0x700000, std::string(1 << 20, '\0') + "end", 0});
  ASSERT_TRUE(write_file(file, compress(fixture.bytes())));
  EXPECT_TRUE(CoreFile::is_core(file));
  const Result<CoreFile> core = CoreFile::open(file);
  ASSERT_TRUE(core) << core.error().text();
  EXPECT_EQ(core->text(0x600000), "hello");
  EXPECT_EQ(core->text(0x700000 + (1 << 20)), "end");
}

TEST(CoreStacks, GivesAtLeastThePlaceItself) {
  const Result<CoreFile> core = CoreFile::from_bytes(two_threads().bytes(), "test");
  ASSERT_TRUE(core);
  const std::vector<CoreStack> stacks = core_stacks(*core, "/no/such/app");
  ASSERT_THAT(stacks, SizeIs(2));
  ASSERT_THAT(stacks[0].frames, SizeIs(1));
  EXPECT_EQ(stacks[0].frames[0].pc, 0x401004u);
  EXPECT_TRUE(stacks[0].frames[0].in_program);
}

}  // namespace
}  // namespace heddle
