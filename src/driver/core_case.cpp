#include "driver/core_case.h"

#include <fmt/core.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <set>

#include "image/debug_file.h"
#include "image/elf_file.h"
#include "program/source_place.h"
#include "replay/failure.h"

namespace heddle {
namespace {

// Places of the executable that left the core, as controlled runs name them.
class CoreNames : public CodeNames {
 public:
  CoreNames(const ControlledProgram& program, const CodeMap& map) : program_(program), map_(map) {}
  std::optional<CodePlace> place_of_site(uint32_t site) const override { return program_.place_of_site(site); }
  std::vector<StackFrame> frames_of(uint64_t address, uint64_t load_base, bool exact) const override {
    const uint64_t at = address - load_base - (exact ? 0 : 1);
    for (uint64_t back = 0; back < 24; ++back)
      if (const std::optional<InstructionId> found = map_.instruction_at(at - back)) {
        const std::optional<CodePlace> place = program_.place_of_site(found->value);
        return {StackFrame{.function = place ? place->function : "", .place = place}};
      }
    return {};
  }
  std::string variable_at(uint64_t, uint64_t) const override { return ""; }
  std::string function_at(uint64_t, uint64_t) const override { return ""; }

 private:
  const ControlledProgram& program_;
  const CodeMap& map_;
};

bool passes(const CoreStack& stack, std::string_view symbol) {
  return std::ranges::any_of(stack.frames, [&](const CoreFrame& frame) { return frame.symbol == symbol; });
}

// glibc keeps what abort() was told: "app: file.c:12: main: Assertion `x == 1' failed."
std::string abort_message(const CoreFile& core) {
  for (const CoreModule& module : core.modules()) {
    if (module.file.find("libc.so") == std::string::npos) continue;
    const Result<ElfFile> library = ElfFile::open(module.file);
    if (!library) continue;
    for (const ElfSymbol& symbol : library->variables())
      if (symbol.name == "__abort_msg")
        if (const std::optional<uint64_t> at = core.word(symbol.address + module.base); at && *at != 0)
          return core.text(*at + sizeof(uint32_t));
  }
  return "";
}

heddle_result told_by(const CoreFile& core, const CoreStack& stack) {
  heddle_result result{.outcome = HEDDLE_OUTCOME_signal, .site = HEDDLE_NO_SITE};
  result.number = core.signal();
  result.address = core.fault_address().value_or(0);
  if (core.signal() != SIGABRT) return result;
  result.outcome = HEDDLE_OUTCOME_abort;
  const std::string message = abort_message(core);
  constexpr std::string_view kBegin = "Assertion `", kEnd = "' failed";
  const size_t begin = message.find(kBegin), end = message.rfind(kEnd);
  std::string text;
  if (begin != std::string::npos && end != std::string::npos && end > begin) {
    result.outcome = HEDDLE_OUTCOME_assertion;
    text = message.substr(begin + kBegin.size(), end - begin - kBegin.size());
  } else if (passes(stack, "__cxa_throw") || passes(stack, "__cxa_rethrow")) {
    result.outcome = HEDDLE_OUTCOME_exception;
  }
  std::memcpy(result.text, text.data(), std::min(text.size(), sizeof result.text - 1));
  return result;
}

RecordedFailure failure_in(const CoreCase& core, const ControlledProgram& program) {
  const CoreStack& stack = core.stacks[core.failing];
  Answer answer;
  answer.result = told_by(*core.core, stack);
  heddle_result& result = answer.result;
  const CoreModule* executable = core.core->executable();
  result.load_base = executable != nullptr ? executable->base : 0;
  const CoreNames names(program, *core.map);
  for (const CoreFrame& frame : stack.frames) {
    if (result.stack_size == 32) break;
    if (!frame.in_program || names.frames_of(frame.pc, result.load_base, frame.exact).empty()) continue;
    const bool before = result.outcome == HEDDLE_OUTCOME_signal && result.stack_size == 0 && !frame.exact;
    result.stack[result.stack_size++] = frame.pc - (before ? 1 : 0);
  }
  const std::optional<Failure> failure = failure_of(answer, {ThreadName()}, names);
  RecordedFailure out;
  if (!failure) return out;
  out = {
      .kind = failure->kind, .identity = failure->identity, .text = failure->text, .address = failure->address};
  const std::string report = failure->report();
  out.headline = report.substr(0, report.find('\n'));
  if (failure->place)
    out.place = RecordedPlace{
        .file = failure->place->file, .line = failure->place->line, .function = failure->place->function};
  // Of what was inlined, controlled runs may name the caller's line: the function that it is in decides.
  if (out.place && result.outcome == HEDDLE_OUTCOME_signal)
    for (const CoreFrame& frame : stack.frames)
      if (const std::optional<InstructionId> at =
              frame.in_program ? core.map->instruction_at(frame.place()) : std::nullopt) {
        out.place->function =
            short_name(source_places(core.regions->program().instruction(*at)).back().function);
        break;
      }
  return out;
}

// A core that was taken of a process that did not go on.
RecordedFailure hang_in(const CoreCase& core, const ControlledProgram& program) {
  RecordedFailure out{
      .kind = "hang", .identity = "hang", .headline = "the program was running: a hang, it seems"};
  std::set<std::string> places;
  for (size_t i = 0; i < core.indexes.size(); ++i)
    if (const std::vector<InstructionId> at = core.stands_at(i); !at.empty())
      places.insert(place_text(program.place_of_site(at.front().value)));
  for (const std::string& place : places) out.identity += (out.identity == "hang" ? " " : "; ") + place;
  return out;
}

}  // namespace

std::vector<InstructionId> CoreCase::stands_at(size_t thread) const {
  const std::vector<IndexFrame>& frames = indexes[thread].index.frames;
  if (frames.empty() || !frames.back().at) return {};
  std::vector<InstructionId> out;
  if (frames.back().until)
    for (uint32_t i = frames.back().at->value; i <= frames.back().until->value; ++i) {
      const llvm::Instruction& instruction = regions->program().instruction(InstructionId(i));
      if (llvm::isa<llvm::CallBase>(instruction) && !llvm::isa<llvm::IntrinsicInst>(instruction))
        out.emplace_back(i);
    }
  if (out.empty()) out.push_back(*frames.back().at);
  return out;
}

Result<void> check_core_belongs(const CoreFile& core, const std::filesystem::path& executable) {
  const CoreModule* module = core.executable();
  const ElfFile elf = HEDDLE_TRY(ElfFile::open(executable));
  if (module == nullptr || module->build_id.empty() || elf.build_id().empty()) return {};
  if (module->build_id == elf.build_id()) return {};
  return Error{.what = "the core is of another program",
               .where = core.name(),
               .why = fmt::format("it has build id {} ({}), the program has {} ({})", module->build_id,
                                  module->file, elf.build_id(), executable.string()),
               .next = "give the executable that left the core, as it was then"};
}

namespace {

// The kernel keeps the first 79 bytes of the command line, with spaces between the words.
bool other_arguments(const std::string& kept, const std::vector<std::string>& command) {
  constexpr size_t kKept = 79;
  if (kept.empty() || command.empty()) return false;
  std::string given;
  for (size_t i = 1; i < command.size(); ++i) given += " " + command[i];
  // The program's own name may be written in another way.
  const size_t space = kept.find(' ');
  std::string arguments = space == std::string::npos ? "" : kept.substr(space);
  if (kept.size() < kKept)
    while (arguments.ends_with(' ')) arguments.pop_back();  // gdb's "run"
  if (kept.size() < kKept) return arguments != given;
  return !given.starts_with(arguments);
}

}  // namespace

Result<CoreCase> open_core(const std::filesystem::path& file, const ControlledProgram& program,
                           const std::vector<std::string>& command, const std::filesystem::path& debug_file) {
  CoreCase out;
  out.core = std::make_unique<CoreFile>(HEDDLE_TRY(CoreFile::open(file)));
  HEDDLE_TRY(check_core_belongs(*out.core, program.executable()));
  out.notes = out.core->notes();
  if (other_arguments(out.core->command(), command))
    out.notes.push_back(fmt::format("the core's command line was: {}", out.core->command()));
  const CoreModule* module = out.core->executable();
  if (module == nullptr)
    return Error{
        .what = "the core does not say which program it is of",
        .where = file,
        .why = "its list of mapped files is missing: the file was cut off near its beginning, or is damaged",
        .next =
            "make the core anew, with room for all of it (df, ulimit -c): heddle record --mode core -- APP"};
  if (module->build_id.empty())
    out.notes.emplace_back("the core has no build id: it was taken to be of this program unchecked");
  out.symbols = HEDDLE_TRY(file_with_symbols(program.executable(), debug_file));
  out.map = std::make_unique<CodeMap>(HEDDLE_TRY(CodeMap::make(program.program(), {.symbols = out.symbols})));
  for (const std::string& name : out.map->differing())
    out.notes.push_back(fmt::format("the code of {} differs from its model: it is left out", name));
  out.regions = std::make_unique<ProgramRegions>(program.program());
  out.stacks = core_stacks(*out.core, program.executable(), out.symbols);
  for (const CoreStack& stack : out.stacks)
    out.indexes.push_back(index_of_stack(*out.core, stack, *out.map, *out.regions));
  if (out.core->signal() == 0 || out.core->signal() == SIGSTOP || out.core->signal() == SIGTRAP ||
      out.core->signal() == SIGINT || out.core->signal() == SIGQUIT) {
    // Threads behind the main one first: that waits for them.
    for (size_t i = out.indexes.size(); i-- > 0;)
      if (!out.indexes[i].index.frames.empty()) out.failing = i;
    for (size_t i = 0; i < out.indexes.size(); ++i)
      if (!out.indexes[i].index.frames.empty() && out.stacks[i].tid != out.core->pid()) out.failing = i;
    out.failure = hang_in(out, program);
  } else {
    out.failure = failure_in(out, program);
  }
  if (out.indexes[out.failing].index.frames.empty())
    out.notes.emplace_back(
        "the failing thread was in no function of the program (libraries called each other, its stack is "
        "destroyed, "
        "or a library or memory is missing): of the failure only its kind is known");
  return out;
}

}  // namespace heddle
