#include <fmt/core.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/files.h"
#include "base/version.h"
#include "build/variant.h"
#include "driver/pt_inputs.h"
#include "driver/pt_recording.h"
#include "driver/record_failure.h"
#include "driver/record_inputs.h"
#include "driver/recording_paths.h"
#include "program/source_place.h"
#include "pt/emulator.h"
#include "recording/log_file.h"
#include "replay/controlled_program.h"
#include "replay/interrupt.h"

namespace heddle {
namespace {

// Names must be those that controlled runs find in debug information: line tables have the name of a function
// only if something was inlined into it. Else it goes by its symbol.
std::string symbol_name(const llvm::Function& function, const std::string& otherwise) {
  const llvm::DISubprogram* own = function.getSubprogram();
  if (!function.getName().starts_with("_Z") || own == nullptr || !own->getLinkageName().empty() ||
      own->getUnit() == nullptr || own->getUnit()->getEmissionKind() != llvm::DICompileUnit::LineTablesOnly)
    return otherwise;
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& instruction : block)
      if (instruction.getDebugLoc() && instruction.getDebugLoc().getInlinedAt() != nullptr) return otherwise;
  return llvm::demangle(function.getName().split('.').first.str());  // without what linking modules added
}

// Addresses of frames are positions in a stack of instructions.
class PathNames : public CodeNames {
 public:
  PathNames(const Program& program, std::vector<const llvm::Instruction*> stack) : stack_(std::move(stack)) {
    std::vector<std::string> files;
    for (const TranslationUnit& unit : program.units()) {
      const fs::path source(unit.source);
      files.push_back((source.is_absolute() ? source : fs::path(unit.folder) / source).lexically_normal());
    }
    folder_ = common_folder(files);
  }

  std::vector<ProcessFrame> frames() const {
    std::vector<ProcessFrame> out;
    for (size_t i = 0; i < stack_.size(); ++i)
      if (stack_[i] != nullptr) out.push_back({.pc = i + 1, .exact = true});
    return out;
  }

  std::optional<CodePlace> place_of_site(uint32_t) const override { return std::nullopt; }
  std::vector<StackFrame> frames_of(uint64_t address, uint64_t, bool) const override {
    if (address == 0 || address > stack_.size() || stack_[address - 1] == nullptr) return {};
    std::vector<StackFrame> out;
    std::vector<SourcePlace> places = source_places(*stack_[address - 1]);
    places.back().function = symbol_name(*stack_[address - 1]->getFunction(), places.back().function);
    for (const SourcePlace& place : places) {
      StackFrame frame{.function = short_name(place.function)};
      if (place.known())
        frame.place = CodePlace{.file = short_file(place.file), .line = place.line, .function = frame.function};
      out.push_back(std::move(frame));
    }
    return out;
  }
  std::string variable_at(uint64_t, uint64_t) const override { return ""; }
  std::string function_at(uint64_t, uint64_t) const override { return ""; }

  std::vector<RecordedFrame> readable() const {
    std::vector<RecordedFrame> out;
    for (size_t i = 0; i < stack_.size(); ++i)
      for (const StackFrame& frame : frames_of(i + 1, 0, true))
        out.push_back({.function = frame.function,
                       .file = frame.place ? frame.place->file : "",
                       .line = frame.place ? frame.place->line : 0});
    return out;
  }

