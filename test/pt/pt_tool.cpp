// Runs the emulator by hand and for tests.
//
//   pt_tool emulate [--cores N] [--seed N] [--all] [--log FILE] OUT APP ARGS...
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "pt/emulator.h"

namespace heddle {
namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.text().c_str());
  return 3;
}

int emulate_command(int argc, char** argv) {
  EmulatorOptions options;
  int i = 0;
  std::FILE* log = nullptr;
  for (; i < argc && std::strncmp(argv[i], "--", 2) == 0; ++i) {
    const std::string name = argv[i];
    if (name == "--all") {
      options.own_code_only = false;
      continue;
    }
    if (i + 1 >= argc) return 2;
    const char* value = argv[++i];
    if (name == "--cores") options.cores = static_cast<unsigned>(std::strtoul(value, nullptr, 0));
    if (name == "--seed") options.seed = std::strtoull(value, nullptr, 0);
    if (name == "--slice") options.slice = std::strtoull(value, nullptr, 0);
    if (name == "--overflow") options.overflow_every = std::strtoull(value, nullptr, 0);
    if (name == "--log") log = std::fopen(value, "w");
  }
  if (i + 2 > argc) return 2;
  const fs::path out = argv[i];
  options.command.assign(argv + i + 1, argv + argc);
  if (log != nullptr)
    options.executed = [&](int tid, unsigned core, uint64_t address) {
      std::fprintf(log, "%d %u %lx\n", tid, core, address);
    };
  const Result<EmulatedRun> run = emulate(options);
  if (log != nullptr) std::fclose(log);
  if (!run) return fail(run.error());
  if (const Result<void> written = write_file(out, run->perf_data); !written) return fail(written.error());
  std::printf("pid %d, %lu threads, %lu instructions, exit code %d, failed %d at %lx, %zu bytes\n", run->pid,
              run->threads, run->instructions, run->exit_code, run->failed_tid, run->fault_pc,
              run->perf_data.size());
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "emulate") == 0) return heddle::emulate_command(argc - 2, argv + 2);
  std::fprintf(stderr, "usage: pt_tool emulate [--cores N] [--seed N] [--all] [--log FILE] OUT APP ARGS...\n");
  return 2;
}
