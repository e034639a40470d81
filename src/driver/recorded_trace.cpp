#include "driver/recorded_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "build/variant.h"
#include "driver/pt_inputs.h"
#include "driver/pt_recording.h"
#include "driver/recorded_program.h"
#include "driver/recording_paths.h"
#include "image/elf_file.h"
#include "recording/interruptions.h"

namespace heddle {
namespace {

enum class Level { thread, handlers };

// By the lengths of their names: creators before what they created.
Result<std::vector<RecordedThreadLog>> read_logs(const fs::path& folder, Level level,
                                                 const RecordedCode& code) {
  std::vector<RecordedThreadLog> out;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / kThreadsFolder)) {
    if (entry.path().extension() != ".log") continue;
    LogFile log = HEDDLE_TRY(LogFile::open(entry.path()));
    if ((log.head().level == 0) != (level == Level::thread)) continue;
    std::string name = log.thread();
    out.push_back({.name = std::move(name),
                   .log = std::move(log),
                   .jumps = jumps_out_of_handlers(*code.program, *code.plan, entry.path())});
  }
  std::ranges::sort(out, [](const auto& a, const auto& b) {
    return std::pair(a.name.size(), a.name) < std::pair(b.name.size(), b.name);
  });
  return out;
}

// As the kernel lays them out: an array of pointers that ends with a null, and the texts one behind the other.
void add_arguments(ProgramImage& image, const RecordingInfo& info) {
  if (info.arguments == 0) return;
  std::vector<uint64_t> pointers;
  std::vector<uint8_t> texts;
  for (const std::string& argument : info.command) {
    pointers.push_back(info.argument_text + texts.size());
    texts.insert(texts.end(), argument.c_str(), argument.c_str() + argument.size() + 1);
  }
  pointers.push_back(0);
  std::vector<uint8_t> array(pointers.size() * sizeof pointers[0]);
  std::memcpy(array.data(), pointers.data(), array.size());
  image.add_memory(info.arguments, std::move(array));
  image.add_memory(info.argument_text, std::move(texts));
}

// As far as who follows the paths wants to know it.
TracedEnd end_of(const RecordingInfo& info) {
  TracedEnd out{.pid = static_cast<int>(info.pid), .signal = info.signal.value_or(0)};
  if (!info.failure) return out;
  for (const RecordedThread& thread : info.threads)
    if (thread.name == info.failure->thread) out.failed_tid = thread.tid;
  out.fault_address = std::strtoull(info.failure->address.c_str(), nullptr, 16);
  if (info.failure->address.empty()) out.failed_tid = 0;
  return out;
}

}  // namespace

Result<Trace> trace_of_recording(const fs::path& folder, const fs::path& program,
                                 const SymbolicOptions& options, SymbolicStatistics& statistics) {
  const RecordingInfo info = HEDDLE_TRY(read_recording_info(folder));
  const RecordedCode code = HEDDLE_TRY(load_recorded_code(info, folder, program));
  const fs::path file = program.empty() ? fs::path(info.program) : program;
  const bool by_hardware = is_by_pt(info);
  fs::path ptwrite;
  if (info.variant == kPtwriteVariant) {
    const VariantRecipe* recipe = HEDDLE_TRY(find_variant(kPtwriteVariant));
    ptwrite = HEDDLE_TRY(obtain_variant(file, *recipe)).executable;
  }
  const std::unique_ptr<RecordedProgram> recorded =
      by_hardware ? nullptr : HEDDLE_TRY(RecordedProgram::open(file, info.variant));
  const ElfFile variant = HEDDLE_TRY(ElfFile::open(!ptwrite.empty() ? ptwrite
                                                   : by_hardware    ? file
                                                                    : recorded->variant()));
  ProgramImage image(code.program->module(), variant, info.load_base);
  add_arguments(image, info);
  SymbolicInput input{
      .program = *code.program,
      .plan = *code.plan,
      .image = image,
      .info = info,
      .logs = HEDDLE_TRY(read_logs(folder, Level::thread, code)),
      .handlers = HEDDLE_TRY(read_logs(folder, Level::handlers, code)),
      .read_file = [&](uint64_t number, uint64_t offset, uint64_t size) -> std::optional<std::vector<uint8_t>> {
        for (const RecordedFile& file : info.files) {
          if (file.number != number || file.state != RecordedFile::State::kept) continue;
          const auto bytes = read_file(folder / kInputsFolder / file.copy);
          if (!bytes || offset + size > bytes->size()) return std::nullopt;
          return std::vector<uint8_t>(bytes->begin() + static_cast<ptrdiff_t>(offset),
                                      bytes->begin() + static_cast<ptrdiff_t>(offset + size));
        }
        return std::nullopt;
      }};
  PtTrace traced;
  if (by_hardware) {
    traced = HEDDLE_TRY(read_pt_trace(folder / kPtFile, *code.program, *code.plan, info.command.size(),
                                      end_of(info), inputs_of_recording(info, folder, image), ptwrite));
    for (size_t i = 0; i < traced.paths->threads().size() && i < input.logs.size(); ++i)
      input.logs[i].source = traced.paths->source(i);
    for (RecordedThreadLog& each : input.handlers) {
      const auto& threads = traced.paths->threads();
      const auto thread = std::ranges::find(threads, each.name, &PtPaths::Thread::name);
      const size_t level = each.log.head().level - 1;
      if (thread == threads.end() || level >= thread->path.handlers.size())
        return Error{.what = fmt::format("thread {} had no such signal handler", each.name), .where = folder};
      each.source = traced.paths->handlers(static_cast<size_t>(thread - threads.begin()), level);
    }
  }
  return make_trace(input, options, statistics);
}

}  // namespace heddle
