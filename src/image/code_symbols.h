// From code addresses of an executable to source lines: DWARF line tables and inlined frames; without them,
// names of functions from the symbol table. Beside process_stacks.h the only
// user of libdw.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle {

// C++ names are demangled; `file` is absolute where the compiler knew the folder, empty when there is no line.
struct CodeFrame {
  std::string function;
  std::string file;
  uint32_t line = 0;
};

// Several threads may ask at the same time.
class CodeSymbols {
 public:
  static Result<CodeSymbols> open(const std::filesystem::path& executable);
  CodeSymbols(CodeSymbols&&) noexcept;
  CodeSymbols& operator=(CodeSymbols&&) noexcept;
  ~CodeSymbols();

  // The function whose code holds the address (an address in the file: load address subtracted), as the linker
  // knows it; empty when there is none.
  std::string symbol_at(uint64_t address) const;
  // Innermost first, more than one where functions were inlined. Empty when the address is in no function.
  std::vector<CodeFrame> frames_at(uint64_t address) const;

 private:
  struct Data;
  explicit CodeSymbols(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

// A C++ name as people write it; other names as they are.
std::string demangled(const std::string& name);
// The same for the name that std::type_info gives.
std::string demangled_type(const std::string& name);

}  // namespace heddle
