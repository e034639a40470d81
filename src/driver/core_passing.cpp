#include "driver/core_passing.h"

#include <algorithm>
#include <set>

#include "abi/sync_kind.h"
#include "image/process_stacks.h"
#include "replay/stopped_run.h"

namespace heddle {
namespace {

// Exact beats closest; then who came further; of several alike the one with the failing thread's rank among its
// like.
std::optional<Alignment> best_alignment(const CoreCase& core, const PassingRun& run) {
  const ExecutionIndex& index = core.indexes[core.failing].index;
  const FunctionId first = index.frames[0].function;
  const std::vector<uint32_t> threads = threads_that_begin_with(first, run.execution.moves, *core.regions);
  // Threads of the core that began alike, by their numbers: in order of creation.
  std::vector<pid_t> alike;
  for (size_t i = 0; i < core.indexes.size(); ++i)
    if (!core.indexes[i].index.frames.empty() && core.indexes[i].index.frames[0].function == first)
      alike.push_back(core.stacks[i].tid);
  std::ranges::sort(alike);
  const size_t rank =
      static_cast<size_t>(std::ranges::find(alike, core.stacks[core.failing].tid) - alike.begin());
  if (alike.size() == threads.size() && rank < threads.size())
    return align(index, run.execution.moves, threads[rank], *core.regions);
  std::optional<Alignment> best;
  for (const uint32_t thread : threads) {
    const std::optional<Alignment> found = align(index, run.execution.moves, thread, *core.regions);
    if (found && (!best || std::pair(found->exact, found->frames) > std::pair(best->exact, best->frames)))
      best = found;
  }
  return best;
}

uint64_t object_size(uint32_t sync) {
  if (sync < HEDDLE_SYNC_cond_init) return 40;
  if (sync < HEDDLE_SYNC_rwlock_init) return 48;
  if (sync < HEDDLE_SYNC_spin_init) return 56;
  if (sync < HEDDLE_SYNC_barrier_init) return 4;
  if (sync < HEDDLE_SYNC_thread_create) return 32;
  return 0;
}

std::vector<MemoryRange> synchronisation_objects(const std::vector<heddle_event>& events) {
  std::vector<MemoryRange> ranges;
  std::set<uint64_t> seen;
  for (const heddle_event& event : events) {
    if (event.kind < HEDDLE_EVENT_sync || event.address == 0 || !seen.insert(event.address).second) continue;
    if (const uint64_t size = object_size(event.kind - HEDDLE_EVENT_sync))
      ranges.push_back({event.address, event.address + size});
  }
  return ranges;
}

// A block of glibc's malloc has its size in front of it.
uint64_t native_block_size(const CoreFile& core, uint64_t address) {
  const std::optional<uint64_t> head = address % 16 == 0 ? core.word(address - 8) : std::nullopt;
  if (!head || *head < 32 || *head > (uint64_t{1} << 32) || (*head & 8) != 0) return 0;
  return (*head & ~uint64_t{7}) - 8;
}

// glibc keeps start function and argument of a thread side by side in its descriptor, which the thread pointer
// points to.
std::optional<uint64_t> native_argument(const CoreCase& core) {
  const CoreIndex& index = core.indexes[core.failing];
  const MachineFunction* code = core.map->code_at(index.frames[0]->place());
  const auto thread = std::ranges::find(core.core->threads(), core.stacks[core.failing].tid, &CoreThread::tid);
  if (code == nullptr || thread == core.core->threads().end()) return std::nullopt;
  const uint64_t start = code->range.begin + index.frames[0]->module_base;
  for (uint64_t at = 0; at < 4096; at += 8)
    if (core.core->word(thread->registers.fs_base + at) == start)
      return core.core->word(thread->registers.fs_base + at + 8);
  return std::nullopt;
}

ComparedMemory memory_of_core(const CoreCase& core, const ElfFile& executable) {
  const CoreModule& module = *core.core->executable();
  return {.read = [&core](uint64_t address, void* bytes,
                          size_t size) { return core.core->read(address, bytes, size); },
          .variables = executable.variables(),
          .base = module.base,
          .end = module.end,
          .block_size = [&core](uint64_t address) { return native_block_size(*core.core, address); },
          .argument = native_argument(core)};
}

ComparedMemory memory_of_run(const StoppedProcess& process, const ElfFile& variant, uint64_t base,
                             uint64_t argument) {
  uint64_t end = base;
  std::vector<ElfSymbol> variables = variant.variables();
  for (const std::vector<ElfSymbol>& symbols : {variables, variant.functions()})
    for (const ElfSymbol& symbol : symbols) end = std::max(end, base + symbol.address + symbol.size);
  return {.read = [&process](uint64_t address, void* bytes,
                             size_t size) { return process.read(address, bytes, size); },
          .variables = std::move(variables),
          .base = base,
          .end = end,
          .block_size = [&process](uint64_t address) -> uint64_t {
            uint32_t granules = 0;
            if (address < HEDDLE_HEAP_BASE || address >= HEDDLE_HEAP_SMALL_END) return 0;
            if (process.read(address - HEDDLE_HEAP_GRANULES_BEFORE, &granules, 4) != 4) return 0;
            return uint64_t{granules} * HEDDLE_HEAP_GRANULE;
          },
          .argument = argument != 0 ? std::optional(argument) : std::nullopt};
}

bool touches(const heddle_event& event, const MemoryDifference& difference) {
  return event.kind < HEDDLE_EVENT_sync && event.address < difference.address + difference.size &&
         difference.address < event.address + std::max<uint64_t>(event.size, 1);
}

// Those of the differences that the passing run accesses where threads may meet.
void find_critical(PassingRun& run) {
  for (MemoryDifference& difference : run.comparison.differences) {
    uint64_t accesses = 0;
    for (const heddle_event& event : run.execution.kept_events)
      if (touches(event, difference)) ++accesses;
    if (accesses != 0) run.critical.push_back({difference, accesses, false});
  }
}

// Of a hang: what the threads of the core wait for, known by the places of the program where they do.
void find_awaited(const CoreCase& core, PassingRun& run) {
  std::set<uint32_t> sites;
  for (const CoreIndex& index : core.indexes)
    if (!index.index.frames.empty() && index.index.frames.back().at)
      sites.insert(index.index.frames.back().at->value);
  std::set<uint64_t> objects;
  for (const heddle_event& event : run.execution.kept_events)
    if (event.kind >= HEDDLE_EVENT_sync && event.address != 0 && sites.contains(event.site))
      objects.insert(event.address);
  for (const uint64_t object : objects) {
    CriticalVariable variable{
        .difference = {.path = "", .address = object, .size = 1}, .accesses = 0, .sync = true};
    for (const heddle_event& event : run.execution.kept_events)
      variable.accesses += event.address == object ? 1 : 0;
    run.critical.push_back(std::move(variable));
  }
}

Result<void> compare(const CoreCase& core, const ControlledProgram& follow, const LaunchOptions& launch,
                     const ExecutionPlan& plan, PassingRun& run) {
  const StoppedRun stopped = HEDDLE_TRY(StoppedRun::run_to(follow, launch, plan, run.alignment->move + 1));
  const StoppedProcess process = HEDDLE_TRY(StoppedProcess::stop(stopped.pid()));
  const ElfFile executable = HEDDLE_TRY(ElfFile::open(follow.executable()));
  const ElfFile variant = HEDDLE_TRY(ElfFile::open(follow.variant()));
  run.comparison = compare_memory(follow.program(), memory_of_core(core, executable),
                                  memory_of_run(process, variant, stopped.load_base(),
                                                run.execution.created[run.alignment->thread].argument),
                                  synchronisation_objects(run.execution.kept_events));
  return {};
}

}  // namespace

Result<PassingRun> passing_run(const CoreCase& core, const ControlledProgram& follow, LaunchOptions launch,
                               const RunRules& rules) {
  launch.renewal = Renewal::start;  // the same addresses when it is stopped
  launch.output = TargetOutput::discard;
  ProgramExecutor executor(follow, launch);
  const ExecutionPlan plan{.strategy = Strategy::nonpreemptive(),
                           .rules = rules,
                           .keep_schedule = true,
                           .keep_events = true,
                           .keep_moves = true};
  PassingRun run{
      .execution = HEDDLE_TRY(executor.execute(plan)), .alignment = {}, .comparison = {}, .critical = {}};
  run.aligned_events = run.execution.kept_events.size();
  if (run.execution.outcome != Outcome::passed && run.execution.outcome != Outcome::failed) return run;
  run.alignment = best_alignment(core, run);
  if (run.alignment) {
    run.aligned_events = static_cast<uint64_t>(std::count_if(
        run.execution.moves.begin(), run.execution.moves.begin() + static_cast<ptrdiff_t>(run.alignment->move),
        [](const heddle_move& move) { return move.kind == HEDDLE_MOVE_event; }));
    HEDDLE_TRY(compare(core, follow, launch, plan, run));
    find_critical(run);
  }
  if (core.hangs()) find_awaited(core, run);
  return run;
}

}  // namespace heddle
