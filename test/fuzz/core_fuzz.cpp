// Gives the reader of cores files that no kernel wrote: cores made by the fixture, changed at random. It may
// not crash, and each input must come to an end. Deterministic: input N of a seed is the same everywhere.
//
//   core_fuzz --inputs N [--seed S] [--only I]
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "coredump/core_file.h"
#include "coredump/core_fixture.h"
#include "coredump/core_stacks.h"

namespace heddle {
namespace {

uint64_t present_input = 0;

void say_input(int signal) {
  char text[64];
  const int size = std::snprintf(text, sizeof text, "signal %d at input %lu\n", signal, present_input);
  const ssize_t written = ::write(STDERR_FILENO, text, static_cast<size_t>(size));
  std::_Exit(written > 0 ? 1 : 2);
}

void change(std::string& bytes, std::mt19937_64& random) {
  if (bytes.empty()) return;
  // Most changes hit heads and notes.
  const size_t at = (random() % 4 == 0 ? random() : random() % 2048) % bytes.size();
  constexpr uint64_t kNumbers[] = {
      0, 1, 7, 64, 4095, 4096, 0xffff, UINT32_MAX, uint64_t{1} << 63, UINT64_MAX - 7, UINT64_MAX};
  const uint64_t number = kNumbers[random() % std::size(kNumbers)];
  switch (random() % 5) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
      break;
    case 1:
      std::memcpy(&bytes[at & ~size_t{7}], &number, std::min<size_t>(8, bytes.size() - (at & ~size_t{7})));
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.insert(at, std::string(1 + random() % 16, static_cast<char>(random())));
      break;
    case 4:
      bytes.erase(at, 1 + random() % 16);
      break;
  }
}

bool try_input(std::string bytes) {
  const Result<CoreFile> core = CoreFile::from_bytes(std::move(bytes), "fuzz");
  if (!core) return false;
  for (const CoreStack& stack : core_stacks(*core, "/proc/self/exe", {}, 50)) HEDDLE_CHECK(!stack.frames.empty());
  char memory[256];
  for (const CoreModule& module : core->modules()) core->read(module.begin, memory, sizeof memory);
  for (const uint64_t address : {uint64_t{0}, uint64_t{0x400000}, uint64_t{0x600000}, UINT64_MAX - 8})
    core->read(address, memory, sizeof memory);
  return true;
}

int fuzz(uint64_t inputs, uint64_t seed, int64_t only) {
  CoreFixture fixture;
  fixture.threads = {{101, 0x401004}, {100, 0x401010}, {102, 0}};
  fixture.files = {{0x400000, 0x402000, 0, "/proc/self/exe"},
                   {0x7f0000000000, 0x7f0000010000, 0, "/etc/hostname"}};
  fixture.memory = {{0x400000,
                     std::string("\x7f"
                                 "ELF\2\1\1",
                                 7) +
                         std::string(57, '\1'),
                     0x2000},
                    {0x600000, std::string(4096, 'm'), 8192}};
  const std::string good = fixture.bytes();
  uint64_t read = 0;
  for (uint64_t i = 0; i < inputs; ++i) {
    present_input = only >= 0 ? static_cast<uint64_t>(only) : i;
    ::alarm(60);
    std::mt19937_64 random(seed << 32 ^ present_input);
    std::string bytes = good;
    for (uint64_t changes = random() % 6; changes > 0; --changes) change(bytes, random);
    if (try_input(std::move(bytes))) ++read;
    if (only >= 0) break;
  }
  std::printf("%lu inputs, %lu read as cores\n", inputs, read);
  return read > 0 ? 0 : 1;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  uint64_t inputs = 1000, seed = 1;
  int64_t only = -1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--inputs") == 0) inputs = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seed") == 0) seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--only") == 0) only = std::strtoll(argv[i + 1], nullptr, 10);
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM}) std::signal(signal, heddle::say_input);
  return heddle::fuzz(inputs, seed, only);
}
