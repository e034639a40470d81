#include "recording/process_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "base/files.h"

namespace heddle {
namespace {

class ProcessFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TempFolder::create();
    ASSERT_TRUE(made);
    folder_.emplace(*std::move(made));
  }
  // As the runtime sees it.
  std::string bytes() { return *read_file(folder_->path() / kProcessFile); }
  void put(uint64_t offset, const void* from, size_t size) {
    std::FILE* file = std::fopen((folder_->path() / kProcessFile).c_str(), "r+b");
    ASSERT_NE(file, nullptr);
    std::fseek(file, static_cast<long>(offset), SEEK_SET);
    std::fwrite(from, 1, size, file);
    std::fclose(file);
  }
  std::optional<TempFolder> folder_;
};

TEST_F(ProcessFileTest, TellsTheRuntimeItsOptions) {
  const RecordingOptions options{
      .memory_model = "pso", .clock = false, .chaos = true, .inputs = false, .seed = 9, .keep = 70000};
  const auto file = ProcessFile::create(folder_->path(), options);
  ASSERT_TRUE(file) << file.error().text();
  const auto read = read_process_file(folder_->path());
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->options,
            HEDDLE_RECORD_OPTION_PSO | HEDDLE_RECORD_OPTION_CHAOS | HEDDLE_RECORD_OPTION_NO_INPUTS);
  EXPECT_EQ(read->keep, 70000u);
  EXPECT_EQ(read->chaos_seed, 9u);
  struct stat status{};
  ASSERT_EQ(::stat((folder_->path() / kProcessFile).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_FALSE(ProcessFile::create(folder_->path(), options)) << "never over another";
}

TEST_F(ProcessFileTest, FailureGoesBothWays) {
  auto file = ProcessFile::create(folder_->path(), {});
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->failed());
  const uint32_t one = 1;
  put(offsetof(heddle_record_process, failed), &one, sizeof one);
  EXPECT_TRUE(file->failed());
  file->mark_failure_seen();
  EXPECT_EQ(read_process_file(folder_->path())->failure_seen, 1u);
}

TEST_F(ProcessFileTest, TextsAlwaysEnd) {
  auto file = ProcessFile::create(folder_->path(), {});
  ASSERT_TRUE(file);
  const std::string endless(HEDDLE_RECORD_TEXT, 'x');
  put(offsetof(heddle_record_process, text), endless.data(), endless.size());
  put(offsetof(heddle_record_process, thread), endless.data(), sizeof(heddle_record_process::thread));
  EXPECT_EQ(std::strlen(file->copy().text), HEDDLE_RECORD_TEXT - 1u);
  EXPECT_EQ(std::strlen(file->copy().thread), sizeof(heddle_record_process::thread) - 1);
}

TEST_F(ProcessFileTest, FilesAreThoseThatWereGivenOut) {
  auto file = ProcessFile::create(folder_->path(), {});
  ASSERT_TRUE(file);
  heddle_record_file entry{};
  std::memset(entry.path, 'p', sizeof entry.path);
  put(HEDDLE_RECORD_FILES_OFFSET + sizeof entry, &entry, sizeof entry);
  uint32_t files = 2;
  put(offsetof(heddle_record_process, files), &files, sizeof files);
  ASSERT_EQ(file->files().size(), 2u);
  EXPECT_EQ(file->files()[0].path[0], 0);
  EXPECT_EQ(std::strlen(file->files()[1].path), sizeof entry.path - 1);
  ASSERT_TRUE(file->trim());
  EXPECT_EQ(bytes().size(), HEDDLE_RECORD_FILES_OFFSET + 2 * sizeof entry);
}

TEST_F(ProcessFileTest, MoreFilesThanThereIsRoomFor) {
  auto file = ProcessFile::create(folder_->path(), {});
  ASSERT_TRUE(file);
  const uint32_t files = 1'000'000;
  put(offsetof(heddle_record_process, files), &files, sizeof files);
  EXPECT_EQ(file->files().size(), size_t{HEDDLE_RECORD_MAX_FILES});
}

TEST_F(ProcessFileTest, DamageIsFound) {
  EXPECT_FALSE(read_process_file(folder_->path()));
  ASSERT_TRUE(write_file(folder_->path() / kProcessFile, "short"));
  auto read = read_process_file(folder_->path());
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().where.find("offset 5"), std::string::npos);
  ASSERT_TRUE(write_file(folder_->path() / kProcessFile, std::string(9000, 'z')));
  EXPECT_FALSE(read_process_file(folder_->path()));
}

}  // namespace
}  // namespace heddle
