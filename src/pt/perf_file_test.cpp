#include "pt/perf_file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/compress.h"
#include "pt/perf_layout.h"
#include "pt/perf_writer.h"

namespace heddle {
namespace {

PerfWriterOptions options(PerfWriterOptions::Form form) {
  PerfWriterOptions out;
  out.info = {.event_type = 8,
              .time_shift = 20,
              .time_multiplier = 419430,
              .time_zero = 5,
              .time_is_known = true,
              .tsc_ctc_numerator = 104,
              .tsc_ctc_denominator = 1,
              .max_non_turbo_ratio = 25,
              .filter = "filter 0x10/0x20@/bin/app"};
  out.config = perf::kConfigPt | perf::kConfigTsc | perf::kConfigBranch;
  out.cores = 2;
  out.command = {"perf", "record", "app"};
  out.form = form;
  return out;
}

PerfSampleId sample(uint32_t tid, uint64_t time, uint32_t cpu) {
  return {.pid = 10, .tid = tid, .cpu = cpu, .time = time};
}

PerfWriter small(PerfWriterOptions::Form form = PerfWriterOptions::Form::file) {
  PerfWriter out(options(form));
  out.event({.sample = sample(10, 1, 0), .what = PerfName{.pid = 10, .tid = 10, .exec = true, .name = "app"}});
  out.event({.sample = sample(10, 2, 0),
             .what = PerfMapping{.pid = 10,
                                 .tid = 10,
                                 .begin = 0x1000,
                                 .size = 0x2000,
                                 .file_offset = 0x3000,
                                 .protection = PROT_READ | PROT_EXEC,
                                 .executable = true,
                                 .file = "/bin/app"}});
  out.event(
      {.sample = sample(10, 3, 0), .what = PerfFork{.pid = 10, .parent_pid = 10, .tid = 11, .parent_tid = 10}});
  out.event({.sample = sample(10, 4, 0), .what = PerfTraceStart{.pid = 10, .tid = 10}});
  out.event({.sample = sample(10, 5, 1),
             .what = PerfSwitch{.out = true, .preempted = true, .other_pid = 10, .other_tid = 11}});
  out.event(
      {.sample = sample(10, 6, 0), .what = PerfAux{.offset = 0, .size = 16, .flags = PerfAux::kTruncated}});
  out.trace_data(1, 32, "0123456789");
  out.event({.sample = sample(11, 7, 0), .what = PerfLost{.records = 3}});
  out.event({.sample = sample(11, 8, 0), .what = PerfExit{.pid = 10, .tid = 11}});
  return out;
}

void expect_small(const PerfFile& file) {
  ASSERT_FALSE(file.damage) << file.damage->text;
  ASSERT_EQ(file.attributes.size(), 2u);
  ASSERT_NE(file.trace_event(), nullptr);
  EXPECT_EQ(file.trace_event()->config, options(PerfWriterOptions::Form::file).config);
  EXPECT_EQ(file.trace_event()->ids, (std::vector<uint64_t>{1, 2}));
  EXPECT_TRUE(file.attributes[1].context_switch);
  EXPECT_EQ(file.trace_info->filter, "filter 0x10/0x20@/bin/app");
  ASSERT_EQ(file.events.size(), 8u);
  for (size_t i = 0; i < file.events.size(); ++i) EXPECT_EQ(file.events[i].sample.time, i + 1);
  EXPECT_TRUE(std::get<PerfName>(file.events[0].what).exec);
  const auto& mapping = std::get<PerfMapping>(file.events[1].what);
  EXPECT_EQ(mapping.begin, 0x1000u);
  EXPECT_EQ(mapping.file_offset, 0x3000u);
  EXPECT_TRUE(mapping.executable);
  EXPECT_EQ(mapping.file, "/bin/app");
  EXPECT_EQ(std::get<PerfFork>(file.events[2].what).tid, 11u);
  const auto& change = std::get<PerfSwitch>(file.events[4].what);
  EXPECT_TRUE(change.out && change.preempted);
  EXPECT_EQ(change.other_tid, 11u);
  EXPECT_EQ(file.events[4].sample.cpu, 1u);
  EXPECT_EQ(std::get<PerfAux>(file.events[5].what).flags, PerfAux::kTruncated);
  EXPECT_EQ(std::get<PerfLost>(file.events[6].what).records, 3u);
  ASSERT_EQ(file.traces.size(), 1u);
  EXPECT_EQ(file.traces[0].cpu, 1u);
  EXPECT_FALSE(file.traces[0].tid);
  EXPECT_EQ(file.traces[0].position, 32u);
  EXPECT_EQ(file.traces[0].bytes, std::string_view("0123456789\0\0\0\0\0\0", 16));
}

TEST(PerfFile, FileForm) {
  const auto file = parse_perf_file(small().file(), "a");
  ASSERT_TRUE(file);
  expect_small(*file);
  EXPECT_EQ(file->command, (std::vector<std::string>{"perf", "record", "app"}));
}

TEST(PerfFile, PipeForm) {
  const auto file = parse_perf_file(small(PerfWriterOptions::Form::pipe).file(), "a");
  ASSERT_TRUE(file);
  expect_small(*file);
}

TEST(PerfFile, UnknownRecordsAreSkipped) {
  PerfWriter writer = small();
  writer.raw(std::string("\x21\x00\x00\x00\x00\x00\x40\x00", 8) + std::string(56, 'x'));  // type 33, 64 bytes
  writer.raw(std::string("\xfa\x00\x00\x00\x00\x00\x10\x00", 8) + std::string(8, 'x'));   // type 250
  writer.event({.sample = sample(10, 9, 0), .what = PerfExit{.pid = 10, .tid = 10}});
  const auto file = parse_perf_file(writer.file(), "a");
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->damage);
  EXPECT_EQ(file->unknown_records, 2u);
  EXPECT_EQ(file->events.size(), 9u);
}

TEST(PerfFile, CompressedRecords) {
  const std::string plain = small(PerfWriterOptions::Form::pipe).file();
  PerfWriter inner = small(PerfWriterOptions::Form::pipe);
  // The events alone, cut in the middle of a record.
  PerfWriter empty(options(PerfWriterOptions::Form::pipe));
  const std::string head = empty.file();
  std::string events;
  for (int i = 0; i < 20; ++i) {
    PerfWriter one(options(PerfWriterOptions::Form::pipe));
    one.event({.sample = sample(10, 100 + i, 0), .what = PerfExit{.pid = 10, .tid = 20u + i}});
    events += one.file().substr(head.size());
  }
  std::string out = head;
  for (const std::string& part : {events.substr(0, 333), events.substr(333)}) {
    const std::string frame = compress(part);
    const auto size = static_cast<uint16_t>(frame.size() + 8);
    out += std::string("\x51\x00\x00\x00\x00\x00", 6) + std::string(reinterpret_cast<const char*>(&size), 2) +
           frame;
  }
  const auto file = parse_perf_file(out, "a");
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->damage) << file->damage->text;
  ASSERT_EQ(file->events.size(), 20u);
  EXPECT_EQ(std::get<PerfExit>(file->events[19].what).tid, 39u);
}