 private:
  std::string short_file(const std::string& file) const {
    return !folder_.empty() && file.starts_with(folder_) ? file.substr(folder_.size()) : file;
  }
  std::vector<const llvm::Instruction*> stack_;
  std::string folder_;
};

// The condition of a failed assertion stands in the call that reports it.
std::string assertion_at(const llvm::Instruction* innermost) {
  const auto* call = llvm::dyn_cast_or_null<llvm::CallBase>(innermost);
  if (call == nullptr || call->getCalledFunction() == nullptr ||
      call->getCalledFunction()->getName() != "__assert_fail" || call->arg_size() < 1)
    return "";
  const auto* text = llvm::dyn_cast<llvm::GlobalVariable>(call->getArgOperand(0)->stripPointerCasts());
  if (text == nullptr || !text->hasInitializer()) return "";
  const auto* characters = llvm::dyn_cast<llvm::ConstantDataArray>(text->getInitializer());
  return characters != nullptr && characters->isCString() ? characters->getAsCString().str() : "";
}

// `level`: 0, or as of the handlers that are above it.
Result<void> write_head(const fs::path& folder, const PtPaths::Thread& thread, uint32_t tid, size_t level) {
  heddle_record_log head{};
  head.magic = HEDDLE_RECORD_LOG_MAGIC;
  head.format = HEDDLE_RECORD_FORMAT;
  std::strncpy(head.name, thread.name.c_str(), sizeof head.name - 1);
  head.tid = static_cast<int32_t>(tid);
  head.level = static_cast<uint32_t>(level);
  head.begin_tsc = thread.begin_tsc;
  head.end_tsc = thread.end_tsc;
  head.stack_low = thread.memory.stack_low;
  head.stack_high = thread.memory.stack_high;
  head.tls = thread.memory.thread_pointer;
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes.resize(HEDDLE_RECORD_PAGE);
  const std::string name = level == 0 ? thread.name : fmt::format("{}@{}", thread.name, level);
  return write_file(folder / kThreadsFolder / (name + ".log"), bytes, Readers::owner);
}

// The type of the exception, as linkers name it, that a call throws in which the thread stands: __cxa_throw has
// it as an argument, functions of libstdc++ in their names (std::__throw_out_of_range_fmt). Of one that is
// thrown again nobody knows it.
std::string exception_at(const llvm::Instruction* innermost) {
  const auto* call = llvm::dyn_cast_or_null<llvm::CallBase>(innermost);
  if (call == nullptr || call->getCalledFunction() == nullptr) return "";
  llvm::StringRef name = call->getCalledFunction()->getName();
  if (name == "__cxa_throw" && call->arg_size() == 3) {
    const llvm::StringRef type = call->getArgOperand(1)->stripPointerCasts()->getName();
    return type.starts_with("_ZTI") ? type.substr(4).str() : "";
  }
  if (name == "__cxa_rethrow" || name.starts_with("_ZSt17rethrow_exception")) return "thrown again";
  const size_t at = name.find("__throw_");
  if (!name.starts_with("_ZSt") || at == llvm::StringRef::npos) return "";
  unsigned length = 0;
  if (name.substr(4, at - 4).getAsInteger(10, length) || at + length > name.size()) return "";
  name = name.substr(at, length).drop_front(llvm::StringRef("__throw_").size());
  name.consume_back("_fmt");
  return fmt::format("St{}{}", name.size(), name.str());
}

// In which of its calls a thread stands that ends the process: 0 if in none.
int signal_of_end(const llvm::Instruction* innermost) {
  const auto* call = llvm::dyn_cast_or_null<llvm::CallBase>(innermost);
  const llvm::Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
  if (callee == nullptr) return 0;
  for (const char* name :
       {"abort", "__assert_fail", "_ZSt9terminatev", "__stack_chk_fail", "__clang_call_terminate"})
    if (callee->getName() == name) return SIGABRT;
  if (!exception_at(innermost).empty()) return SIGABRT;
  return 0;
}

// Opened anew for each run, which reads it from the beginning.
std::string input_name(const RecordRequest& request) {
  return request.input >= 0 ? fmt::format("/proc/{}/fd/{}", ::getpid(), request.input) : "";
}

// The variant's real name, as the kernel has it; empty unless it is wanted.
Result<fs::path> ptwrite_variant(const fs::path& program, bool wanted) {
  if (!wanted) return fs::path();
  const VariantRecipe* recipe = HEDDLE_TRY(find_variant(kPtwriteVariant));
  const Variant variant = HEDDLE_TRY(obtain_variant(program, *recipe));
  return fs::canonical(variant.executable);
}

class PtRecorder {
 public:
  using Collect = std::function<Result<PtRun>(uint64_t run)>;
  // `ptwrite`: the variant that runs in the program's place; empty: none does.
  PtRecorder(const fs::path& program, const RecordRequest& request, Collect collect, fs::path ptwrite = {})
      : file_(program), ptwrite_(std::move(ptwrite)), request_(request), collect_(std::move(collect)) {}

