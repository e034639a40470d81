#include "coredump/execution_index.h"

#include <fmt/core.h>
#include <llvm/IR/DebugInfoMetadata.h>

#include <filesystem>

#include "program/source_place.h"

namespace heddle {

const FunctionRegions& ProgramRegions::of(FunctionId function) const {
  std::unique_ptr<FunctionRegions>& regions = regions_[function.value];
  if (!regions) regions = std::make_unique<FunctionRegions>(program_.function(function));
  return *regions;
}

uint32_t ProgramRegions::block_of(InstructionId instruction) const {
  const llvm::BasicBlock* block = program_.instruction(instruction).getParent();
  return of(program_.id_of(*block->getParent())).flow().number(block);
}

bool ProgramRegions::is_library_model(FunctionId function) const {
  const auto [found, fresh] = models_.try_emplace(function.value, false);
  if (fresh) {
    const llvm::DISubprogram* scope = program_.function(function).getSubprogram();
    found->second = scope != nullptr && scope->getFilename().contains("<library model>");
  }
  return found->second;
}

std::vector<IndexEntry> index_entries(const ExecutionIndex& index, const ProgramRegions& regions) {
  using Kind = IndexEntry::Kind;
  std::vector<IndexEntry> entries;
  for (const IndexFrame& frame : index.frames) {
    entries.push_back({.kind = Kind::function, .function = frame.function});
    if (!frame.at) continue;
    const FunctionRegions& function = regions.of(frame.function);
    size_t loop = 0;
    for (const Region& region : function.regions_of(regions.block_of(*frame.at))) {
      const llvm::BasicBlock* block = function.flow().block(region.block);
      IndexEntry entry{.kind = Kind::branch, .function = frame.function, .successor = region.successor};
      entry.at = regions.program().id_of(*block->getTerminator());
      if (region.kind == Region::Kind::either) entry.kind = Kind::either;
      if (region.kind == Region::Kind::merged) entry.kind = Kind::merged;
      if (region.kind == Region::Kind::loop) {
        entry.kind = Kind::loop;
        entry.count = loop < frame.counts.size() ? frame.counts[loop++] : std::nullopt;
      }
      entries.push_back(entry);
    }
  }
  if (!index.frames.empty())
    entries.push_back(
        {.kind = Kind::statement, .function = index.frames.back().function, .at = index.frames.back().at});
  return entries;
}

std::string index_text(const ExecutionIndex& index, const ProgramRegions& regions) {
  using Kind = IndexEntry::Kind;
  std::string text;
  for (const IndexEntry& entry : index_entries(index, regions)) {
    std::string place = "?";
    if (entry.at) {
      const SourcePlace found = user_place(regions.program().instruction(*entry.at));
      if (found.known())
        place = fmt::format("{}:{}", std::filesystem::path(found.file).filename().string(), found.line);
    }
    if (!text.empty()) text += " -> ";
    switch (entry.kind) {
      case Kind::function:
        text += short_name(readable_name(regions.program().function(entry.function))) + "()";
        break;
      case Kind::loop:
        text += fmt::format("loop {} x{}", place, entry.count ? std::to_string(*entry.count) : "?");
        break;
      case Kind::branch:
        text += fmt::format("branch {}", place);
        break;
      case Kind::either:
        text += fmt::format("branch {} (one of several)", place);
        break;
      case Kind::merged:
        text += fmt::format("branches behind {}", place);
        break;
      case Kind::statement:
        text += place;
        break;
    }
  }
  return text;
}

uint64_t index_length(const ExecutionIndex& index, const ProgramRegions& regions) {
  uint64_t length = 0;
  for (const IndexEntry& entry : index_entries(index, regions))
    length += entry.kind == IndexEntry::Kind::loop ? entry.count.value_or(1) : 1;
  return length;
}

}  // namespace heddle