TEST(PerfFile, DamageIsToldWithItsOffset) {
  const std::string good = small().file();
  const auto whole = parse_perf_file(good, "a");
  const uint64_t third = whole->events[2].offset;
  std::string cut = good.substr(0, third + 20);
  const auto file = parse_perf_file(cut, "a");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->events.size(), 2u);
  ASSERT_TRUE(file->damage);
  EXPECT_EQ(file->damage->offset, third);
  std::string small_size = good;
  small_size[third + 6] = 4;
  small_size[third + 7] = 0;
  const auto second = parse_perf_file(small_size, "a");
  ASSERT_TRUE(second && second->damage);
  EXPECT_EQ(second->damage->offset, third);
  EXPECT_EQ(second->damage->text, "a record says that it is 4 bytes long");
}

TEST(PerfFile, OtherFilesAreRefused) {
  EXPECT_FALSE(parse_perf_file("", "a"));
  EXPECT_FALSE(parse_perf_file("PERFILE2", "a"));
  EXPECT_FALSE(parse_perf_file(std::string(200, 'x'), "a"));
}

TEST(PerfFile, TimeConversion) {
  const PerfTraceInfo info = options(PerfWriterOptions::Form::file).info;
  EXPECT_EQ(info.time_of(0), 5u);
  EXPECT_NEAR(static_cast<double>(info.time_of(2'500'000'000)), 1e9, 2e3);
  for (uint64_t tsc : {uint64_t{1} << 20, uint64_t{123456789012345}}) {
    const uint64_t back = info.tsc_of(info.time_of(tsc));
    EXPECT_LE(tsc - back, 3u);
  }
}

}  // namespace
}  // namespace heddle
