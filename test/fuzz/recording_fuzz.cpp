// Gives the reader of logs and the decoder files that no runtime wrote: logs of simulated runs, changed at
// random. Neither may crash, and each input must come to an end. Deterministic: input N of a seed is the same
// everywhere.
//
//   recording_fuzz --inputs N [--seed S] [--only I]
//
// When it crashes, the number of the last input is on standard error; --only runs that one alone.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "recording/decoder_fixture.h"

namespace heddle {
namespace {

constexpr uint64_t kMostSteps = 20'000;  // of a decoder: more shows nothing new
constexpr size_t kLogs = 64;             // simulated runs for each policy
constexpr unsigned kMostSeconds = 60;    // for one input

uint64_t present_input = 0;

void say_input(int signal) {
  char text[64];
  const int size = std::snprintf(text, sizeof text, "signal %d at input %lu\n", signal, present_input);
  const ssize_t written = ::write(STDERR_FILENO, text, static_cast<size_t>(size));
  std::_Exit(written > 0 ? 1 : 2);
}

// Repetitions and rounds are told as numbers: expanding them would only cost time.
class Nothing : public PathVisitor {
 public:
  void repeated_blocks(std::span<const BlockId>, uint64_t) override {}
  void end(const DecodeEnd& how) override { ended = how; }
  DecodeEnd ended;
};

struct Target {
  Target(RecordPolicy policy) : program(kEverything, policy) {
    for (size_t i = 0; i < kLogs; ++i) {
      std::mt19937_64 random(i);
      Simulator run(program.program(), program.plan(), [&random] { return random(); });
      run.most_blocks = i % 4 == 0 ? 50 + 10 * i : 100'000;
      run.log.clock = i % 3 != 0;
      run.run(program.function("main"));
      logs.push_back(run.log.file());
    }
  }
  PlannedProgram program;
  std::vector<std::string> logs;
};

// Most changes hit what is used: the heads, and the first bytes of chunks.
size_t place_in(const std::string& bytes, std::mt19937_64& random) {
  const size_t page = random() % (bytes.size() / HEDDLE_RECORD_PAGE + 1) * HEDDLE_RECORD_PAGE;
  const size_t within = random() % 3 == 0 ? random() % HEDDLE_RECORD_PAGE : random() % 400;
  return (page + within) % bytes.size();
}

void change(std::string& bytes, const std::string& other, std::mt19937_64& random) {
  if (bytes.empty()) return;
  const size_t at = place_in(bytes, random);
  switch (random() % 8) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
      break;
    case 1:
      bytes[at] = static_cast<char>(random());
      break;
    case 2: {
      constexpr uint64_t kNumbers[] = {0, 1, 2, 63, 64, 4096, UINT32_MAX, uint64_t{1} << 63, UINT64_MAX};
      const uint64_t number = kNumbers[random() % std::size(kNumbers)];
      std::memcpy(&bytes[at], &number, std::min(sizeof number, bytes.size() - at));
      break;
    }
    case 3:
      bytes.resize(at);
      break;
    case 4:
      bytes.insert(at, std::string(1 + random() % 16, static_cast<char>(random())));
      break;
    case 5:
      bytes.erase(at, 1 + random() % 16);
      break;
    case 6:  // a piece of another log, in the same place or in another
      bytes.replace(at, 64, other, place_in(other, random), 64);
      break;
    case 7: {  // a page twice
      const size_t from = at / HEDDLE_RECORD_PAGE * HEDDLE_RECORD_PAGE;
      bytes += bytes.substr(from, HEDDLE_RECORD_PAGE);
      break;
    }
  }
}

// Places that a handler's log could name: near the beginning, or anywhere.
std::vector<SignalEntry> interruptions(std::mt19937_64& random) {
  std::vector<SignalEntry> out(random() % 4 == 0 ? 1 + random() % 3 : 0);
  for (SignalEntry& entry : out) {
    const auto number = [&](uint64_t most) { return random() % 8 == 0 ? random() : random() % most; };
    entry.path_words = number(4);
    entry.word = random() >> random() % 64;
    entry.pending_path = number(8);
    entry.data_bytes = number(300);
  }
  return out;
}

DecodeEnd::Kind try_input(const Target& target, std::string bytes, std::vector<SignalEntry> cuts) {
  const Result<LogFile> log = LogFile::from_bytes("fuzz.log", std::move(bytes));
  if (!log) return DecodeEnd::Kind::damaged;
  Nothing nothing;
  ThreadDecoder decoder(target.program.program(), target.program.plan(), *log, nothing, std::move(cuts));
  for (uint64_t i = 0; i < kMostSteps && decoder.step(); ++i) {
  }
  HEDDLE_CHECK(decoder.end().certain_blocks <= decoder.end().blocks);
  return nothing.ended.kind;
}

int fuzz(uint64_t inputs, uint64_t seed, int64_t only) {
  std::vector<std::unique_ptr<Target>> targets;
  for (RecordPolicy policy : {RecordPolicy::standard, RecordPolicy::paths, RecordPolicy::clap})
    targets.push_back(std::make_unique<Target>(policy));
  uint64_t ends[6] = {};
  for (uint64_t i = 0; i < inputs; ++i) {
    present_input = only >= 0 ? static_cast<uint64_t>(only) : i;
    ::alarm(kMostSeconds);
    std::mt19937_64 random(seed << 32 ^ present_input);
    const Target& target = *targets[random() % targets.size()];
    std::string bytes = target.logs[random() % kLogs];
    const std::string& other = target.logs[random() % kLogs];
    for (uint64_t changes = random() % 6; changes > 0; --changes) change(bytes, other, random);
    ++ends[static_cast<size_t>(try_input(target, std::move(bytes), interruptions(random)))];
    if (only >= 0) break;
  }
  std::printf(
      "%lu inputs: complete %lu, in a call %lu, stopped %lu, beginning lost %lu, trouble %lu, damaged %lu\n",
      inputs, ends[0], ends[1], ends[2], ends[3], ends[4], ends[5]);
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  uint64_t inputs = 20'000, seed = 1;
  int64_t only = -1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--inputs") inputs = value;
    if (option == "--seed") seed = value;
    if (option == "--only") only = static_cast<int64_t>(value);
  }
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) std::signal(signal, heddle::say_input);
  return heddle::fuzz(inputs, seed, only);
}
