#include "driver/core_locals.h"

#include <llvm/IR/Instructions.h>

#include <algorithm>

#include "abi/frame_record.h"
#include "image/elf_file.h"
#include "program/frame_values.h"

namespace heddle {
namespace {

constexpr uint64_t kMostStack = 8 << 20;  // bytes that are searched for records

struct FrameRecord {
  FunctionId function;
  std::vector<uint64_t> values;
};

std::optional<FrameRecord> record_at(const StoppedProcess& process, const Program& program, uint64_t address) {
  uint64_t head[HEDDLE_FRAME_HEAD];
  if (process.read(address, head, sizeof head) != sizeof head || head[0] != HEDDLE_FRAME_MAGIC)
    return std::nullopt;
  const uint64_t id = head[1] ^ HEDDLE_FRAME_MAGIC;
  if (id >= program.function_count()) return std::nullopt;
  FrameRecord out{.function = FunctionId(static_cast<uint32_t>(id)), .values = {}};
  out.values.resize(frame_values(program.function(out.function)).size());
  const uint64_t bytes = out.values.size() * sizeof(uint64_t);
  if (process.read(address + sizeof head, out.values.data(), bytes) != bytes) return std::nullopt;
  return out;
}

// Outermost first.
std::vector<FrameRecord> records_on_stack(const StoppedProcess& process, const Program& program,
                                          uint64_t from) {
  std::vector<FrameRecord> out;
  std::vector<uint64_t> words(8192);
  from = (from + 15) & ~uint64_t{15};
  for (uint64_t at = from; at - from < kMostStack;) {
    const size_t got = process.read(at, words.data(), words.size() * 8) / 8;
    for (size_t i = 0; i < got; i += 2)
      if (words[i] == HEDDLE_FRAME_MAGIC)
        if (std::optional<FrameRecord> record = record_at(process, program, at + i * 8))
          out.push_back(*std::move(record));
    if (got == 0) {  // the rest of the last page may be readable
      const uint64_t page = 4096 - at % 4096;
      if (words.size() * 8 == page || process.read(at, words.data(), page) != page) break;
      words.resize(page / 8);
      continue;
    }
    at += got * 8;
    if (got < words.size()) break;
    words.resize(8192);
  }
  std::ranges::reverse(out);
  return out;
}

// Values that both have.
void add_common(const CoreCase& core, const CoreFrame& frame, const FrameRecord& record, const Program& program,
                bool own, std::vector<ComparedLocal>& out) {
  const std::vector<const llvm::Value*> values = frame_values(program.function(record.function));
  for (size_t i = 0; i < values.size() && i < record.values.size(); ++i) {
    if (record.values[i] == HEDDLE_FRAME_UNSET) continue;
    const std::optional<uint64_t> failing = frame_value(*core.core, frame, *core.map, program, *values[i]);
    if (failing) out.push_back({values[i], *failing, record.values[i], own});
  }
}

}  // namespace

std::vector<ComparedLocal> common_locals(const CoreCase& core, const Program& program,
                                         const StoppedProcess& process, const ElfFile& variant,
                                         uint64_t load_base) {
  std::vector<ComparedLocal> out;
  const CoreIndex& failing = core.indexes[core.failing];
  // The thread that stopped is the one with the records that begin like the index: with fibres there is only
  // one.
  for (const pid_t thread : process.threads()) {
    std::vector<FrameRecord> records = records_on_stack(process, program, process.stack_pointer_of(thread));
    // No frames of the core: in it libraries did the same (who began a thread of std::thread, most of all).
    std::erase_if(records,
                  [&](const FrameRecord& record) { return core.regions->is_library_model(record.function); });
    size_t same = 0;
    while (same < records.size() && same < failing.index.frames.size() &&
           records[same].function == failing.index.frames[same].function)
      ++same;
    for (size_t i = 0; i < same; ++i)
      if (failing.frames[i] != nullptr) add_common(core, *failing.frames[i], records[i], program, true, out);
    if (same != 0) break;
  }
  // main() of the core's main thread.
  const auto main = std::ranges::find(core.stacks, core.core->pid(), &CoreStack::tid);
  if (main == core.stacks.end() || static_cast<size_t>(main - core.stacks.begin()) == core.failing) return out;
  const CoreIndex& index = core.indexes[static_cast<size_t>(main - core.stacks.begin())];
  if (index.frames.empty() || index.frames[0] == nullptr) return out;
  for (const ElfSymbol& symbol : variant.variables()) {
    if (symbol.name != HEDDLE_FRAME_OF_MAIN) continue;
    uint64_t address = 0;
    if (process.read(load_base + symbol.address, &address, sizeof address) != sizeof address) continue;
    const std::optional<FrameRecord> record = record_at(process, program, address);
    if (record && record->function == index.index.frames[0].function)
      add_common(core, *index.frames[0], *record, program, false, out);
  }
  return out;
}

}  // namespace heddle
