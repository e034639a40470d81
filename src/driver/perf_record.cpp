#include "driver/perf_record.h"

#include <fmt/format.h>

#include <sstream>

#include "base/files.h"
#include "base/process.h"
#include "doctor/checks.h"
#include "doctor/facts.h"

namespace heddle {
namespace {

constexpr const char* kDevice = "/sys/bus/event_source/devices/intel_pt";

bool has_cap(const Machine& machine, const char* name) {
  return setting(machine, fmt::format("{}/caps/{}", kDevice, name)) == "1";
}

std::string first_error(const std::string& messages) {
  std::istringstream in(messages);
  std::string first;
  for (std::string line; std::getline(in, line);) {
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.erase(0, 1);
    if (line.empty()) continue;
    if (first.empty() || first == "Error:") first = line;
    if (line.find("rror") != std::string::npos && line != "Error:") return line;
  }
  return first;
}

Error refusal(const Machine& machine, const std::string& messages) {
  Finding pt = check_perf(machine);
  if (pt.status != CheckStatus::missing) pt = check_intel_pt(machine);
  Error error{.what = "perf record could not trace the program with Intel PT",
              .why = first_error(messages),
              .next = "heddle doctor; heddle record --mode paths and --mode pt --emulate need no PT",
              .exit = ExitCode::environment};
  if (pt.status != CheckStatus::ok) {
    error.why = fmt::format("Intel PT: {}{}", pt.finding,
                            error.why.empty() ? "" : fmt::format("; perf says: {}", error.why));
    error.next = fmt::format("{}; or: heddle record --mode pt --emulate", pt.remedy);
  }
  return error;
}

}  // namespace

Result<void> need_ptwrite(const Machine& machine) {
  if (has_cap(machine, "ptwrite")) return {};
  const Finding pt = check_intel_pt(machine);
  return Error{.what = "--ptwrite: this processor has no PTWRITE instruction",
               .why = fmt::format("Intel PT: {}", pt.finding),
               .next =
                   "leave out --ptwrite, or add --emulate; PTWRITE came with Goldmont Plus (2017), Alder Lake "
                   "(2021) and Sapphire Rapids (2023)",
               .exit = ExitCode::environment};
}

std::vector<std::string> perf_record_words(const Machine& machine, const HardwarePt& options,
                                           const fs::path& program, const fs::path& output) {
  // Returns are told as all other indirect branches: calls that do not return, as of exceptions, cannot
  // mislead.
  std::vector<std::string> terms = {"tsc=1", "noretcomp=1"};
  if (has_cap(machine, "psb_cyc")) terms.emplace_back("cyc=1");
  if (has_cap(machine, "mtc")) terms.emplace_back("mtc=1");
  if (options.ptwrite) terms.emplace_back("ptw=1,fup_on_ptw=1");
  std::vector<std::string> words = {
      "perf",           "record", "-o", output, "-e", fmt::format("intel_pt/{}/u", fmt::join(terms, ",")),
      "--switch-events"};
  const std::string filters = setting(machine, fmt::format("{}/nr_addr_filters", kDevice));
  if (has_cap(machine, "ip_filtering") && !filters.empty() && filters != "0") {
    words.emplace_back("--filter");
    words.push_back(fmt::format("filter * @ {}", program.string()));
  }
  if (options.snapshot) words.emplace_back("--snapshot=e");
  if (options.buffer_size) {
    words.emplace_back("-m");
    words.push_back(fmt::format(",{}", *options.buffer_size));
  }
  words.emplace_back("--");
  return words;
}

Result<PerfRun> run_under_perf(const Machine& machine, const HardwarePt& options,
                               const std::vector<std::string>& command, const fs::path& output,
                               std::optional<std::chrono::milliseconds> time_limit,
                               const PerfStreams& streams) {
  if (machine.find_program("perf").empty()) return refusal(machine, "");
  const TempFolder folder = HEDDLE_TRY(TempFolder::create());
  const fs::path ended = folder.path() / "end.json", messages = folder.path() / "messages";
  // perf's messages go to a file, the program's to where ours go.
  std::vector<std::string> words = {
      "/bin/sh", "-c",
      fmt::format("exec \"$@\" 9>&2 2>\"$0\"{}{}", streams.output_to_error ? " 1>&9" : "",
                  streams.input.empty() ? "" : " <" + streams.input),
      messages};
  for (std::string& word : perf_record_words(machine, options, command[0], output))
    words.push_back(std::move(word));
  for (const std::string& word : {machine.executable().string(), std::string("pt-run"), ended.string()})
    words.push_back(word);
  if (time_limit) words.push_back(fmt::format("--hang-timeout={}ms", time_limit->count()));
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  HEDDLE_TRY(run_process(words));
  const Result<std::string> said_by_perf = read_file(messages);
  const std::string said = said_by_perf ? *said_by_perf : "";
  const Result<std::string> text = read_file(ended);
  if (!text || !fs::exists(output)) return refusal(machine, said);
  const Json json = HEDDLE_TRY(parse_json(*text, "the end of the program"));
  return PerfRun{.end = HEDDLE_TRY(TracedEnd::from_json(json)), .messages = said};
}

}  // namespace heddle