  Result<RecordResult> run(const PtProgress& progress) {
    HEDDLE_TRY(load());
    if (request_.recording.inputs) files_ = files_that_may_be_read(*program_, request_.command);
    const auto begin = std::chrono::steady_clock::now();
    RecordResult result;
    for (uint64_t run = 0; run < request_.runs; ++run) {
      const auto elapsed = [&] {
        return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
      };
      const PtRun traced = HEDDLE_TRY(collect_(run));
      ++result.state.runs;
      result.state.elapsed = elapsed();
      result.state.log_bytes = traced.perf_data.size();
      const bool failed = traced.end.failed();
      const bool last = run + 1 == request_.runs;
      if (failed || (last && request_.keep_passing)) HEDDLE_TRY(keep(traced, run, result));
      if (failed) {
        result.end = RecordResult::End::failure;
        return result;
      }
      progress(result.state);
      if (interrupted()) {
        result.end = RecordResult::End::interrupted;
        return result;
      }
      if (request_.time && elapsed() >= *request_.time) {
        result.end = RecordResult::End::out_of_time;
        return result;
      }
    }
    return result;
  }

  // A trace of which nobody has waited for the end.
  Result<RecordResult> import_trace() {
    HEDDLE_TRY(load());
    imported_ = true;
    RecordResult result;
    result.state.runs = 1;
    PtRun traced = HEDDLE_TRY(collect_(0));
    HEDDLE_TRY(keep(traced, 0, result));
    if (result.info.failure) result.end = RecordResult::End::failure;
    return result;
  }

 private:
  Result<void> load() {
    program_ = HEDDLE_TRY(Program::load(file_));
    effects_ = std::make_unique<EffectsTable>(HEDDLE_TRY(EffectsTable::load()));
    plan_ = std::make_unique<RecordPlan>(*program_, program_->module(), *effects_, policy());
    return {};
  }

  RecordPolicy policy() const { return ptwrite_.empty() ? RecordPolicy::traced : RecordPolicy::standard; }

  // Which thread ended the process, where the user or the trace knows: one that stands in a call that does, or
  // the one that executed something last when the signal was one of its own instructions'.
  static void find_failed_thread(const PtTrace& trace, TracedEnd& end) {
    const std::vector<PtPaths::Thread>& threads = trace.paths->threads();
    for (size_t i = 0; i < threads.size(); ++i) {
      const int signal = threads[i].path.stack.empty() ? 0 : signal_of_end(threads[i].path.stack.front());
      if (signal == 0 || (end.signal != 0 && end.signal != signal)) continue;
      end.signal = signal;
      end.failed_tid = static_cast<int>(trace.tids[i]);
    }
    if (end.failed_tid == 0 && end.signal != 0) {
      uint64_t latest = 0;
      for (size_t i = 0; i < threads.size(); ++i) {
        const ProgramPath& path = threads[i].path;
        if (path.ended || path.steps.empty() || path.steps.back().tsc < latest) continue;
        latest = path.steps.back().tsc;
        end.failed_tid = static_cast<int>(trace.tids[i]);
      }
    }
    if (end.signal != 0) end.exit_code = 128 + end.signal;
  }

