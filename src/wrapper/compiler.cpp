#include "wrapper/compiler.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files.h"
#include "base/process.h"
#include "base/version.h"
#include "image/elf_file.h"
#include "wrapper/command_line.h"
#include "wrapper/plan_link.h"

namespace heddle {
namespace {

using Product = CommandLine::Product;

constexpr char kLoopCounters[] = "heddle-loop-counters";

// What the plugin stores with each module. An environment string is limited to 128 KiB by the kernel: of a
// longer command line only what code generation needs is kept.
void set_meta(CompilerMode mode, const std::vector<std::string>& args) {
  constexpr size_t kMaxSize = 100'000;
  std::error_code ignored;
  Json meta = {{"tool", HEDDLE_VERSION},
               {"cxx", mode == CompilerMode::cxx},
               {"folder", fs::current_path(ignored).string()},
               {"args", args}};
  auto text = [&] { return meta.dump(-1, ' ', false, Json::error_handler_t::replace); };
  if (text().size() > kMaxSize) {
    std::vector<std::string> kept;
    for (const std::string& arg : args)
      if (arg.starts_with("-O") || arg.starts_with("-f") || arg.starts_with("-m")) kept.push_back(arg);
    meta["args"] = kept;
  }
  ::setenv("HEDDLE_EMBED_META", text().substr(0, kMaxSize).c_str(), 1);
}

std::vector<std::string> plugin_flags(const CommandLine& line) {
  const fs::path prefix = executable_path().parent_path().parent_path();
  const fs::path plugin = prefix / "lib/heddle/heddle-embed.so";
  // The same words are given whatever the inputs are; clang should not complain where one has no use.
  // heddle.h comes after everything the program brings.
  std::vector<std::string> flags = {"--start-no-unused-arguments", "-fpass-plugin=" + plugin.string(),
                                    "-idirafter", (prefix / "share/heddle/include").string()};
  ::unsetenv("HEDDLE_EMBED_STRIP");
  if (!line.debug_info) {
    // Source lines for heddle's reports; the plugin takes them out again before code is generated. Given to the
    // compiler proper (-Xclang), they leave driver, assembler and linker alone.
    for (const char* flag : {"-debug-info-kind=line-tables-only", "-dwarf-version=5"}) {
      flags.push_back("-Xclang");
      flags.push_back(flag);
    }
    ::setenv("HEDDLE_EMBED_STRIP", "1", 1);
  }
  flags.push_back("--end-no-unused-arguments");
  return flags;
}

// The link record travels to the linker in an anonymous file that lives as long as this process: nothing to
// clean up, whatever happens. -Wl, because a preceding -x would make clang compile it.
Result<std::string> link_record_flag(const CommandLine& line, const std::vector<std::string>& args,
                                     const PlanOptions& options) {
  const std::string record = encode_record(plan_link(line, args, options).to_record());
  const std::string object = section_object({{HEDDLE_SECTION_LINK, record}});
  const int fd = ::memfd_create("heddle-link.o", 0);
  if (fd < 0) return system_error("cannot make an anonymous file", "");
  for (size_t done = 0; done < object.size();) {
    const ssize_t n = ::write(fd, object.data() + done, object.size() - done);
    if (n <= 0) return system_error("cannot write the link record", "");
    done += static_cast<size_t>(n);
  }
  return fmt::format("-Wl,/proc/self/fd/{}", fd);
}

// heddle's own words, which clang does not know. Each is on or off, the last one counts.
bool take_own_flag(std::vector<std::string>& args, const std::string& name) {
  bool on = false;
  std::erase_if(args, [&](const std::string& word) {
    const bool yes = word == "-f" + name, no = word == "-fno-" + name;
    if (yes || no) on = yes;
    return yes || no;
  });
  return on;
}

}  // namespace

Error run_compiler(CompilerMode mode, const std::vector<std::string>& given) {
  std::vector<std::string> expanded = expand_response_files(given), args = given;
  const size_t words = expanded.size();
  if (take_own_flag(expanded, kLoopCounters))
    ::setenv("HEDDLE_EMBED_LOOP_COUNTERS", "1", 1);
  else
    ::unsetenv("HEDDLE_EMBED_LOOP_COUNTERS");
  if (expanded.size() != words) args = expanded;  // it may have stood in a response file
  const CommandLine line = parse_command_line(expanded);
  const std::string clang = clang_path(mode);

  std::vector<std::string> command = {clang};
  const bool makes_code = line.product != Product::information && line.product != Product::untouched;
  if (makes_code && line.compiles && !line.link_time_optimisation) {
    set_meta(mode, expanded);
    for (std::string& flag : plugin_flags(line)) command.push_back(std::move(flag));
  }
  if (line.product == Product::linked) {
    const PlanOptions options{.cxx = mode == CompilerMode::cxx, .clang = clang};
    Result<std::string> flag = link_record_flag(line, expanded, options);
    // A build must not fail for want of a record: the program is right without it, only variants are not
    // possible.
    if (flag)
      command.push_back(*flag);
    else
      fmt::print(stderr, "heddle cc: warning: no link record: {}\n", flag.error().text());
  }
  command.insert(command.end(), args.begin(), args.end());
  return exec_process(command);
}

}  // namespace heddle
