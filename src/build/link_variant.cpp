#include "build/link_variant.h"

#include <fmt/core.h>
#include <llvm/Object/Archive.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/MemoryBuffer.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/clang.h"
#include "base/files.h"
#include "base/process.h"

namespace heddle {
namespace {

// Linker options that write files or strip, with the number of further words they take when not joined by '='.
struct Unwanted {
  std::string_view name;
  bool takes_word;
};
constexpr std::array<Unwanted, 14> kUnwanted = {{{"-Map", true},
                                                 {"--Map", true},
                                                 {"-s", false},
                                                 {"--strip-all", false},
                                                 {"-S", false},
                                                 {"--strip-debug", false},
                                                 {"--dependency-file", true},
                                                 {"-M", false},
                                                 {"--print-map", false},
                                                 {"--out-implib", true},
                                                 {"--cref", false},
                                                 {"-t", false},
                                                 {"--trace", false},
                                                 {"--print-gc-sections", false}}};

// Options that keep symbols of the executable from the libraries it uses.
constexpr std::array<Unwanted, 5> kHiding = {{{"--version-script", true},
                                              {"-version-script", true},
                                              {"--exclude-libs", true},
                                              {"-exclude-libs", true},
                                              {"--no-export-dynamic", false}}};

const Unwanted* find_option(std::span<const Unwanted> options, std::string_view word) {
  for (const Unwanted& entry : options)
    if (word == entry.name || (entry.takes_word && word.starts_with(std::string(entry.name) + "=")))
      return &entry;
  return nullptr;
}

bool is_static(const LinkPlan& plan) {
  for (const LinkItem& item : plan.items)
    for (const std::string& flag : item.flags)
      if (flag == "-static" || flag == "--static" || flag == "-static-pie") return true;
  return false;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

class Linker {
 public:
  Linker(const LinkPlan& plan, const VariantLink& link) : plan_(plan), link_(link) {}

  Result<void> run() {
    if (link_.interposes && is_static(plan_))
      return Error{.what = "a controlled run needs a dynamically linked program",
                   .where = link_.program,
                   .why = "it was linked with -static: the functions that heddle must take over are inside it",
                   .next = "link it without -static"};
    std::vector<std::string> argv = {clang_path(plan_.cxx ? CompilerMode::cxx : CompilerMode::c)};
    HEDDLE_TRY(add_own_code(argv));
    std::error_code ignored;
    LinkerFlagFilter flags(fs::weakly_canonical(link_.program, ignored).parent_path(), link_.interposes);
    for (const LinkItem& item : plan_.items) {
      for (std::string& flag : flags.filter(item.flags)) argv.push_back(std::move(flag));
      for (const LinkInput& input : item.input) HEDDLE_TRY(add_input(input, argv));
    }
    if (link_.interposes) argv.push_back("-Wl,-z,now,--build-id");
    argv.push_back("-Wl,--discard-locals");  // names that code_generation.cpp made up
    argv.push_back("-o");
    argv.push_back(link_.output);

    const bool folder_exists = fs::is_directory(plan_.folder, ignored);
    ProcessOptions options{.folder = folder_exists ? fs::path(plan_.folder) : link_.scratch,
                           .output = ProcessOptions::Output::capture};
    const ProcessEnd end = HEDDLE_TRY(run_process(argv, options));
    if (end.exit_code == 0) return {};
    return failed(argv, end.output, folder_exists);
  }

 private:
  Result<void> add_own_code(std::vector<std::string>& argv) {
    if (!link_.interposes) {
      argv.insert(argv.end(), link_.objects.begin(), link_.objects.end());
      argv.insert(argv.end(), link_.runtime.begin(), link_.runtime.end());
      return {};
    }
    // The first definition counts: a program that brings a malloc of its own gets the runtime's. Nobody may
    // name a function of the runtime before a library is loaded, so all of it is linked.
    argv.push_back("-Wl,--allow-multiple-definition,--push-state,--whole-archive");
    argv.insert(argv.end(), link_.runtime.begin(), link_.runtime.end());
    argv.push_back("-Wl,--pop-state");
    argv.insert(argv.end(), link_.objects.begin(), link_.objects.end());
    // Unwinding: for stacks of failures and the end of cancelled threads.
    argv.push_back("-Wl,--push-state,--no-as-needed,-Bdynamic");
    argv.push_back("-lgcc_s");
    argv.push_back("-Wl,--pop-state");
    const fs::path exported = link_.scratch / "exported";
    const std::string list = HEDDLE_TRY(export_list());
    HEDDLE_TRY(write_file(exported, list));
    argv.push_back("-Wl,--dynamic-list=" + exported.string());
    return {};
  }

  // What libraries shall find, as a dynamic list of the linker. Not all that the executable has
  // (--export-dynamic): its own functions would take the place of others of the same name in libraries that are
  // loaded later. Names that begin so are between the files of the runtime (cmake/own_names.cmake).
  Result<std::string> export_list() const {
    std::string list = "{\n";
    for (const fs::path& path : link_.runtime) {
      const std::string bytes = HEDDLE_TRY(read_file(path));
      llvm::Expected<std::unique_ptr<llvm::object::Archive>> archive =
          llvm::object::Archive::create(llvm::MemoryBufferRef(bytes, path.string()));
      if (!archive)
        return Error{.what = "cannot read a runtime: " + llvm::toString(archive.takeError()), .where = path};
      for (const llvm::object::Archive::Symbol& symbol : (*archive)->symbols())
        if (!symbol.getName().starts_with("__heddle_rt") && !symbol.getName().starts_with("__heddle_heap_"))
          list += fmt::format("  {};\n", symbol.getName().str());
    }
    return list + "};\n";
  }

  Result<void> add_input(const LinkInput& input, std::vector<std::string>& argv) {
    switch (input.kind) {
      case LinkInput::Kind::modelled:
        return {};
      case LinkInput::Kind::link_time:
        return Error{
            .what = "a part of the program is compiled at link time (-flto), where heddle cannot see it",
            .where = input.path,
            .next = "build the program without -flto"};
      case LinkInput::Kind::by_path:
        argv.push_back(input.path);
        return {};
      case LinkInput::Kind::foreign:
        for (const LinkInput::Member& member : input.members) {
          argv.push_back(next_name(".o"));
          HEDDLE_TRY(write_file(argv.back(), member.bytes));
        }
        return {};
      case LinkInput::Kind::archive:
        if (input.members.empty()) return {};
        argv.push_back(next_name(".a"));
        return write_archive(input, argv.back());
    }
    return {};
  }

  Result<void> write_archive(const LinkInput& input, const std::string& path) {
    std::vector<llvm::NewArchiveMember> members;
    for (const LinkInput::Member& member : input.members)
      members.emplace_back(llvm::MemoryBufferRef(member.bytes, member.name));
    llvm::Error error =
        llvm::writeArchive(path, members, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU,
                           /*Deterministic=*/true, /*Thin=*/false);
    if (!error) return {};
    return Error{.what = "cannot write a static library: " + llvm::toString(std::move(error)), .where = path};
  }

  std::string next_name(const char* extension) {
    return link_.scratch / fmt::format("foreign{}{}", counter_++, extension);
  }

  Error failed(const std::vector<std::string>& argv, std::string output, bool folder_exists) const {
    constexpr uintmax_t kTooLittle = 1 << 20;  // linkers may die of a full disk without a word of it
    std::error_code ignored;
    if (output.find(::strerror(ENOSPC)) != std::string::npos ||
        fs::space(link_.scratch, ignored).available < kTooLittle)
      return Error{.what = "cannot link the variant: no space is left",
                   .where = link_.scratch,
                   .next = "free some space there, or name another folder for variants: XDG_CACHE_HOME"};
    constexpr size_t kShown = 2000;
    if (output.size() > kShown) output = "..." + output.substr(output.size() - kShown);
    std::string why = "a library it was linked with has moved, or only the original link line can link it";
    if (!folder_exists) why = fmt::format("the folder it was linked in is gone: {}", plan_.folder);
    return Error{.what = fmt::format("cannot link the variant:\n{}", output),
                 .where = shell_quote(argv),
                 .why = why,
                 .next = "build the program again with heddle cc, and keep what it is linked with"};
  }

  const LinkPlan& plan_;
  const VariantLink& link_;
  int counter_ = 0;
};

}  // namespace

std::vector<std::string> LinkerFlagFilter::filter(const std::vector<std::string>& flags) {
  // -Wl,a,b and -Xlinker a carry words for the linker; everything else is for the driver.
  std::vector<std::string> out;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == "-Xlinker" && i + 1 < flags.size()) {
      if (!wanted(flags[++i])) continue;
      out.push_back("-Xlinker");
      out.push_back(resolve(flags[i]));
    } else if (flags[i].starts_with("-Wl,")) {
      std::string joined;
      for (const std::string& word : split(std::string_view(flags[i]).substr(4), ','))
        if (wanted(word)) joined += "," + resolve(word);
      if (!joined.empty()) out.push_back("-Wl" + joined);
    } else {
      out.push_back(resolve(flags[i]));
    }
  }
  return out;
}

bool LinkerFlagFilter::wanted(const std::string& word) {
  if (std::exchange(skip_word_, false)) return false;
  const Unwanted* entry = find_option(kUnwanted, word);
  if (entry == nullptr && exports_) entry = find_option(kHiding, word);
  if (entry == nullptr) return true;
  skip_word_ = entry->takes_word && word == entry->name;
  return false;
}

std::string LinkerFlagFilter::resolve(std::string word) const {
  for (std::string_view name : {"${ORIGIN}", "$ORIGIN"})
    for (size_t at; (at = word.find(name)) != std::string::npos;) word.replace(at, name.size(), origin_);
  return word;
}

Result<void> link_variant(const LinkPlan& plan, const VariantLink& link) {
  return Linker(plan, link).run();
}

}  // namespace heddle
