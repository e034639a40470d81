#include "driver/core_summary.h"

#include <fmt/core.h>

#include <cstring>

#include "base/size.h"
#include "image/code_symbols.h"
#include "image/debug_file.h"

namespace heddle {
namespace {

constexpr size_t kShownFrames = 30;

std::string frame_text(const CoreFrame& frame) {
  const std::string name = frame.symbol.empty() ? fmt::format("{:#x}", frame.pc) : demangled(frame.symbol);
  return frame.module.empty()
             ? name
             : fmt::format("{} ({})", name, std::filesystem::path(frame.module).filename().string());
}

}  // namespace

Result<CoreSummary> summarise_core(const std::filesystem::path& file) {
  const CoreFile core = HEDDLE_TRY(CoreFile::open(file));
  CoreSummary out{.file = file, .command = core.command(), .bytes = core.size(), .notes = core.notes()};
  if (const CoreModule* module = core.executable()) {
    out.program = module->file;
    out.build_id = module->build_id;
  }
  if (core.signal() != 0) out.signal = fmt::format("{} ({})", core.signal(), ::strsignal(core.signal()));
  const Result<std::filesystem::path> symbols = file_with_symbols(out.program);
  out.stacks = core_stacks(core, out.program, symbols ? *symbols : "", 1000);
  return out;
}

std::string CoreSummary::text() const {
  std::string text = fmt::format("core      {}, {}\nprogram   {}\nbuild id  {}\ncommand   {}\nsignal    {}\n",
                                 file, size_text(bytes), program.empty() ? "not known" : program,
                                 build_id.empty() ? "not known" : build_id, command,
                                 signal.empty() ? "none: the program was running" : signal);
  for (const std::string& note : notes) text += fmt::format("note      {}\n", note);
  for (const CoreStack& stack : stacks) {
    text += fmt::format("thread {}\n", stack.tid);
    for (size_t i = 0; i < stack.frames.size() && i < kShownFrames; ++i)
      text += fmt::format("  #{} {}\n", i, frame_text(stack.frames[i]));
    if (stack.frames.size() > kShownFrames)
      text += fmt::format("  ... {} more\n", stack.frames.size() - kShownFrames);
  }
  return text;
}

Json CoreSummary::to_json() const {
  Json threads = Json::array();
  for (const CoreStack& stack : stacks) {
    Json frames = Json::array();
    for (const CoreFrame& frame : stack.frames)
      frames.push_back(
          {{"pc", fmt::format("{:#x}", frame.pc)}, {"symbol", frame.symbol}, {"module", frame.module}});
    threads.push_back({{"tid", stack.tid}, {"frames", std::move(frames)}});
  }
  return {{"core", file},       {"bytes", bytes},   {"program", program}, {"build_id", build_id},
          {"command", command}, {"signal", signal}, {"notes", notes},     {"threads", std::move(threads)}};
}

}  // namespace heddle
