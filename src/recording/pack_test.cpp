#include "recording/pack.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/compress.h"
#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "recording/recording_info.h"

namespace heddle {
namespace {

class Pack : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TempFolder::create();
    ASSERT_TRUE(made);
    folder_.emplace(*std::move(made));
    rec_ = folder_->path() / "app.rec";
    file_ = folder_->path() / "app.pack";
    out_ = folder_->path() / "out";
    for (const char* inner : {"threads", "inputs"}) ASSERT_TRUE(make_folders(rec_ / inner));
    RecordingInfo info;
    info.command = {"./app"};
    info.environment = {"SECRET=hunter2"};
    info.files = {{.path = "/x", .size = 5, .state = RecordedFile::State::kept, .copy = "0", .sha256 = "ab"}};
    ASSERT_TRUE(write_recording_info(info, rec_));
    put("process", std::string(8192, '\1'));
    log_ = std::string(9 << 20, '\0');
    for (size_t i = 0; i < 100000; ++i) log_[i * 7] = static_cast<char>(i * i);
    log_[(9 << 20) - 1] = 'e';
    put("threads/0.log", log_);
    put("threads/0@1.log", "");
    put("inputs/0", "input");
    put("notes.txt", "not ours");
  }
  void put(const std::string& name, const std::string& bytes) { ASSERT_TRUE(write_file(rec_ / name, bytes)); }
  std::string unpacked(const std::string& name) {
    const auto bytes = read_file(out_ / name);
    return bytes ? *bytes : "unreadable";
  }
  std::string unpack_error() {
    const auto result = unpack_recording(file_, out_);
    EXPECT_FALSE(fs::exists(out_) && !result);
    if (result) fs::remove_all(out_);
    return result ? "none" : result.error().text();
  }
  size_t things_in_folder() {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_->path()), fs::directory_iterator()));
  }

  std::optional<TempFolder> folder_;
  fs::path rec_, file_, out_;
  std::string log_;
};