  Result<void> keep(const PtRun& traced, uint64_t run, RecordResult& result) {
    TracedEnd end = traced.end;
    const fs::path to = HEDDLE_TRY(free_name());
    HEDDLE_TRY(make_folders(to / kThreadsFolder));
    HEDDLE_TRY(make_folders(to / kInputsFolder));
    fs::permissions(to, fs::perms::owner_all);
    HEDDLE_TRY(write_file(to / kPtFile, traced.perf_data, Readers::owner));
    std::string effects;
    for (const fs::path& file : HEDDLE_TRY(EffectsTable::files())) {
      const std::string text = HEDDLE_TRY(read_file(file));
      effects += text + "\n";
    }
    HEDDLE_TRY(write_file(to / kEffectsFile, effects, Readers::owner));
    const PtTrace trace =
        HEDDLE_TRY(read_pt_trace(to / kPtFile, *program_, *plan_, request_.command.size(), end, {}, ptwrite_));
    if (end.pid == 0) {
      end.pid = static_cast<int>(trace.pid);
      find_failed_thread(trace, end);
    }
    RecordingInfo& info = result.info;
    info.heddle_version = HEDDLE_VERSION;
    info.begin_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
    info.run = run + 1;
    info.program = fs::absolute(file_);
    info.identity = program_->identity();
    info.build_id = program_->build_id();
    info.variant = ptwrite_.empty() ? kPtVariant : kPtwriteVariant;
    info.variant_executable = ptwrite_.empty() ? fs::path(info.program) : ptwrite_;
    info.options = request_.recording;
    info.options.policy = record_policy_name(policy());
    info.options.seed += run;
    info.command = request_.command;
    info.folder = fs::current_path();
    if (request_.recording.inputs) HEDDLE_TRY(keep_inputs_of_run(info, to));
    info.pid = end.pid;
    info.load_base = trace.load_base;
    info.arguments = trace.arguments;
    info.argument_text = trace.argument_text;
    if (end.signal != 0)
      info.signal = end.signal;
    else if (!end.timed_out)
      info.exit_code = end.exit_code;
    const std::vector<PtPaths::Thread>& threads = trace.paths->threads();
    for (size_t i = 0; i < threads.size(); ++i) {
      for (size_t level = 0; level <= threads[i].path.handlers.size(); ++level)
        HEDDLE_TRY(write_head(to, threads[i], trace.tids[i], level));
      info.threads.push_back({.name = threads[i].name,
                              .tid = static_cast<int32_t>(trace.tids[i]),
                              .stop = threads[i].path.trouble,
                              .alive = threads[i].end_tsc == 0,
                              .stack = PathNames(*program_, threads[i].path.stack).readable()});
    }
    info.failure = failure_of_run(end, trace, info);
    info.outcome = info.failure ? RecordingOutcome::failed : RecordingOutcome::passed;
    info.notes = traced.notes;
    if (trace.gaps != 0) info.notes.push_back(fmt::format("{} gaps in the trace", trace.gaps));
    HEDDLE_TRY(write_recording_info(info, to));
    result.folder = to;
    return {};
  }

  // A trace from elsewhere had other ones.
  Result<void> keep_inputs_of_run(RecordingInfo& info, const fs::path& to) {
    if (imported_) return {};
    info.environment = environment_of_runs();
    info.files = HEDDLE_TRY(keep_inputs(files_, to));
    if (request_.input >= 0) HEDDLE_TRY(keep_standard_input(request_.input, 0, to));
    return {};
  }

  std::optional<RecordedFailure> failure_of_run(const TracedEnd& end, const PtTrace& trace,
                                                const RecordingInfo& info) {
    if (end.timed_out)
      return recorded_hang(std::chrono::milliseconds(request_.recording.hang_timeout_ms), info.threads);
    if (end.exit_code == 0) return std::nullopt;
    heddle_record_process told{};
    std::vector<const llvm::Instruction*> stack;
    for (size_t i = 0; i < trace.tids.size(); ++i) {
      if (end.failed_tid == 0 || trace.tids[i] != static_cast<uint32_t>(end.failed_tid)) continue;
      const PtPaths::Thread& thread = trace.paths->threads()[i];
      stack = thread.path.stack;
      told.failed = 1;
      told.signal = end.signal;
      told.address = end.fault_address;
      std::strncpy(told.thread, thread.name.c_str(), sizeof told.thread - 1);
      const std::string assertion = stack.empty() ? "" : assertion_at(stack.front());
      const std::string exception = stack.empty() || end.signal != SIGABRT ? "" : exception_at(stack.front());
      told.failure = !assertion.empty()   ? HEDDLE_RECORD_assert_failure
                     : !exception.empty() ? HEDDLE_RECORD_exception_failure
                                          : HEDDLE_RECORD_signal_failure;
      std::strncpy(told.text, assertion.empty() ? exception.c_str() : assertion.c_str(), sizeof told.text - 1);
    }
    ProcessStatus status;
    if (end.signal != 0)
      status.signal = end.signal;
    else
      status.exit_code = end.exit_code;
    const PathNames names(*program_, stack);
    return recorded_failure(told, status, names.frames(), names);
  }

