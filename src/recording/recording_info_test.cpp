#include "recording/recording_info.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"

namespace heddle {
namespace {

RecordingInfo example() {
  RecordingInfo info;
  info.heddle_version = "0.1";
  info.program = "/home/me/app";
  info.identity = "0123456789abcdef0123456789abcdef";
  info.build_id = "abcd";
  info.variant = "record-paths-chaos";
  info.variant_executable = "/cache/program";
  info.options = {.policy = "paths",
                  .memory_model = "tso",
                  .clock = false,
                  .chaos = true,
                  .inputs = false,
                  .seed = 7,
                  .keep = 65536,
                  .hang_timeout_ms = 1500};
  info.command = {"./app", "caf\xe9", "", "ok \xc3\xa9"};
  info.folder = "/home/me";
  info.environment = {"A=1", std::string("B=\x80\xff", 4)};
  info.run = 12;
  info.begin_ms = 1700000000123;
  info.duration_ns = 99;
  info.tsc_hz = 2.5e9;
  info.load_base = 0x7fff'ffff'ffff'f000;
  info.arguments = 0x7ffd'0000'1238;
  info.argument_text = 0x7ffd'0000'2abc;
  info.pid = 4711;
  info.forks = 2;
  info.host = {.kernel = "Linux 6.1", .processors = 8, .invariant_tsc = true};
  info.outcome = RecordingOutcome::failed;
  info.signal = 6;
  info.failure = RecordedFailure{.kind = "assert",
                                 .identity = "assert a.c:5 main: x == 1",
                                 .thread = "0",
                                 .place = RecordedPlace{"a.c", 5, "main"},
                                 .text = "x == 1",
                                 .address = "",
                                 .headline = "assertion failed: x == 1"};
  info.threads = {
      {.name = "0",
       .tid = 4711,
       .path_bytes = 80,
       .data_bytes = 1234567890123,
       .stop = "disk full",
       .alive = true,
       .stack = {{"main", "/home/me/a.c", 5, "", 0xffff'ffff'ffff'fff0}, {"abort", "", 0, "libc.so.6", 9}}}};
  info.maps = {"1000-2000 r-xp 00000000 00:00 0"};
  info.files = {{.number = 3,
                 .path = "/etc/x",
                 .size = 3,
                 .state = RecordedFile::State::kept,
                 .copy = "0",
                 .sha256 = "ab"},
                {.path = "/etc/y", .size = 4, .state = RecordedFile::State::changed}};
  info.core_file = "/home/me/core";
  info.core_pattern = "core";
  info.notes = {"a note"};
  return info;
}

Json example_json() {
  return example().to_json();
}

std::string error_of(const Json& json) {
  const auto info = RecordingInfo::from_json(json, "rec/recording.json");
  if (info) return "none";
  EXPECT_EQ(info.error().where, "rec/recording.json");
  return info.error().why;
}

TEST(RecordingInfo, ComesBackAsItWasWritten) {
  const auto folder = TempFolder::create();
  ASSERT_TRUE(folder);
  ASSERT_TRUE(write_recording_info(example(), folder->path()));
  const auto read = read_recording_info(folder->path());
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->to_json(), example_json());
  EXPECT_EQ(read->command, example().command);
  EXPECT_EQ(read->environment, example().environment);
  EXPECT_EQ(read->failure->place->line, 5u);
  EXPECT_EQ(read->threads[0].stack[0].pc, 0xffff'ffff'ffff'fff0);
  EXPECT_FALSE(read->exit_code);
  EXPECT_EQ(read->signal, 6);
}

TEST(RecordingInfo, FileIsReadableByItsOwnerOnly) {
  const auto folder = TempFolder::create();
  ASSERT_TRUE(folder);
  ASSERT_TRUE(write_recording_info(example(), folder->path()));
  struct stat status{};
  ASSERT_EQ(::stat((folder->path() / kRecordingFile).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(RecordingInfo, EveryFieldMustBeThere) {
  const Json whole = example_json();
  for (const auto& [key, value] : whole.items()) {
    Json less = whole;
    less.erase(key);
    EXPECT_EQ(error_of(less), key + " is missing");
  }
}

TEST(RecordingInfo, WrongFieldsAreNamed) {
  Json json = example_json();
  json["pid"] = "4711";
  EXPECT_EQ(error_of(json), "pid is no number of its kind");
  json = example_json();
  json["pid"] = 3'000'000'000;
  EXPECT_EQ(error_of(json), "pid is no number of its kind");
  json = example_json();
  json["run"] = -1;
  EXPECT_EQ(error_of(json), "run is no number of its kind");
  json = example_json();
  json["command"][1]["hex"] = "6x";
  EXPECT_EQ(error_of(json), "command[1] is no text");
  json = example_json();
  json["command"] = Json::array();
  EXPECT_EQ(error_of(json), "command is empty");
  json = example_json();
  json["outcome"]["kind"] = "well";
  EXPECT_EQ(error_of(json), "outcome.kind cannot be 'well'");
  json = example_json();
  json["options"]["clock"] = 1;
  EXPECT_EQ(error_of(json), "options.clock is neither true nor false");
  json = example_json();
  json["threads"][0]["stack"][1] = 5;
  EXPECT_EQ(error_of(json), "threads[0].stack[1] is no object");
  json = example_json();
  json["threads"] = Json::object();
  EXPECT_EQ(error_of(json), "threads is no list");
  json = example_json();
  json["tsc_hz"] = "fast";
  EXPECT_EQ(error_of(json), "tsc_hz is no number");
  EXPECT_EQ(error_of(Json::array()), "it is no JSON object");
}

TEST(RecordingInfo, CopiesAreFileNames) {
  for (const char* name : {"../x", "a/b", "..", ".", ""}) {
    Json json = example_json();
    json["files"][0]["copy"] = name;
    EXPECT_EQ(error_of(json), "files[0].copy is no file name") << name;
  }
  Json json = example_json();
  json["files"][1]["copy"] = "0";
  EXPECT_EQ(error_of(json), "files[1].copy names a copy that was not kept");
}

TEST(RecordingInfo, AnotherFormatIsSaidToBeOne) {
  Json json = example_json();
  json["format"] = 2;
  const auto info = RecordingInfo::from_json(json, "x");
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().what, "this recording has format 2; this heddle reads format 1");
}

TEST(RecordingInfo, BrokenJsonIsAnError) {
  const auto folder = TempFolder::create();
  ASSERT_TRUE(folder);
  ASSERT_TRUE(write_file(folder->path() / kRecordingFile, "{\"format\": 1,"));
  EXPECT_FALSE(read_recording_info(folder->path()));
  ASSERT_TRUE(write_file(folder->path() / kRecordingFile, ""));
  EXPECT_FALSE(read_recording_info(folder->path()));
}

TEST(RecordingInfo, FramesAndPlacesAsText) {
  EXPECT_EQ((RecordedFrame{"f", "a.c", 3, "", 1}.text()), "f at a.c:3");
  EXPECT_EQ((RecordedFrame{"abort", "", 0, "libc.so.6", 1}.text()), "abort (libc.so.6)");
  EXPECT_EQ((RecordedFrame{"", "", 0, "", 0x1f}.text()), "0x1f");
  EXPECT_EQ((RecordedPlace{"a.c", 3, "f"}.text()), "a.c:3 f");
  EXPECT_EQ((RecordedPlace{}.text()), "?");
}

}  // namespace
}  // namespace heddle
