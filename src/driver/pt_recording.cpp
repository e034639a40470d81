#include "driver/pt_recording.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>

#include "build/code_map.h"
#include "build/machine_blocks.h"
#include "build/variant.h"
#include "image/elf_file.h"
#include "pt/trace_decoder.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

struct ThreadNames {
  std::vector<uint32_t> tids;
  std::map<uint32_t, std::string> names;
  std::map<uint32_t, std::vector<uint32_t>> children;
  std::map<uint32_t, uint64_t> begin, end;  // perf's clock
};

ThreadNames name_threads(const PerfFile& file, uint32_t pid) {
  ThreadNames out;
  out.tids.push_back(pid);
  out.names[pid] = "0";
  for (const PerfEvent& event : file.events) {
    if (const auto* fork = std::get_if<PerfFork>(&event.what); fork != nullptr && fork->pid == pid) {
      if (!out.names.contains(fork->parent_tid) || out.names.contains(fork->tid)) continue;
      std::vector<uint32_t>& children = out.children[fork->parent_tid];
      children.push_back(fork->tid);
      out.names[fork->tid] = fmt::format("{}.{}", out.names[fork->parent_tid], children.size());
      out.begin[fork->tid] = event.sample.time.value_or(0);
      out.tids.push_back(fork->tid);
    } else if (const auto* exit = std::get_if<PerfExit>(&event.what); exit != nullptr && exit->pid == pid) {
      out.end[exit->tid] = event.sample.time.value_or(0);
    }
  }
  std::ranges::sort(out.tids, {},
                    [&](uint32_t tid) { return std::pair(out.names[tid].size(), out.names[tid]); });
  return out;
}

}  // namespace

bool is_by_pt(const RecordingInfo& info) {
  return info.variant == kPtVariant || info.variant == kPtwriteVariant;
}

Result<PtTrace> read_pt_trace(const fs::path& perf_data, const Program& program, const RecordPlan& plan,
                              size_t arguments, const TracedEnd& end, PtInputs inputs,
                              const fs::path& ptwrite) {
  const PerfFile file = HEDDLE_TRY(read_perf_file(perf_data));
  const std::optional<uint32_t> pid =
      end.pid != 0 ? std::optional(static_cast<uint32_t>(end.pid)) : traced_process(file);
  if (!pid) return Error{.what = "the trace does not say which process it is of", .where = perf_data};
  std::error_code ignored;
  const fs::path real = fs::canonical(ptwrite.empty() ? program.binary() : ptwrite, ignored);
  const PerfMapping* mapped = nullptr;
  for (const PerfEvent& event : file.events)
    if (const auto* mapping = std::get_if<PerfMapping>(&event.what);
        mapping != nullptr && mapping->pid == *pid && mapping->executable && mapped == nullptr &&
        fs::path(mapping->file).filename() == real.filename())
      mapped = mapping;
  if (mapped == nullptr)
    return Error{
        .what = "the traced process did not run this program",
        .where = perf_data,
        .next = fmt::format("give the program that was traced; this is {}", program.binary().string())};
  PtImageOptions image;
  image.files[mapped->file] = real;
  const PtDecoded decoded = HEDDLE_TRY(decode_trace(file, *pid, image));
  PtTrace out;
  const ElfFile executable = HEDDLE_TRY(ElfFile::open(real));
  out.load_base = mapped->begin - executable.code_address(mapped->file_offset).value_or(mapped->file_offset);
  out.pid = *pid;
  out.gaps = decoded.gaps.size();
  out.instructions = decoded.instructions;
  const PtwriteCode with_values{real, plan};
  const PtwriteCode* const written = ptwrite.empty() ? nullptr : &with_values;
  const CodeMap code = HEDDLE_TRY(CodeMap::make(program, {.ptwrite = written, .symbols = {}}));
  const MachineBlocks blocks = HEDDLE_TRY(MachineBlocks::make(program, code, written));
  const ThreadNames names = name_threads(file, *pid);
  out.tids = names.tids;
  std::vector<PtPaths::Thread> threads;
  // Threads that were ended with the process did not come to their ends.
  uint64_t last_tsc = 0;
  for (const auto& [tid, thread] : decoded.threads)
    if (!thread.spans.empty()) last_tsc = std::max(last_tsc, thread.spans.back().begin_tsc);
  PathFollower follower(program, code, blocks, out.load_base,
                        [&](const llvm::CallBase& call) { return cuts_path(plan.call(call).info); });
  for (const uint32_t tid : names.tids) {
    PtPaths::Thread& thread = threads.emplace_back();
    thread.name = names.names.at(tid);
    if (const auto executed = decoded.threads.find(tid); executed != decoded.threads.end()) {
      const auto over = names.end.find(tid);
      thread.path =
          follower.follow(executed->second, tid == static_cast<uint32_t>(end.failed_tid) ? end.fault_pc : 0,
                          over != names.end.end() && file.trace_info->tsc_of(over->second) < last_tsc);
      if (tid == static_cast<uint32_t>(end.failed_tid) && end.signal == SIGSEGV)
        thread.fault = end.fault_address;
      if (!executed->second.spans.empty()) thread.begin_tsc = executed->second.spans.front().begin_tsc;
    } else if (const auto begin = names.begin.find(tid); begin != names.begin.end()) {
      thread.begin_tsc = file.trace_info->tsc_of(begin->second);
    }
    if (const auto over = names.end.find(tid); over != names.end.end() && thread.path.ended &&
                                               !thread.path.steps.empty() && thread.path.trouble.empty())
      thread.end_tsc = file.trace_info->tsc_of(over->second);
    if (const auto children = names.children.find(tid); children != names.children.end())
      for (const uint32_t child : children->second)
        thread.children.push_back(
            static_cast<size_t>(std::ranges::find(names.tids, child) - names.tids.begin()));
  }
  out.arguments = PtAddresses::arguments();
  out.argument_text = PtAddresses::argument_text();
  for (size_t i = 0; i < threads.size(); ++i) {
    threads[i].memory = PtThreadMemory::of(i, threads[i].path);
    for (const ToldValue& told : threads[i].path.values) {
      if (i != 0 || told.of->getFunction()->getName() != "main") continue;
      if (told.site == PtwriteSite{PtwriteKind::argument, 1}) out.arguments = told.value;
      if (told.site.kind == PtwriteKind::first_text) out.argument_text = told.value;
    }
  }
  PtPaths::Blocks named;
  for (const MachineFunction& function : code.functions())
    for (const MachineBlock& block : blocks.of(function.function))
      if (block.block != nullptr) named.insert(block.block);
  out.paths = std::make_unique<PtPaths>(program, plan, std::move(threads), std::move(named),
                                        static_cast<unsigned>(arguments), std::move(inputs));
  return out;
}

}  // namespace heddle
