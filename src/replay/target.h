// A controlled program as a process: how it is started, so that every run begins with the same memory, and how
// it is ended, so that nothing is left.
//
// What is the same for each start: no address space randomisation, the standard environment
// (standard_environment()), argv[0] as the user gave it, the variant executed by descriptor (its path would
// stand on the initial stack), no descriptors but 0, 1, 2 and the memory file's, always under the same number.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"

namespace heddle {

// PATH, HOME, LANG and TZ with fixed values: a program must not run differently because of who runs it.
std::vector<std::string> standard_environment();

// The standard environment with these settings (NAME=VALUE) on top, sorted by name.
std::vector<std::string> controlled_environment(const std::vector<std::string>& settings);

// What is executed, and how.
struct TargetSpec {
  std::filesystem::path executable;  // the variant
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // all of it but HEDDLE_CONTROL
  std::filesystem::path folder;
  std::filesystem::path input = {};  // standard input of one that gdb starts; empty: gdb's own

  // As a file, for another heddle process; any bytes but NUL may occur in the texts.
  std::string bytes() const;
  static Result<TargetSpec> parse(std::string_view bytes);
};

enum class TargetOutput {
  show,        // as heddle's own, through pipes where those are terminals: programs buffer differently there
  show_apart,  // the same, but all of it on standard error
  discard
};

struct TargetStreams {
  int input = -1;  // a descriptor to read from; -1: nothing (/dev/null)
  TargetOutput output = TargetOutput::discard;
  bool own_group = true;  // Ctrl-C does not reach it; not possible when it reads from the terminal
};

// In a child process: becomes the target. Returns only when that fails.
Error become_target(const TargetSpec& spec, int memory_file);

class Target {
 public:
  static Result<Target> start(const TargetSpec& spec, const TargetStreams& streams, int memory_file);
  Target(Target&& other) noexcept;
  Target& operator=(Target&&) = delete;
  ~Target();  // kills it

  pid_t pid() const { return pid_; }
  // How it ended (as waitpid says); nothing while it lives.
  std::optional<int> ended();
  // Ends it and the processes it started, and waits for it.
  void kill();
  // Waits until all output of an ended target has been shown.
  void finish_output();
  // Processor time of the target and of its children so far, in clock ticks.
  uint64_t processor_time() const;
  // Whether one of their threads could go on now, if it were given a processor.
  bool runs() const;

 private:
  Target(pid_t pid, bool own_group) : pid_(pid), own_group_(own_group) {}

  // Copies what comes out of a pipe to one of heddle's own descriptors.
  struct Pump {
    int from = -1, to = -1, stop = -1;
    std::thread thread;
  };

  pid_t pid_ = -1;
  bool own_group_ = true;
  std::optional<int> status_;
  std::vector<Pump> pumps_;
};

}  // namespace heddle
