// Code generation exactly as it was: clang makes an object from a module that is the end of the optimisation
// pipeline, with the options of code generation that its translation unit was compiled with.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "program/program.h"

namespace heddle {

// Those words of a compiler's command line that code generation looks at.
std::vector<std::string> code_generation_words(const std::vector<std::string>& args);

Result<void> compile_module(const std::filesystem::path& bitcode, const TranslationUnit& unit,
                            const std::filesystem::path& object);

}  // namespace heddle
