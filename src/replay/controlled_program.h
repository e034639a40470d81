// A program that heddle controls: the user's executable, its control variant, its model and its symbols.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "image/code_symbols.h"
#include "program/program.h"
#include "replay/failure.h"
#include "replay/memory_names.h"

namespace heddle {

// The file that a command's first word means in this folder: a path, or a name looked up like a shell does.
Result<std::filesystem::path> find_program(const std::string& word, const std::filesystem::path& folder);

class ControlledProgram : public CodeNames {
 public:
  // Builds the variant ("control", or another with its runtime), or takes it from the cache.
  static Result<std::unique_ptr<ControlledProgram>> open(const std::filesystem::path& executable,
                                                         std::string_view variant = "control");

  const std::filesystem::path& executable() const { return executable_; }
  const std::filesystem::path& variant() const { return variant_; }
  const Program& program() const { return *program_; }
  const MemoryNames& memory() const { return memory_; }

  std::optional<CodePlace> place_of_site(uint32_t site) const override;
  std::vector<StackFrame> frames_of(uint64_t address, uint64_t load_base, bool exact) const override;
  std::string variable_at(uint64_t address, uint64_t load_base) const override;
  std::string function_at(uint64_t address, uint64_t load_base) const override;
  std::string source_path(const std::string& file) const override;

 private:
  ControlledProgram(std::filesystem::path executable, std::filesystem::path variant,
                    std::unique_ptr<Program> program, CodeSymbols symbols, MemoryNames memory);
  bool is_own_function(const std::string& symbol) const;
  // Relative to the folder that holds all of the program's sources: independent of where that is.
  std::string short_file(const std::string& file) const;

  std::filesystem::path executable_, variant_;
  std::unique_ptr<Program> program_;
  CodeSymbols symbols_;
  MemoryNames memory_;
  std::string source_folder_;  // ends with '/'; empty when there is none
};

// The longest folder that holds all these files, with '/' at its end; empty when that is the root.
std::string common_folder(const std::vector<std::string>& files);

}  // namespace heddle
