// Child processes: run to the end and say how they ended.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle {

struct ProcessOptions {
  std::filesystem::path folder;                                  // working folder; empty: ours
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  enum class Output { inherit, capture } output = Output::inherit;
};

struct ProcessEnd {
  int exit_code = 0;  // as a shell reports it: 128 + signal when killed by one
  int signal = 0;
  std::string output;  // standard output and error together, when captured
};

Result<ProcessEnd> run_process(const std::vector<std::string>& argv, const ProcessOptions& options = {});

// Replaces this process; returns only on failure.
Error exec_process(const std::vector<std::string>& argv);

// As a person would type it in a shell.
std::string shell_quote(const std::vector<std::string>& argv);

}  // namespace heddle
