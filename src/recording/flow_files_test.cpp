#include "recording/flow_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "recording/recording_info.h"

namespace heddle {
namespace {

class FlowFilesTest : public testing::Test {
 protected:
  FlowFilesTest() : folder_(*TempFolder::create(fs::temp_directory_path())) {
    fs::create_directory(folder_.path() / kInputsFolder);
    EXPECT_TRUE(write_file(path(), "what was read"));
    struct stat now{};
    ::stat(path().c_str(), &now);
    threads_.resize(2);
    threads_[1].files.insert({.device = now.st_dev,
                              .inode = now.st_ino,
                              .size = static_cast<uint64_t>(now.st_size),
                              .seconds = now.st_mtim.tv_sec,
                              .nanoseconds = now.st_mtim.tv_nsec,
                              .path = path()});
  }
  fs::path path() const { return folder_.path() / "data"; }
  void change() {
    EXPECT_TRUE(write_file(path(), "something else"));
    const timespec times[2] = {{1, 0}, {1, 0}};
    ::utimensat(AT_FDCWD, path().c_str(), times, 0);
  }

  TempFolder folder_;
  std::vector<FlowThread> threads_;
};

TEST_F(FlowFilesTest, AKeptFileMayChangeAndGo) {
  EXPECT_TRUE(keep_flow_files(folder_.path(), threads_).empty());
  change();
  EXPECT_TRUE(check_flow_files(folder_.path(), threads_));
  fs::remove(path());
  EXPECT_TRUE(check_flow_files(folder_.path(), threads_));
  const fs::directory_iterator kept(folder_.path() / kInputsFolder);
  EXPECT_EQ(*read_file(kept->path()), "what was read");
}

TEST_F(FlowFilesTest, AFileWithoutACopyMustBeWhatItWas) {
  EXPECT_TRUE(check_flow_files(folder_.path(), threads_));
  change();
  EXPECT_FALSE(check_flow_files(folder_.path(), threads_));
  fs::remove(path());
  EXPECT_FALSE(check_flow_files(folder_.path(), threads_));
}

TEST_F(FlowFilesTest, AFileThatWasChangedIsNotKept) {
  change();
  const std::vector<std::string> problems = keep_flow_files(folder_.path(), threads_);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("data, which the program read, is not kept: it was changed since"),
            std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder_.path() / kInputsFolder));
}

}  // namespace
}  // namespace heddle
