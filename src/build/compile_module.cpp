#include "build/compile_module.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/clang.h"
#include "base/process.h"

namespace heddle {

std::vector<std::string> code_generation_words(const std::vector<std::string>& args) {
  // With the word behind them.
  constexpr std::array<std::string_view, 4> kPairs = {"-mllvm", "-target", "--target", "-Xclang"};
  constexpr std::array<std::string_view, 8> kUnwanted = {
      "-fplugin", "-fpass-plugin", "-fsyntax-only", "-flto", "-fmodule", "-fcolor", "-fdiagnostics", "-ftime"};
  std::vector<std::string> words;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (std::ranges::find(kPairs, word) != kPairs.end() && i + 1 < args.size()) {
      words.push_back(word);
      words.push_back(args[++i]);
      continue;
    }
    if (word == "-o" || word == "-x" || word == "-include" || word == "-I" || word == "-D" || word == "-MF" ||
        word == "-MT" || word == "-MQ") {
      ++i;
      continue;
    }
    if (std::ranges::any_of(kUnwanted, [&](std::string_view name) { return word.starts_with(name); })) continue;
    if (word.starts_with("-O") || word.starts_with("-f") || word.starts_with("-m") ||
        word.starts_with("--target=") || word == "-static" || word == "-pthread")
      words.push_back(word);
  }
  return words;
}

Result<void> compile_module(const std::filesystem::path& bitcode, const TranslationUnit& unit,
                            const std::filesystem::path& object) {
  std::vector<std::string> argv = {clang_path(CompilerMode::c), "-x", "ir", "-c", bitcode, "-o", object};
  for (std::string& word : code_generation_words(unit.args)) argv.push_back(std::move(word));
  // The pipeline is behind this module; -gdwarf only says which version of the format the debug information
  // gets.
  for (const char* word : {"-gdwarf-4", "-Xclang", "-disable-llvm-passes", "-Qunused-arguments", "-w"})
    argv.emplace_back(word);
  const ProcessEnd end = HEDDLE_TRY(run_process(argv, {.output = ProcessOptions::Output::capture}));
  if (end.exit_code == 0) return {};
  return Error{.what = fmt::format("clang cannot compile the model of {} again:\n{}", unit.source,
                                   end.output.substr(0, 2000)),
               .where = shell_quote(argv),
               .next = "heddle doctor  (says whether this is the clang that heddle was built with)"};
}

}  // namespace heddle