  Result<fs::path> free_name() const {
    if (!request_.output.empty()) {
      if (fs::exists(fs::symlink_status(request_.output)))
        return Error{
            .what = "this is already there", .where = request_.output, .next = "name another folder: -o REC"};
      return request_.output;
    }
    const std::string name = file_.filename();
    fs::path out = name + ".rec";
    for (int i = 1; fs::exists(fs::symlink_status(out)); ++i) out = fmt::format("{}.{}.rec", name, i);
    return out;
  }

  fs::path file_, ptwrite_;
  const RecordRequest& request_;
  Collect collect_;
  std::unique_ptr<Program> program_;
  std::vector<heddle_record_file> files_;  // before the runs
  bool imported_ = false;
  std::unique_ptr<EffectsTable> effects_;
  std::unique_ptr<RecordPlan> plan_;
};

}  // namespace

Result<RecordResult> record_emulated_pt(const fs::path& program, const RecordRequest& request,
                                        const EmulatedPt& options, const PtProgress& progress) {
  const fs::path ptwrite = HEDDLE_TRY(ptwrite_variant(program, options.ptwrite));
  const auto collect = [&](uint64_t run) -> Result<PtRun> {
    EmulatorOptions emulator{
        .command = request.command, .cores = options.cores, .seed = request.recording.seed + run};
    emulator.command[0] = ptwrite.empty() ? fs::absolute(program) : ptwrite;
    emulator.input = input_name(request);
    if (request.recording.hang_timeout_ms != 0)
      emulator.time_limit = std::chrono::milliseconds(request.recording.hang_timeout_ms);
    EmulatedRun end = HEDDLE_TRY(emulate(emulator));
    return PtRun{.end = end,
                 .perf_data = std::move(end.perf_data),
                 .notes = {"the packets were made by stepping the program (--emulate), not by the hardware"}};
  };
  return PtRecorder(program, request, collect, ptwrite).run(progress);
}

Result<RecordResult> record_hardware_pt(const fs::path& program, const RecordRequest& request,
                                        const HardwarePt& options, const PtProgress& progress) {
  const std::unique_ptr<Machine> machine = this_machine();
  if (options.ptwrite) HEDDLE_TRY(need_ptwrite(*machine));
  const fs::path ptwrite = HEDDLE_TRY(ptwrite_variant(program, options.ptwrite));
  const auto collect = [&](uint64_t) -> Result<PtRun> {
    const TempFolder folder = HEDDLE_TRY(TempFolder::create());
    const fs::path output = folder.path() / kPtFile;
    std::vector<std::string> command = request.command;
    command[0] = ptwrite.empty() ? fs::absolute(program) : ptwrite;
    std::optional<std::chrono::milliseconds> limit;
    if (request.recording.hang_timeout_ms != 0)
      limit = std::chrono::milliseconds(request.recording.hang_timeout_ms);
    const PerfRun run =
        HEDDLE_TRY(run_under_perf(*machine, options, command, output, limit,
                                  {.input = input_name(request), .output_to_error = request.output_to_error}));
    PtRun out{.end = run.end, .perf_data = HEDDLE_TRY(read_file(output))};
    if (options.snapshot) out.notes.emplace_back("the last part of the run only (--snapshot)");
    return out;
  };
  return PtRecorder(program, request, collect, ptwrite).run(progress);
}

Result<RecordResult> import_pt(const fs::path& program, const RecordRequest& request, const fs::path& perf_data,
                               TracedEnd end) {
  const auto collect = [&](uint64_t) -> Result<PtRun> {
    return PtRun{.end = end,
                 .perf_data = HEDDLE_TRY(read_file(perf_data)),
                 .notes = {fmt::format("the trace was imported from {}", perf_data.string())}};
  };
  return PtRecorder(program, request, collect).import_trace();
}

}  // namespace heddle
