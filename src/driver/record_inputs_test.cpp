#include "driver/record_inputs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/files.h"
#include "base/sha256.h"
#include "driver/record.h"

namespace heddle {
namespace {

class RecordInputs : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TempFolder::create();
    ASSERT_TRUE(made);
    folder_.emplace(*std::move(made));
    ASSERT_TRUE(make_folders(folder_->path() / kInputsFolder));
  }
  fs::path put(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(write_file(folder_->path() / name, bytes));
    return folder_->path() / name;
  }
  heddle_record_file seen(const fs::path& path) {
    heddle_record_file file{};
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    std::strcpy(file.path, path.c_str());
    file.device = status.st_dev;
    file.inode = status.st_ino;
    file.size = static_cast<uint64_t>(status.st_size);
    file.modified_s = status.st_mtim.tv_sec;
    file.modified_ns = status.st_mtim.tv_nsec;
    return file;
  }
  std::vector<RecordedFile> keep(const std::vector<heddle_record_file>& files) {
    auto kept = keep_inputs(files, folder_->path());
    EXPECT_TRUE(kept);
    return kept ? *std::move(kept) : std::vector<RecordedFile>();
  }

  std::optional<TempFolder> folder_;
};

TEST_F(RecordInputs, EachContentOnceForItsOwnerOnly) {
  const std::string large(3'000'000, 'x');
  const fs::path a = put("a", large), b = put("b", "second");
  const heddle_record_file unfilled{};
  const auto files = keep({seen(a), unfilled, seen(b), seen(a)});
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].copy, "0");
  EXPECT_EQ(files[1].number, 2u);
  EXPECT_EQ(files[1].copy, "2");
  EXPECT_EQ(files[2].number, 3u);
  EXPECT_EQ(files[2].copy, "0");
  EXPECT_EQ(files[2].sha256, sha256_hex(large));
  EXPECT_TRUE(*read_file(folder_->path() / "inputs/0") == large);
  EXPECT_EQ(*read_file(folder_->path() / "inputs/2"), "second");
  EXPECT_FALSE(fs::exists(folder_->path() / "inputs/3"));
  struct stat status{};
  ASSERT_EQ(::stat((folder_->path() / "inputs/0").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(RecordInputs, ChangedAndGoneFilesAreNotCopied) {
  const fs::path a = put("a", "first"), b = put("b", "second");
  const std::vector<heddle_record_file> files = {seen(a), seen(b)};
  put("a", "other");
  fs::remove(b);
  const auto kept = keep(files);
  EXPECT_EQ(kept[0].state, RecordedFile::State::changed);
  EXPECT_EQ(kept[1].state, RecordedFile::State::gone);
  EXPECT_EQ(kept[0].copy, "");
  EXPECT_TRUE(fs::is_empty(folder_->path() / kInputsFolder));
}

TEST_F(RecordInputs, ListedOnly) {
  const auto listed = list_inputs({heddle_record_file{}, seen(put("a", "first"))});
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].number, 1u);
  EXPECT_EQ(listed[0].size, 5u);
  EXPECT_EQ(listed[0].state, RecordedFile::State::left_out);
}

TEST_F(RecordInputs, CoreFilesByPlainPatterns) {
  const fs::path folder = folder_->path();
  put("core", "");
  put("core.17", "");
  put("c-program-17-11-%", "");
  EXPECT_EQ(find_core_file("core", false, 17, 11, "program", folder), folder / "core");
  EXPECT_EQ(find_core_file("core", true, 17, 11, "program", folder), folder / "core.17");
  EXPECT_EQ(find_core_file("core.%p", true, 17, 11, "program", folder), folder / "core.17");
  EXPECT_EQ(find_core_file("c-%e-%p-%s-%%", false, 17, 11, "program", folder), folder / "c-program-17-11-%");
  EXPECT_EQ(find_core_file(folder.string() + "/core", false, 17, 11, "program", "/"), folder / "core");
  EXPECT_EQ(find_core_file("core.18", false, 17, 11, "program", folder), fs::path());
  EXPECT_EQ(find_core_file("|/usr/bin/catch %p", false, 17, 11, "program", folder), fs::path());
  EXPECT_EQ(find_core_file("core.%t", false, 17, 11, "program", folder), fs::path());
}

}  // namespace
}  // namespace heddle
