#include "wrapper/plan_link.h"

#include <array>
#include <string_view>

#include "base/files.h"
#include "base/process.h"
#include "image/elf_file.h"

namespace heddle {
namespace {

using Kind = LinkInput::Kind;
using Word = CommandLine::Word;

// Foreign objects kept in one program, before compression. What goes beyond is used by its path.
constexpr size_t kMaxKept = size_t{128} << 20;

fs::path absolute(const std::string& path) {
  std::error_code ignored;
  fs::path full = fs::absolute(path, ignored);
  return full.empty() ? fs::path(path) : full.lexically_normal();
}

// Installed libraries stay where they are; they are not part of somebody's build folder.
bool belongs_to_system(const fs::path& path) {
  std::error_code ignored;
  const std::string full = fs::weakly_canonical(path, ignored);
  return full.starts_with("/usr/lib") || full.starts_with("/lib") || full.starts_with("/usr/share");
}

bool is_bitcode(std::string_view bytes) {
  return bytes.starts_with("BC\xC0\xDE") || bytes.starts_with("\xDE\xC0\x17\x0B");
}

bool has_model(std::string_view object, const std::string& name) {
  Result<ElfFile> elf = ElfFile::from_memory(object, name);
  return elf && elf->section(HEDDLE_SECTION_MODULE).has_value();
}

class Planner {
 public:
  Planner(const CommandLine& line, const PlanOptions& options) : line_(line), options_(options) {}

  LinkPlan plan(const std::vector<std::string>& args) {
    LinkPlan plan;
    std::error_code ignored;
    plan.cxx = options_.cxx;
    plan.shared = line_.shared;
    plan.folder = fs::current_path(ignored);
    plan.output = absolute(line_.output.empty() ? "a.out" : line_.output);
    plan.command = args;
    for (const Word& word : line_.words) add(plan, word);
    return plan;
  }

 private:
  void add(LinkPlan& plan, const Word& word) {
    switch (word.kind) {
      case Word::Kind::other:
        return;
      case Word::Kind::linker_flag:
        note_library_mode(word);
        plan.items.push_back({word.tokens, {}});
        return;
      case Word::Kind::library:
        plan.items.push_back(library_item(word));
        return;
      case Word::Kind::input:
        if (word.input == CommandLine::InputKind::source && line_.link_time_optimisation)
          plan.items.push_back({{}, {{Kind::link_time, absolute(word.tokens[0]), {}}}});
        if (word.input == CommandLine::InputKind::assembler)
          plan.items.push_back({{}, {assembled(word.tokens[0])}});
        if (word.input == CommandLine::InputKind::for_linker)
          plan.items.push_back({{}, {inspect(word.tokens[0])}});
        return;
    }
  }

  // -Bstatic and -Bdynamic change what -l finds from here on.
  void note_library_mode(const Word& word) {
    for (const std::string& token : word.tokens) {
      if (token == "-static" || token == "-static-pie" || token.find("-Bstatic") != std::string::npos)
        static_ = true;
      if (token.find("-Bdynamic") != std::string::npos) static_ = false;
    }
  }

  // A static library of the build folder is taken in like one named by its path; all others stay flags.
  LinkItem library_item(const Word& word) {
    const std::string name = word.tokens[0].substr(2);
    for (const std::string& folder : line_.search) {
      std::error_code ignored;
      const bool exact = name.starts_with(":");
      const fs::path shared = fs::path(folder) / ("lib" + name + ".so");
      const fs::path archive = fs::path(folder) / (exact ? name.substr(1) : "lib" + name + ".a");
      if (!exact && !static_ && fs::exists(shared, ignored)) break;
      if (!fs::exists(archive, ignored)) continue;
      LinkInput input = inspect(archive);
      if (input.kind == Kind::archive) return {{}, {std::move(input)}};
      break;
    }
    return {word.tokens, {}};
  }

  LinkInput inspect(const std::string& file) {
    LinkInput input{.kind = Kind::by_path, .path = absolute(file), .members = {}};
    if (belongs_to_system(input.path)) return input;
    Result<std::string> bytes = read_file(input.path);
    if (!bytes) return input;  // the linker will say so
    if (is_bitcode(*bytes)) {
      input.kind = Kind::link_time;
    } else if (auto members = archive_members(*bytes)) {
      inspect_archive(input, *members);
    } else if (Result<ElfFile> elf = ElfFile::from_memory(*bytes, file);
               elf && elf->kind() == ElfFile::Kind::relocatable) {
      if (elf->section(HEDDLE_SECTION_MODULE))
        input.kind = Kind::modelled;
      else if (keep(bytes->size()))
        input = {Kind::foreign, input.path, {{input.path, *std::move(bytes)}}};
    }
    return input;
  }

  void inspect_archive(LinkInput& input, const std::vector<ArchiveMember>& members) {
    std::vector<LinkInput::Member> foreign;
    size_t size = 0;
    for (const ArchiveMember& member : members) {
      if (is_bitcode(member.bytes)) {
        input.kind = Kind::link_time;
        return;
      }
      if (has_model(member.bytes, member.name)) continue;
      size += member.bytes.size();
      foreign.push_back({member.name, std::string(member.bytes)});
    }
    if (!keep(size)) return;
    input.kind = Kind::archive;
    input.members = std::move(foreign);
  }

  LinkInput assembled(const std::string& source) {
    LinkInput input{.kind = Kind::by_path, .path = absolute(source), .members = {}};
    Result<TempFolder> temp = TempFolder::create();
    if (!temp) return input;
    const fs::path object = temp->path() / "assembled.o";
    std::vector<std::string> argv = {options_.clang};
    for (const Word& word : line_.words)
      if (word.kind != Word::Kind::input && word.tokens[0] != "-o")
        argv.insert(argv.end(), word.tokens.begin(), word.tokens.end());
    for (const char* more : {"-c", "-w", "-o"}) argv.push_back(more);
    argv.push_back(object);
    argv.push_back(source);
    Result<ProcessEnd> end =
        run_process(argv, {.folder = {}, .environment = {}, .output = ProcessOptions::Output::capture});
    Result<std::string> bytes = end && end->exit_code == 0 ? read_file(object) : Error{};
    if (bytes && keep(bytes->size())) input = {Kind::foreign, input.path, {{input.path, *std::move(bytes)}}};
    return input;
  }

  bool keep(size_t size) {
    if (size > kMaxKept - kept_) return false;
    kept_ += size;
    return true;
  }

  const CommandLine& line_;
  const PlanOptions& options_;
  bool static_ = false;
  size_t kept_ = 0;
};

}  // namespace

LinkPlan plan_link(const CommandLine& line, const std::vector<std::string>& args, const PlanOptions& options) {
  return Planner(line, options).plan(args);
}

}  // namespace heddle
