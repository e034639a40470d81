// heddle-cc and heddle-c++: one small executable without LLVM, so that configure scripts, which call the
// compiler hundreds of times, do not wait for it to load. The name it is called by decides the language.
#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <vector>

#include "wrapper/compiler.h"

int main(int argc, char** argv) {
  const std::string name = std::filesystem::path(argv[0]).filename();
  const auto mode = name.find("c++") != std::string::npos ? heddle::CompilerMode::cxx : heddle::CompilerMode::c;
  const heddle::Error error = heddle::run_compiler(mode, std::vector<std::string>(argv + 1, argv + argc));
  fmt::print(stderr, "heddle cc: {}\n", error.text());
  return static_cast<int>(error.exit);
}
