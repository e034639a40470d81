// Gives the reader of traces files that nobody wrote: parts of random traces, changed at random. It may not
// crash, and what it accepts must be fit for the text and for evaluation. Deterministic: input N of a seed is
// the same everywhere.
//
//   trace_fuzz --inputs N [--seed S] [--only I]
//
// When it crashes, the number of the last input is on standard error; --only runs that one alone.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "trace/trace_file.h"
#include "trace/trace_fixture.h"
#include "trace/trace_text.h"

namespace heddle {
namespace {

constexpr size_t kTraces = 256;
constexpr unsigned kMostSeconds = 60;  // for one input

uint64_t present_input = 0;

void say_input(int signal) {
  char text[64];
  const int size = std::snprintf(text, sizeof text, "signal %d at input %lu\n", signal, present_input);
  const ssize_t written = ::write(STDERR_FILENO, text, static_cast<size_t>(size));
  std::_Exit(written > 0 ? 1 : 2);
}

void change(std::string& bytes, const std::string& other, std::mt19937_64& random) {
  if (bytes.empty()) return;
  const size_t at = random() % bytes.size();
  switch (random() % 7) {
    case 0:
    case 1:
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
      break;
    case 2:
      bytes[at] = static_cast<char>(random() % 64);
      break;
    case 3: {
      constexpr uint64_t kNumbers[] = {0, 1, 2, 63, 64, 65, 4096, UINT32_MAX, uint64_t{1} << 63, UINT64_MAX};
      const uint64_t number = kNumbers[random() % std::size(kNumbers)];
      std::memcpy(&bytes[at], &number, std::min<size_t>(size_t{1} << random() % 4, bytes.size() - at));
      break;
    }
    case 4:
      bytes.resize(at);
      break;
    case 5:
      bytes.erase(at, 1 + random() % 16);
      break;
    case 6:  // a piece of another trace in the same place: mostly the same fields
      if (at < other.size()) bytes.replace(at, 16, other, at, std::min<size_t>(16, bytes.size() - at));
      break;
  }
}

// Uses a trace as its users do.
void use(const Trace& trace, uint64_t seed) {
  HEDDLE_CHECK(!trace_text(trace).empty());
  for (const MemoryModel model : {MemoryModel::sc, MemoryModel::tso, MemoryModel::pso}) {
    const std::vector<OrderItem> order =
        trace.threads.empty() ? std::vector<OrderItem>() : random_order(trace, seed, model != MemoryModel::sc);
    HEDDLE_CHECK(!evaluate(trace, model, order).text(trace).empty());
  }
}

int fuzz(uint64_t inputs, uint64_t seed, int64_t only) {
  std::vector<std::vector<std::string>> traces;
  for (size_t i = 0; i < kTraces; ++i) traces.push_back(trace_parts(random_trace(i)));
  uint64_t accepted = 0;
  for (uint64_t i = 0; i < inputs; ++i) {
    present_input = only >= 0 ? static_cast<uint64_t>(only) : i;
    ::alarm(kMostSeconds);
    std::mt19937_64 random(seed << 32 ^ present_input);
    std::vector<std::string> parts = traces[random() % kTraces];
    const std::vector<std::string>& others = traces[random() % kTraces];
    for (uint64_t changes = random() % 4; changes > 0; --changes) {
      const size_t part = random() % parts.size();
      change(parts[part], others[part % others.size()], random);
    }
    if (random() % 50 == 0) parts.pop_back();
    const Result<Trace> trace = trace_from_parts(parts);
    if (trace) use(*trace, random());
    accepted += bool(trace);
    if (only >= 0) break;
  }
  std::printf("%lu inputs: %lu accepted\n", inputs, accepted);
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
