// A program as heddle record runs it: the user's executable, its record variant and names for code addresses of
// that.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "image/code_symbols.h"
#include "image/process_stacks.h"
#include "program/program.h"
#include "recording/recording_info.h"
#include "replay/failure.h"
#include "replay/memory_names.h"

namespace heddle {

// The variant (src/build/variant.cpp) that records so. Store buffers have one of their own, for the standard
// policy without chaos.
std::string record_variant_name(const RecordingOptions& options);

class RecordedProgram : public CodeNames {
 public:
  // Builds the variant, or takes it from the cache.
  static Result<std::unique_ptr<RecordedProgram>> open(const std::filesystem::path& executable,
                                                       const std::string& variant);

  const std::filesystem::path& executable() const { return executable_; }
  const std::filesystem::path& variant() const { return variant_; }
  const std::string& variant_name() const { return variant_name_; }
  const Program& program() const { return *program_; }

  // Is this frame in the variant's own file?
  bool is_inside(const ProcessFrame& frame) const { return frame.module == variant_; }
  // Frames for people: those of the program with inlined functions and source lines, those of libraries by
  // name; without those of heddle's runtime and what called the outermost one of the program.
  std::vector<RecordedFrame> readable(const std::vector<ProcessFrame>& stack) const;

  std::optional<CodePlace> place_of_site(uint32_t) const override { return std::nullopt; }
  std::vector<StackFrame> frames_of(uint64_t address, uint64_t load_base, bool exact) const override;
  std::string variable_at(uint64_t address, uint64_t load_base) const override;
  std::string function_at(uint64_t address, uint64_t load_base) const override;

 private:
  RecordedProgram(std::filesystem::path executable, std::filesystem::path variant, std::string variant_name,
                  std::unique_ptr<Program> program, CodeSymbols symbols, MemoryNames memory);
  bool is_own_function(const std::string& symbol) const;
  std::string short_file(const std::string& file) const;

  std::filesystem::path executable_, variant_;
  std::string variant_name_;
  std::unique_ptr<Program> program_;
  CodeSymbols symbols_;
  MemoryNames memory_;
  std::string source_folder_;  // ends with '/'; empty when there is none
};

}  // namespace heddle
