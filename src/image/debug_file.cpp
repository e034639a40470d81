#include "image/debug_file.h"

#include <fmt/core.h>

#include <vector>

#include "image/elf_file.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSystemFolder = "/usr/lib/debug";

std::vector<fs::path> likely_files(const ElfFile& elf, const fs::path& executable) {
  std::vector<fs::path> out;
  std::error_code ignored;
  const fs::path folder = fs::absolute(executable, ignored).parent_path();
  const std::string id = elf.build_id();
  if (const std::optional<std::string_view> link = elf.section(".gnu_debuglink")) {
    // The name, zeroes, a checksum: the build id says more.
    const fs::path name = std::string(link->substr(0, link->find('\0')));
    if (!name.empty() && name == name.filename())
      for (const fs::path& place :
           {folder, folder / ".debug", fs::path(std::string(kSystemFolder) + folder.string())})
        out.push_back(place / name);
  }
  if (id.size() > 2)
    out.push_back(fs::path(kSystemFolder) / ".build-id" / id.substr(0, 2) / (id.substr(2) + ".debug"));
  return out;
}

}  // namespace

Result<fs::path> file_with_symbols(const fs::path& executable, const fs::path& given) {
  const ElfFile elf = HEDDLE_TRY(ElfFile::open(executable));
  if (!given.empty()) {
    const ElfFile file = HEDDLE_TRY(ElfFile::open(given));
    if (file.build_id() != elf.build_id())
      return Error{.what = "the debug file is of another program",
                   .where = given,
                   .why = fmt::format("it has build id {}, the program has {} ({})", file.build_id(),
                                      elf.build_id(), executable.string())};
    if (!file.has_symbol_table())
      return Error{.what = "the debug file has no symbol table",
                   .where = given,
                   .next = "make it with objcopy --only-keep-debug, before the program is stripped"};
    return given;
  }
  if (elf.has_symbol_table()) return executable;
  std::string looked;
  for (const fs::path& file : likely_files(elf, executable)) {
    looked += (looked.empty() ? "" : ", ") + file.string();
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) continue;
    const Result<ElfFile> other = ElfFile::open(file);
    if (other && other->has_symbol_table() && other->build_id() == elf.build_id()) return file;
  }
  return Error{.what = "the executable is stripped, and its debug file was not found",
               .where = executable,
               .why = "code cannot be matched with the model inside without symbols; looked for " +
                      (looked.empty() ? "none: it names no debug file and has no build id" : looked),
               .next = "give the file with its symbols by --debug-file, or the program as it was linked"};
}

}  // namespace heddle
