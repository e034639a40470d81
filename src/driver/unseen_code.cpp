#include "driver/unseen_code.h"

#include <fmt/core.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instruction.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "image/elf_file.h"
#include "program/source_place.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kSystemFolders = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/",
                                                            "/usr/lib32/"};

// What they lead to is code that nobody sees: loaded at run time, or in another process, which ends when it
// likes.
constexpr std::array<std::string_view, 6> kOutside = {"dlsym", "wait", "waitpid", "wait3", "wait4", "waitid"};

bool is_of_system(std::string_view path) {
  for (const std::string_view folder : kSystemFolders)
    if (path.starts_with(folder)) return true;
  return false;
}

// Of an option with its value behind it, or in the next word.
std::string value_of(std::string_view option, const std::vector<std::string>& words, size_t at) {
  if (!words[at].starts_with(option)) return "";
  if (words[at].size() > option.size()) return words[at].substr(option.size());
  return at + 1 < words.size() ? words[at + 1] : "";
}

// Libraries that the program was linked with, by their paths and by -L and -l.
std::vector<fs::path> linked_files(const LinkPlan& plan) {
  std::vector<fs::path> out;
  std::vector<std::string> words;
  for (const LinkItem& item : plan.items) {
    words.insert(words.end(), item.flags.begin(), item.flags.end());
    for (const LinkInput& input : item.input)
      if (input.kind == LinkInput::Kind::by_path) out.emplace_back(input.path);
  }
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string folder = value_of("-L", words, i);
    if (folder.empty()) continue;
    for (size_t k = 0; k < words.size(); ++k) {
      const std::string library = value_of("-l", words, k);
      if (library.empty()) continue;
      const fs::path path = fs::path(plan.folder) / folder /
                            (library.starts_with(":") ? library.substr(1) : fmt::format("lib{}.so", library));
      std::error_code error;
      if (fs::exists(path, error)) out.push_back(path.lexically_normal());
    }
  }
  return out;
}

// Also of code that is loaded while the program runs. What a linker script or an archive holds is in the
// program itself.
std::set<std::string> own_functions(const Program& program) {
  std::set<std::string> out(program.foreign_functions().begin(), program.foreign_functions().end());
  out.insert(kOutside.begin(), kOutside.end());
  if (!program.link_plan()) return out;
  for (const fs::path& path : linked_files(*program.link_plan())) {
    if (is_of_system(path.native())) continue;
    const Result<ElfFile> file = ElfFile::open(path);
    if (!file || file->kind() != ElfFile::Kind::shared) continue;
    for (const ElfSymbol& function : file->functions()) out.insert(function.name);
  }
  return out;
}

// Names that begin so are of the C++ library and its runtime, and of heddle's own header.
bool is_of_language(std::string_view name) {
  for (const std::string_view prefix :
       {"_ZNS", "_ZNKS", "_ZS", "_ZTh", "_ZTv", "__cxa_", "__gxx_", "_Unwind_", "heddle_"})
    if (name.starts_with(prefix)) return true;
  return false;
}

std::string first_use(const llvm::Function& function) {
  for (const llvm::User* user : function.users()) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (instruction == nullptr) continue;
    const SourcePlace place = user_place(*instruction);
    if (place.known()) return fmt::format("{}:{}", place.file, place.line);
  }
  return "";
}

}  // namespace

UnseenCode unseen_code(const Program& program, const EffectsTable& effects) {
  UnseenCode out;
  const std::set<std::string> own = own_functions(program);
  for (const llvm::Function& function : program.module()) {
    const std::string name = function.getName().str();
    if (!function.isDeclaration() || function.isIntrinsic() || function.use_empty() || is_of_language(name) ||
        (effects.find(name) != nullptr && std::ranges::find(kOutside, name) == kOutside.end()))
      continue;
    (own.contains(name) ? out.own : out.systems)
        .push_back({.name = readable_name(function), .place = first_use(function)});
  }
  return out;
}

}  // namespace heddle
