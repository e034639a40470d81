// Gives the reader of perf.data files that nobody wrote: small files, changed at random or cut. It may not
// crash, and damage must lie inside the file. Deterministic: input N of a seed is the same everywhere.
//
//   perf_fuzz --inputs N [--seed S] [--only I]
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "base/compress.h"
#include "pt/perf_file.h"
#include "pt/perf_layout.h"
#include "pt/perf_writer.h"

namespace heddle {
namespace {

uint64_t present_input = 0;

void say_input(int signal) {
  char text[64];
  const int size = std::snprintf(text, sizeof text, "signal %d at input %lu\n", signal, present_input);
  const ssize_t written = ::write(STDERR_FILENO, text, static_cast<size_t>(size));
  std::_Exit(written > 0 ? 1 : 2);
}

std::string random_file(std::mt19937_64& random) {
  PerfWriterOptions options;
  options.info = {.event_type = 8,
                  .time_shift = static_cast<uint16_t>(random() % 32),
                  .time_multiplier = static_cast<uint32_t>(random()),
                  .time_is_known = random() % 2 == 0,
                  .filter = std::string(random() % 20, 'f')};
  options.cores = 1 + random() % 4;
  options.form = random() % 2 == 0 ? PerfWriterOptions::Form::file : PerfWriterOptions::Form::pipe;
  PerfWriter writer(options);
  for (uint64_t i = random() % 20; i != 0; --i) {
    PerfEvent event;
    event.sample = {.pid = 1, .tid = 2, .cpu = static_cast<uint32_t>(random() % 4), .time = random()};
    switch (random() % 9) {
      case 0:
        event.what = PerfMapping{
            .begin = random(), .size = random(), .protection = 5, .executable = true, .file = "/a/b"};
        break;
      case 1:
        event.what = PerfName{.pid = 1, .tid = 2, .name = "name"};
        break;
      case 2:
        event.what = PerfFork{.pid = 1, .tid = 3};
        break;
      case 3:
        event.what = PerfSwitch{.out = random() % 2 == 0, .other_pid = 4, .other_tid = 5};
        break;
      case 4:
        event.what = PerfAux{.offset = random(), .size = random(), .flags = random() % 16};
        break;
      case 5:
        event.what = PerfLost{.records = 7};
        break;
      case 6:
        writer.trace_data(0, random(), std::string(random() % 64, 't'));
        continue;
      case 7: {
        const std::string frame = compress(std::string(random() % 100, 'c'));
        std::string record("\x51\0\0\0\0\0\0\0", 8);
        const auto size = static_cast<uint16_t>(frame.size() + 8);
        std::memcpy(&record[6], &size, 2);
        writer.raw(record + frame);
        continue;
      }
      default:
        event.what = PerfExit{.pid = 1, .tid = 2};
    }
    writer.event(event);
  }
  return writer.file();
}

void change(std::string& bytes, std::mt19937_64& random) {
  if (bytes.empty()) return;
  const size_t at = random() % bytes.size();
  switch (random() % 5) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
      break;
    case 1: {
      constexpr uint64_t kNumbers[] = {
          0, 1, 7, 8, 64, 81, 83, UINT16_MAX, UINT32_MAX, uint64_t{1} << 63, UINT64_MAX};
      const uint64_t number = kNumbers[random() % std::size(kNumbers)];
      const size_t place = at & ~size_t{7};
      std::memcpy(&bytes[place], &number, std::min<size_t>(size_t{1} << random() % 4, bytes.size() - place));
      break;
    }
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.erase(at, 1 + random() % 16);
      break;
    case 4:
      bytes.insert(at, std::string(1 + random() % 16, static_cast<char>(random())));
      break;
  }
}

int run(uint64_t inputs, uint64_t seed, std::optional<uint64_t> only) {
  uint64_t whole = 0, damaged = 0, refused = 0;
  for (uint64_t i = 0; i < inputs; ++i) {
    if (only && *only != i) continue;
    present_input = i;
    std::mt19937_64 random(seed * 1'000'000'007 + i);
    std::string bytes = random_file(random);
    for (uint64_t changes = random() % 6; changes != 0; --changes) change(bytes, random);
    const size_t size = bytes.size();
    const Result<PerfFile> file = parse_perf_file(std::move(bytes), "input");
    if (!file) {
      ++refused;
    } else if (file->damage) {
      ++damaged;
      HEDDLE_CHECK(file->damage->offset <= size);
    } else {
      ++whole;
    }
    if (!file) continue;
    for (const PerfTraceData& data : file->traces) {
      HEDDLE_CHECK(data.offset <= size && data.bytes.size() <= size - data.offset);
      HEDDLE_CHECK(data.bytes.data() == file->bytes->data() + data.offset);
    }
    if (file->trace_info) file->trace_info->tsc_of(file->trace_info->time_of(random()));
  }
  std::printf("%lu files read, %lu with damage, %lu refused\n", whole, damaged, refused);
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  uint64_t inputs = 1000, seed = 1;
  std::optional<uint64_t> only;
  for (int i = 1; i + 1 < argc; i += 2) {
    const uint64_t number = std::strtoull(argv[i + 1], nullptr, 0);
    if (std::strcmp(argv[i], "--inputs") == 0) inputs = number;
    if (std::strcmp(argv[i], "--seed") == 0) seed = number;
    if (std::strcmp(argv[i], "--only") == 0) only = number;
  }
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGALRM}) std::signal(signal, heddle::say_input);
  return heddle::run(inputs, seed, only);
}