TEST_F(Pack, EverythingComesBackForItsOwnerOnly) {
  const auto packed = pack_recording(rec_, file_);
  ASSERT_TRUE(packed) << packed.error().text();
  EXPECT_EQ(packed->files, 5u);
  EXPECT_EQ(packed->packed_bytes, fs::file_size(file_));
  EXPECT_LT(packed->packed_bytes, 1u << 20);
  EXPECT_TRUE(is_packed_recording(file_));
  EXPECT_FALSE(is_packed_recording(rec_ / "process"));
  const auto back = unpack_recording(file_, out_);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->bytes, packed->bytes);
  for (const char* name : {"recording.json", "process", "threads/0.log", "threads/0@1.log", "inputs/0"}) {
    EXPECT_TRUE(unpacked(name) == *read_file(rec_ / name)) << name;
    struct stat status{};
    ASSERT_EQ(::stat((out_ / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << name;
  }
  EXPECT_FALSE(fs::exists(out_ / "notes.txt"));
  struct stat status{};
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(out_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat((out_ / "threads/0.log").c_str(), &status), 0);
  EXPECT_LT(static_cast<uint64_t>(status.st_blocks) * 512, log_.size()) << "holes stay holes";
  EXPECT_EQ(things_in_folder(), 3u);
}

TEST_F(Pack, WithoutInputs) {
  const PackOptions options{.inputs = false,
                            .blanked = {{"threads/0.log", {{7, 1}, {(4 << 20) - 2, 4}, {(9 << 20) - 1, 100}}}}};
  ASSERT_TRUE(pack_recording(rec_, file_, options));
  ASSERT_TRUE(unpack_recording(file_, out_));
  EXPECT_FALSE(fs::exists(out_ / "inputs/0"));
  std::string expected = log_;
  expected[7] = 0;
  for (size_t i = 0; i < 4; ++i) expected[(4 << 20) - 2 + i] = 0;
  expected.back() = 0;
  EXPECT_NE(expected, log_);
  EXPECT_TRUE(unpacked("threads/0.log") == expected);
  const auto info = read_recording_info(out_);
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_TRUE(info->environment.empty());
  EXPECT_TRUE(info->environment_left_out);
  EXPECT_EQ(info->files[0].state, RecordedFile::State::left_out);
  EXPECT_EQ(info->files[0].path, "/x");
}

TEST_F(Pack, NothingIsOverwritten) {
  ASSERT_TRUE(write_file(file_, "precious"));
  const auto packed = pack_recording(rec_, file_);
  ASSERT_FALSE(packed);
  EXPECT_EQ(packed.error().what, "this is already there");
  EXPECT_EQ(*read_file(file_), "precious");
  fs::remove(file_);
  ASSERT_TRUE(pack_recording(rec_, file_));
  ASSERT_TRUE(make_folders(out_));
  EXPECT_FALSE(unpack_recording(file_, out_));
  EXPECT_TRUE(fs::is_empty(out_));
}

TEST_F(Pack, WhatIsNoRecordingIsNotPacked) {
  fs::remove(rec_ / "recording.json");
  EXPECT_FALSE(pack_recording(rec_, file_));
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(Pack, EveryCutIsFound) {
  put("threads/0.log", "short");
  ASSERT_TRUE(pack_recording(rec_, file_));
  const std::string whole = *read_file(file_);
  for (size_t size = 0; size < whole.size(); size += 7) {
    ASSERT_TRUE(write_file(file_, whole.substr(0, size)));
    const std::string error = unpack_error();
    EXPECT_NE(error.find(std::to_string(size)), std::string::npos) << error;
  }
  ASSERT_TRUE(write_file(file_, whole + "x"));
  EXPECT_NE(unpack_error().find("more follows"), std::string::npos);
}

TEST_F(Pack, NoChangedByteChangesWhatIsUnpacked) {
  put("threads/0.log", "short");
  ASSERT_TRUE(pack_recording(rec_, file_));
  const std::string whole = *read_file(file_);
  size_t found = 0;
  for (size_t at = 0; at < whole.size(); at += 5) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    ASSERT_TRUE(write_file(file_, changed));
    // (Some bits of a zstd frame's head, and the reserved number, mean nothing.)
    if (unpack_recording(file_, out_)) {
      for (const char* name : {"recording.json", "process", "threads/0.log", "inputs/0"})
        EXPECT_EQ(unpacked(name), *read_file(rec_ / name)) << at;
      fs::remove_all(out_);
    } else {
      ++found;
    }
  }
  EXPECT_GT(found, whole.size() / 5 - 4);
  EXPECT_EQ(things_in_folder(), 2u);
}

// A pack with the given list and one file of five bytes.
std::string crafted(const std::string& name, const std::string& more = "") {
  const std::string list = "{\"files\":[{\"name\":\"" + name + "\",\"size\":5,\"sha256\":\"" +
                           sha256_hex("hello") + "\"}" + more + "]}";
  const std::string frame = compress(list);
  const auto number = [](uint64_t n, size_t bytes) {
    std::string out;
    for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(n >> (8 * i));
    return out;
  };
  const std::string block = compress("hello");
  return "heddlepk" + number(1, 4) + number(0, 4) + number(frame.size(), 8) + number(list.size(), 8) + frame +
         number(5, 4) + number(block.size(), 4) + block;
}

TEST_F(Pack, NamesCannotEscape) {
  ASSERT_TRUE(write_file(file_, crafted("recording.json")));
  EXPECT_EQ(unpack_error(), "none");
  for (const char* name : {"../evil", "/tmp/evil", "threads/../../evil", "threads/..", "threads/.", "threads/",
                           "evil", "inputs/a/b", "./process", "threads//x", "process\\u0000"}) {
    ASSERT_TRUE(write_file(file_, crafted(name)));
    EXPECT_NE(unpack_error().find("is no file of a recording"), std::string::npos) << name;
  }
  ASSERT_TRUE(write_file(file_, crafted("process")));
  EXPECT_NE(unpack_error().find("there is no recording.json"), std::string::npos);
  ASSERT_TRUE(write_file(
      file_, crafted("recording.json",
                     ",{\"name\":\"recording.json\",\"size\":0,\"sha256\":\"" + sha256_hex("") + "\"}")));
  EXPECT_NE(unpack_error().find("is there twice"), std::string::npos);
  ASSERT_TRUE(write_file(file_, crafted("recording.json", ",5")));
  EXPECT_NE(unpack_error().find("incomplete"), std::string::npos);
}

TEST_F(Pack, LinksAreNotFollowed) {
  fs::create_symlink("/etc/passwd", rec_ / "threads/1.log");
  ASSERT_TRUE(pack_recording(rec_, file_));
  ASSERT_TRUE(unpack_recording(file_, out_));
  EXPECT_FALSE(fs::exists(out_ / "threads/1.log"));
}

}  // namespace
}  // namespace heddle
