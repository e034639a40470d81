// A compiler command line, understood as far as heddle cc needs it: what is made, from which inputs, and which
// words matter to the linker.
#pragma once

#include <string>
#include <vector>

namespace heddle {

// Replaces @file arguments by the file's words, as the compiler does (quotes, backslashes, nested files).
// A file that cannot be read stays as it is: the compiler will say so.
std::vector<std::string> expand_response_files(const std::vector<std::string>& args);

struct CommandLine {
  enum class Product {
    information,  // --version, -print-..., -###: no compilation
    untouched,    // -E, -M, -fsyntax-only, -emit-llvm, precompiled headers, nothing to do: clang as it is
    object,       // -c
    assembly,     // -S
    linked,       // executable or shared library
    partial,      // ld -r
  };
  enum class InputKind { source, assembler, for_linker };
  struct Word {
    enum class Kind { input, library, linker_flag, other } kind = Kind::other;
    std::vector<std::string> tokens;          // two for options with a separate argument
    InputKind input = InputKind::for_linker;  // when kind is `input`
  };

  Product product = Product::untouched;
  std::vector<Word> words;
  std::string output;               // -o; empty when not given
  std::vector<std::string> search;  // -L folders in order
  bool debug_info = false;          // the user asked for debug information
  bool link_time_optimisation = false;
  bool shared = false;
  bool compiles = false;  // there is a source for the compiler among the inputs
};

CommandLine parse_command_line(const std::vector<std::string>& args);

}  // namespace heddle
