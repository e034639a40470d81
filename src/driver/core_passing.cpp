#include "driver/core_passing.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <tuple>

#include "abi/hooks.h"
#include "abi/sync_kind.h"
#include "coredump/tail_calls.h"
#include "driver/core_locals.h"
#include "driver/thread_ids.h"
#include "driver/written_alone.h"
#include "image/process_stacks.h"
#include "program/frame_values.h"
#include "replay/stopped_run.h"

namespace heddle {
namespace {

// The paper's baseline (table 5): behind as many instructions of the thread as it had performed when it failed,
// the next execution of the instruction that failed.
std::vector<Alignment> alignment_by_count(const CoreCase& core, const PassingRun& run, uint32_t thread,
                                          uint64_t instructions) {
  const Program& program = core.regions->program();
  const IndexFrame& frame = core.indexes[core.failing].index.frames.back();
  const llvm::BasicBlock* wanted = frame.at ? program.instruction(*frame.at).getParent() : nullptr;
  uint64_t performed = 0;
  std::optional<uint64_t> last;
  for (size_t i = 0; i < run.execution.moves.size(); ++i) {
    const heddle_move& move = run.execution.moves[i];
    if (move.thread != thread) continue;
    last = i;
    if (move.kind != HEDDLE_MOVE_block || move.id >= program.block_count()) continue;
    const llvm::BasicBlock& block = program.block(BlockId(move.id));
    performed += block.sizeWithoutDebug();
    if (performed >= instructions && &block == wanted)
      return {{.exact = true,
               .move = i,
               .thread = thread,
               .frames = core.indexes[core.failing].index.frames.size(),
               .predicate = std::nullopt}};
  }
  if (!last) return {};
  return {{.exact = false, .move = *last, .thread = thread, .frames = 1, .predicate = std::nullopt}};
}

// For threads of the core the one of the passing run that it is by its id; none where ids do not tell.
std::vector<std::optional<uint32_t>> threads_by_id_of_core(const CoreCase& core, const PassingRun& run) {
  std::vector<std::pair<ThreadLeft, size_t>> left;
  for (size_t i = 0; i < core.indexes.size(); ++i) {
    if (core.indexes[i].index.frames.empty() || core.stacks[i].tid <= core.core->pid()) continue;
    std::vector<uint32_t> may_be =
        threads_that_begin_with(core.indexes[i].index.frames[0].function, run.execution.moves, *core.regions);
    if (!may_be.empty())
      left.push_back({{static_cast<uint32_t>(core.stacks[i].tid - core.core->pid()), std::move(may_be)}, i});
  }
  std::ranges::sort(left, {}, [](const auto& one) { return one.first.number; });
  const auto keys = std::views::keys(left);
  const std::vector<uint32_t> found = threads_by_id({keys.begin(), keys.end()});
  std::vector<std::optional<uint32_t>> out(core.indexes.size());
  for (size_t i = 0; i < found.size(); ++i) out[left[i].second] = found[i];
  return out;
}

// Exact beats closest; then who came further; of several alike the one that the failing thread is by its rank
// among its like, or by its id. More than one point where loop counts are not known.
std::vector<Alignment> best_alignments(const CoreCase& core, const PassingRun& run,
                                       std::optional<uint64_t> instructions) {
  const ExecutionIndex& index = core.indexes[core.failing].index;
  if (index.frames.empty()) return {};
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
  if (instructions && !threads.empty())
    return alignment_by_count(core, run, threads[alike.size() == threads.size() ? rank : 0], *instructions);
  if (alike.size() == threads.size() && rank < threads.size())
    return alignments(index, run.execution.moves, threads[rank], *core.regions);
  std::vector<Alignment> best;
  const std::optional<uint32_t> by_id = threads_by_id_of_core(core, run)[core.failing];
  const auto measure = [&](const Alignment& alignment) {
    return std::tuple(alignment.exact, alignment.frames, alignment.thread == by_id);
  };
  for (const uint32_t thread : threads) {
    std::vector<Alignment> found = alignments(index, run.execution.moves, thread, *core.regions);
    if (!found.empty() && (best.empty() || measure(found[0]) > measure(best[0]))) best = std::move(found);
  }
  return best;
}

bool is_event_of(const heddle_move& move, uint32_t thread) {
  return move.kind == HEDDLE_MOVE_event && move.thread == thread;
}

// Own events of a thread before a move of the run.
uint64_t events_before(const PassingRun& run, uint32_t thread, uint64_t move) {
  return static_cast<uint64_t>(
      std::count_if(run.execution.moves.begin(), run.execution.moves.begin() + static_cast<ptrdiff_t>(move),
                    [&](const heddle_move& made) { return is_event_of(made, thread); }));
}

// Which of these threads of the passing run, in the order of creation, those of the core are that began alike,
// in the order of their ids; some of them have ended there. Where ids do not tell, those that were created last
// are taken. The failing one is known.
std::vector<uint32_t> those_left(const CoreCase& core, const PassingRun& run,
                                 const std::vector<size_t>& members, std::vector<uint32_t> threads) {
  const auto is_failing = [&](size_t member) { return member == core.failing && run.alignment; };
  const bool has_failing = std::ranges::any_of(members, is_failing);
  if (has_failing) std::erase(threads, run.alignment->thread);
  const std::vector<std::optional<uint32_t>> by_id = threads_by_id_of_core(core, run);
  std::vector<uint32_t> numbered;
  for (const size_t member : members)
    if (!is_failing(member) && by_id[member] && std::ranges::find(threads, *by_id[member]) != threads.end())
      numbered.push_back(*by_id[member]);
  const size_t others = members.size() - (has_failing ? 1 : 0);
  if (numbered.size() == others)
    threads = std::move(numbered);
  else
    threads.erase(threads.begin(), threads.end() - static_cast<ptrdiff_t>(std::min(others, threads.size())));
  std::vector<uint32_t> out;
  for (auto next = threads.begin(); const size_t member : members) {
    if (is_failing(member))
      out.push_back(run.alignment->thread);
    else if (next != threads.end())
      out.push_back(*next++);
  }
  return out;
}

// Of several points that would do, the one where what only this thread writes is most like the core's; of equal
// ones the last.
std::optional<Alignment> likeliest_alignment(const ExecutionIndex& index, const CoreCase& core,
                                             const PassingRun& run, uint32_t thread) {
  const std::vector<Alignment> all = alignments(index, run.execution.moves, thread, *core.regions);
  if (all.size() < 2) return all.empty() ? std::nullopt : std::optional(all.back());
  const WrittenAlone own(run.execution.kept_events, run.execution.created, thread, run.comparison.differences);
  std::optional<Alignment> best;
  size_t least = SIZE_MAX;
  uint64_t move = 0, events = 0;
  for (const Alignment& alignment : all) {
    for (; move < alignment.move; ++move) events += is_event_of(run.execution.moves[move], thread) ? 1 : 0;
    const size_t different = own.different(events);
    if (different > least) continue;
    least = different;
    best = alignment;
  }
  return best;
}

// Threads that began alike are paired in the order of their creation.
void find_positions(const CoreCase& core, PassingRun& run) {
  const std::vector<heddle_thread_entry>& created = run.execution.created;
  run.positions.assign(created.size(), {});
  std::vector<uint64_t> all(created.size());
  std::vector<uint64_t> born(created.size());  // own events of the creator before it created the thread
  std::vector<uint32_t> children(created.size());
  for (const heddle_event& event : run.execution.kept_events) {
    ++all[event.thread];
    const uint32_t kind = event.kind - HEDDLE_EVENT_sync;
    if (kind != HEDDLE_SYNC_thread_create && kind != HEDDLE_SYNC_thread_start_cxx) continue;
    for (size_t i = 1; i < created.size(); ++i)
      if (created[i].creator == event.thread && created[i].child == children[event.thread])
        born[i] = all[event.thread];
    ++children[event.thread];
  }
  std::map<FunctionId, std::vector<size_t>> groups;  // of the core's threads
  for (size_t i = 0; i < core.indexes.size(); ++i)
    if (!core.indexes[i].index.frames.empty()) groups[core.indexes[i].index.frames[0].function].push_back(i);
  std::vector<bool> placed(created.size());
  // The main thread's position says which others had been created: it comes first.
  const auto place_group = [&](FunctionId first, std::vector<size_t> members) {
    std::vector<uint32_t> threads = threads_that_begin_with(first, run.execution.moves, *core.regions);
    std::erase_if(threads, [&](uint32_t thread) {
      const CorePosition& creator = run.positions[created[thread].creator];
      return thread != created[thread].creator && creator.kind == CorePosition::Kind::midway &&
             born[thread] > creator.events;
    });
    std::ranges::sort(members, {}, [&](size_t i) { return core.stacks[i].tid; });
    const bool guessed = threads.size() != members.size();
    if (guessed) threads = those_left(core, run, members, std::move(threads));
    if (threads.size() != members.size()) return;
    for (size_t i = 0; i < members.size(); ++i) {
      const std::optional<Alignment> found =
          likeliest_alignment(core.indexes[members[i]].index, core, run, threads[i]);
      placed[threads[i]] = true;
      if (members[i] == core.failing && run.alignment && run.alignment->thread == threads[i])
        run.positions[threads[i]] = {.kind = CorePosition::Kind::midway,
                                     .events = events_before(run, threads[i], run.alignment->move),
                                     .predicate = run.alignment->predicate};
      else if (found)
        run.positions[threads[i]] = {.kind = CorePosition::Kind::midway,
                                     .events = events_before(run, threads[i], found->move),
                                     .guessed = guessed,
                                     .predicate = found->predicate};
    }
  };
  const auto main = std::ranges::find(core.stacks, core.core->pid(), &CoreStack::tid);
  std::optional<FunctionId> main_function;
  if (main != core.stacks.end()) {
    const CoreIndex& index = core.indexes[static_cast<size_t>(main - core.stacks.begin())];
    if (!index.index.frames.empty()) main_function = index.index.frames[0].function;
  }
  if (main_function) place_group(*main_function, groups[*main_function]);
  for (const auto& [first, members] : groups)
    if (first != main_function) place_group(first, members);
  // Who is not in the core has ended, or had not been created.
  for (uint32_t thread = 0; thread < created.size(); ++thread) {
    if (placed[thread] || thread == created[thread].creator) continue;
    const CorePosition& creator = run.positions[created[thread].creator];
    if (creator.kind == CorePosition::Kind::unknown) continue;
    const bool begun = creator.kind == CorePosition::Kind::ended ||
                       (creator.kind == CorePosition::Kind::midway && born[thread] <= creator.events);
    run.positions[thread] = {.kind = begun ? CorePosition::Kind::ended : CorePosition::Kind::not_begun,
                             .events = begun ? all[thread] : 0};
  }
  // Where a group could not be paired, nobody of it is known to have ended.
  for (const auto& [first, members] : groups)
    for (const uint32_t thread : threads_that_begin_with(first, run.execution.moves, *core.regions))
      if (!placed[thread] && run.positions[thread].kind == CorePosition::Kind::ended)
        if (std::ranges::none_of(threads_that_begin_with(first, run.execution.moves, *core.regions),
                                 [&](uint32_t other) { return placed[other]; }))
          run.positions[thread] = {};
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
  if (index.frames[0] == nullptr) return std::nullopt;  // another function began, which called this one
  const MachineFunction* code = core.map->code_at(index.frames[0]->place());
  const auto thread = std::ranges::find(core.core->threads(), core.stacks[core.failing].tid, &CoreThread::tid);
  if (code == nullptr || thread == core.core->threads().end()) return std::nullopt;
  const uint64_t start = code->range.begin + index.frames[0]->module_base;
  for (uint64_t at = 0; at < 4096; at += 8)
    if (core.core->word(thread->registers.fs_base + at) == start)
      return core.core->word(thread->registers.fs_base + at + 8);
  return std::nullopt;
}

const llvm::DIType* argument_type(const CoreCase& core) {
  const llvm::Function& start =
      core.regions->program().function(core.indexes[core.failing].index.frames[0].function);
  return start.arg_empty() ? nullptr : frame_value_type(*start.getArg(0));
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
  std::erase_if(variables, [](const ElfSymbol& symbol) {  // the runtime's own
    return !symbol.file.empty() && symbol.file != HEDDLE_VARIANT_SOURCE;
  });
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

// Memory that a thread writes in the passing run when another one has accessed it.
class ContestedMemory {
 public:
  explicit ContestedMemory(const std::vector<heddle_event>& events) {
    constexpr uint32_t kSeveral = UINT32_MAX;
    std::map<uint64_t, uint32_t> users;  // by word: who accessed it
    for (const heddle_event& event : events) {
      if (event.kind >= HEDDLE_EVENT_sync || event.address == 0 || event.size > kMostBytes) continue;
      const bool writes = event.kind == HEDDLE_EVENT_write || event.kind == HEDDLE_EVENT_update ||
                          (event.kind == HEDDLE_EVENT_call && event.order == HEDDLE_CALL_writes);
      const uint64_t end = event.address + std::max<uint64_t>(event.size, 1);
      for (uint64_t word = event.address / 8; word * 8 < end; ++word) {
        uint32_t& user = users.try_emplace(word, event.thread).first->second;
        if (user == event.thread) continue;
        if (writes) words_.insert(word);
        user = kSeveral;
      }
    }
  }
  bool holds(const MemoryDifference& of) const {
    const auto found = words_.lower_bound(of.address / 8);
    return of.address != 0 && found != words_.end() && *found * 8 < of.address + std::max<uint64_t>(of.size, 1);
  }

 private:
  static constexpr uint64_t kMostBytes = 4096;  // of one access
  std::set<uint64_t> words_;
};

// What differs behind a pointer, but was written by nobody since threads share it: then the pointer itself
// leads to something else.
void find_critical_pointers(PassingRun& run) {
  const ContestedMemory contested(run.execution.kept_events);
  for (const DifferentBlock& block : run.comparison.blocks_that_differ) {
    if (!contested.holds(block.pointer)) continue;
    const auto begin = run.comparison.differences.begin();
    if (std::none_of(begin + static_cast<ptrdiff_t>(block.first), begin + static_cast<ptrdiff_t>(block.end),
                     [&](const MemoryDifference& of) { return contested.holds(of); }))
      run.critical.push_back({block.pointer, 0, false});
  }
  for (CriticalVariable& variable : run.critical)
    if (variable.accesses == 0)
      variable.accesses = static_cast<uint64_t>(
          std::ranges::count_if(run.execution.kept_events, [&](const heddle_event& event) {
            return event.kind < HEDDLE_EVENT_sync && event.address == variable.difference.address;
          }));
}

// Those of the differences that the passing run accesses where threads may meet.
void find_critical(PassingRun& run) {
  constexpr uint64_t kMostBytes = 4096;   // of one access
  std::map<uint64_t, uint64_t> accesses;  // by byte of a difference's words: how many
  for (const MemoryDifference& difference : run.comparison.differences)
    for (uint64_t at = difference.address; at != 0 && at < difference.address + difference.size; ++at)
      accesses.try_emplace(at, 0);
  for (const heddle_event& event : run.execution.kept_events) {
    if (event.kind >= HEDDLE_EVENT_sync || event.address == 0) continue;
    const uint64_t end = event.address + std::clamp<uint64_t>(event.size, 1, kMostBytes);
    for (auto at = accesses.lower_bound(event.address); at != accesses.end() && at->first < end; ++at)
      ++at->second;
  }
  for (MemoryDifference& difference : run.comparison.differences) {
    uint64_t most = 0;
    for (auto at = accesses.lower_bound(difference.address);
         at != accesses.end() && at->first < difference.address + difference.size; ++at)
      most = std::max(most, at->second);
    if (most != 0) run.critical.push_back({difference, most, false});
  }
}

Result<DumpComparison> compare(const CoreCase& core, const ControlledProgram& follow,
                               const LaunchOptions& launch, const ExecutionPlan& plan, const PassingRun& run,
                               const Alignment& alignment) {
  const StoppedRun stopped = HEDDLE_TRY(StoppedRun::run_to(follow, launch, plan, alignment.move + 1));
  const StoppedProcess process = HEDDLE_TRY(StoppedProcess::stop(stopped.pid()));
  const ElfFile executable = HEDDLE_TRY(ElfFile::open(core.symbols));
  const ElfFile variant = HEDDLE_TRY(ElfFile::open(follow.variant()));
  return compare_memory(
      follow.program(), memory_of_core(core, executable),
      memory_of_run(process, variant, stopped.load_base(), run.execution.created[alignment.thread].argument),
      common_locals(core, follow.program(), process, variant, stopped.load_base()),
      synchronisation_objects(run.execution.kept_events), argument_type(core));
}

// Where several points would do, the state at some of them is compared, and the one with the least differences
// is taken: first of the failing thread's own variables and of what only it writes, which tell its round, then
// the part of all that does. Of equal ones the last.
Result<void> align_and_compare(const CoreCase& core, const ControlledProgram& follow,
                               const LaunchOptions& launch, const ExecutionPlan& plan,
                               std::optional<uint64_t> instructions, PassingRun& run) {
  constexpr size_t kMostPoints = 8;
  constexpr size_t kLongRun = 1'000'000;  // moves: of longer ones only the last point is looked at
  const std::vector<Alignment> all = best_alignments(core, run, instructions);
  if (all.empty()) return {};
  const size_t points = run.execution.moves.size() > kLongRun ? 1 : std::min(all.size(), kMostPoints);
  std::vector<std::pair<Alignment, DumpComparison>> compared;
  std::map<uint64_t, MemoryDifference> anywhere;  // by address: what differs at one of the points
  for (size_t i = 0; i < points; ++i) {
    // The last, then the first and those between.
    const Alignment& alignment = i == 0 ? all.back() : all[(i - 1) * (all.size() - 1) / (points - 1)];
    compared.emplace_back(alignment, HEDDLE_TRY(compare(core, follow, launch, plan, run, alignment)));
    for (const MemoryDifference& difference : compared.back().second.differences)
      if (!difference.own) anywhere.try_emplace(difference.address, difference);
  }
  const auto values = std::views::values(anywhere);
  const std::vector<MemoryDifference> shared(values.begin(), values.end());
  const WrittenAlone alone(run.execution.kept_events, run.execution.created, all[0].thread, shared);
  const auto different = [&](const std::pair<Alignment, DumpComparison>& point) {
    const auto& [alignment, of] = point;
    uint64_t own = alone.different(events_before(run, alignment.thread, alignment.move)), all = 0;
    for (const MemoryDifference& difference : of.differences) {
      all += difference.elements;
      if (difference.own) own += difference.elements;
    }
    // Where little can be reached, little differs: the part counts.
    return std::tuple(of.compared == 0, own,
                      static_cast<double>(all) / static_cast<double>(std::max<uint64_t>(of.compared, 1)));
  };
  const auto least = std::ranges::min_element(compared, {}, different);
  run.alignment = least->first;
  run.comparison = std::move(least->second);
  return {};
}

}  // namespace

std::vector<CriticalVariable> awaited_objects(const CoreCase& core, const std::vector<heddle_event>& events) {
  std::set<uint32_t> sites;
  for (size_t i = 0; i < core.indexes.size(); ++i)
    for (const InstructionId at : core.stands_at(i)) sites.insert(at.value);
  std::map<uint64_t, uint64_t> accesses;  // by object
  for (const heddle_event& event : events)
    if (event.kind >= HEDDLE_EVENT_sync && event.address != 0 && sites.contains(event.site))
      accesses.try_emplace(event.address, 0);
  for (const heddle_event& event : events)
    if (const auto found = accesses.find(event.address); found != accesses.end()) ++found->second;
  std::vector<CriticalVariable> out;
  for (const auto& [object, count] : accesses)
    out.push_back({.difference = {.path = "", .address = object, .size = 1}, .accesses = count, .sync = true});
  return out;
}

namespace {

// Of a hang: what a thread reads in the loop where it stands, if it does not wait there. Until it sees
// something else it stays.
std::vector<CriticalVariable> spun_on(const CoreCase& core, const std::vector<heddle_event>& events,
                                      const std::vector<CriticalVariable>& known) {
  std::set<uint32_t> waits, loops;  // sites
  for (const heddle_event& event : events)
    if (event.kind >= HEDDLE_EVENT_sync && event.address != 0) waits.insert(event.site);
  const ProgramRegions& regions = *core.regions;
  for (size_t i = 0; i < core.indexes.size(); ++i) {
    const std::vector<InstructionId> stands = core.stands_at(i);
    if (stands.empty() ||
        std::ranges::any_of(stands, [&](InstructionId at) { return waits.contains(at.value); }))
      continue;
    const FunctionRegions& function = regions.of(core.indexes[i].index.frames.back().function);
    const std::vector<uint32_t>& headers = function.loops_of(regions.block_of(stands[0]));
    for (uint32_t block = 0; !headers.empty() && block < function.flow().size(); ++block)
      if (function.in_loop(headers.back(), block))
        for (const llvm::Instruction& instruction : *function.flow().block(block))
          loops.insert(regions.program().id_of(instruction).value);
  }
  std::map<uint64_t, CriticalVariable> found;  // by address
  for (const heddle_event& event : events)
    if (loops.contains(event.site) && event.kind == HEDDLE_EVENT_read)
      ++found
            .try_emplace(
                event.address,
                CriticalVariable{.difference = {.path = "", .address = event.address, .size = event.size},
                                 .spun = true})
            .first->second.accesses;
  for (const CriticalVariable& variable : known) found.erase(variable.difference.address);
  const auto values = std::views::values(found);
  return {values.begin(), values.end()};
}

}  // namespace

Result<PassingRun> passing_run(CoreCase& core, const ControlledProgram& follow, LaunchOptions launch,
                               const RunRules& rules, std::optional<uint64_t> instructions) {
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
  const std::set<FunctionId> beginnings = functions_that_begin(run.execution.moves, *core.regions);
  const ObservedCalls observed = observed_calls(run.execution.moves, *core.regions);
  for (CoreIndex& index : core.indexes) add_tail_callers(index, core.regions->program(), beginnings, observed);
  if (!run.execution.moves_complete)
    run.notes.push_back(
        fmt::format("the passing run is too long: only its first {} moves (blocks, returns, events) "
                    "were looked for the aligned point",
                    run.execution.moves.size()));
  if (run.execution.events > run.execution.kept_events.size())
    run.notes.push_back(
        fmt::format("the passing run is too long: preemptions are tried in the first {} of its {} events",
                    run.execution.kept_events.size(), run.execution.events));
  HEDDLE_TRY(align_and_compare(core, follow, launch, plan, instructions, run));
  if (run.alignment) {
    run.aligned_events = static_cast<uint64_t>(std::count_if(
        run.execution.moves.begin(), run.execution.moves.begin() + static_cast<ptrdiff_t>(run.alignment->move),
        [](const heddle_move& move) { return move.kind == HEDDLE_MOVE_event; }));
    if (!run.comparison.complete)
      run.notes.push_back(
          fmt::format("there is more memory than is compared: {} values were", run.comparison.compared));
    find_critical(run);
    find_critical_pointers(run);
  }
  if (core.hangs()) {
    std::ranges::move(awaited_objects(core, run.execution.kept_events), std::back_inserter(run.critical));
    std::ranges::move(spun_on(core, run.execution.kept_events, run.critical), std::back_inserter(run.critical));
  }
  find_positions(core, run);
  return run;
}

Result<std::optional<uint64_t>> instructions_of_failure(const ControlledProgram& follow, LaunchOptions launch,
                                                        const RunRules& rules, const Schedule& schedule) {
  launch.output = TargetOutput::discard;
  ProgramExecutor executor(follow, launch);
  const Execution run = HEDDLE_TRY(executor.execute(
      {.schedule = &schedule, .rules = rules, .fresh = true, .keep_schedule = true, .keep_moves = true}));
  if (run.outcome != Outcome::failed || !run.moves_complete) return std::optional<uint64_t>();
  const std::vector<ThreadName> threads = thread_names(run.created);
  uint64_t performed = 0;
  for (const heddle_move& move : run.moves)
    if (move.kind == HEDDLE_MOVE_block && move.id < follow.program().block_count() &&
        threads[move.thread] == run.failure->thread)
      performed += follow.program().block(BlockId(move.id)).sizeWithoutDebug();
  return std::optional(performed);
}

}  // namespace heddle
