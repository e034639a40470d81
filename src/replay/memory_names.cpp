#include "replay/memory_names.h"

#include <fmt/core.h>

#include <algorithm>

namespace heddle {

MemoryNames::Table::Table(std::vector<ElfSymbol> symbols) : by_address(std::move(symbols)) {
  std::ranges::sort(by_address, {}, [](const ElfSymbol& s) { return std::pair(s.address, s.name); });
  std::unordered_map<std::string, size_t> count;
  for (const ElfSymbol& symbol : by_address) ++count[symbol.name];
  for (size_t i = 0; i < by_address.size(); ++i)
    if (count[by_address[i].name] == 1) by_name.emplace(by_address[i].name, i);
}

// The symbol that holds the address; of several the innermost one with a unique name.
const ElfSymbol* MemoryNames::Table::at(uint64_t address) const {
  auto after = std::ranges::upper_bound(by_address, address, {}, &ElfSymbol::address);
  constexpr int kNested = 8;  // aliases and variables inside sections' symbols: a few at most
  for (int tries = 0; after != by_address.begin() && tries < kNested; ++tries) {
    --after;
    const bool holds = address - after->address < std::max<uint64_t>(after->size, 1);
    if (holds && by_name.contains(after->name)) return &*after;
  }
  return nullptr;
}

const ElfSymbol* MemoryNames::Table::named(const std::string& name) const {
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : &by_address[found->second];
}

MemoryNames::MemoryNames(std::vector<ElfSymbol> variables, std::vector<ElfSymbol> thread_locals,
                         uint64_t thread_local_size)
    : variables_(std::move(variables)),
      thread_locals_(std::move(thread_locals)),
      thread_local_size_(thread_local_size) {}

std::optional<MemoryNames::Variable> MemoryNames::variable_at(uint64_t offset) const {
  const ElfSymbol* symbol = variables_.at(offset);
  if (symbol == nullptr) return std::nullopt;
  return Variable{symbol->name, offset - symbol->address};
}

Location MemoryNames::location_of(const heddle_place& place, const std::vector<ThreadName>& threads,
                                  uint64_t load_base) const {
  switch (place.kind) {
    case HEDDLE_PLACE_heap:
      return Location::heap(threads[place.thread], place.index, place.offset);
    case HEDDLE_PLACE_map:
      return Location::map(threads[place.thread], place.index, place.offset);
    case HEDDLE_PLACE_tls: {
      // Offsets from the thread pointer are negative for the executable's own variables.
      const uint64_t in_block = place.offset + thread_local_size_;
      const ElfSymbol* symbol = in_block < thread_local_size_ ? thread_locals_.at(in_block) : nullptr;
      if (symbol != nullptr)
        return Location::tls(threads[place.thread], symbol->name, in_block - symbol->address);
      // Without a name, the offset itself serves as one.
      return Location::tls(threads[place.thread], "tp", place.offset);
    }
    case HEDDLE_PLACE_program:
      if (const auto variable = variable_at(place.offset))
        return Location::global(variable->name, variable->offset);
      return Location::address(load_base + place.offset);
    default:
      return Location::address(place.offset);
  }
}

Result<heddle_place> MemoryNames::place_of(const Location& location,
                                           const std::vector<ThreadName>& threads) const {
  heddle_place place{};
  if (location.has_thread()) {
    const auto found = std::ranges::find(threads, location.thread);
    if (found == threads.end())
      return Error{
          .what = fmt::format("{}: the schedule has no thread {}", location.text(), location.thread.text())};
    place.thread = static_cast<uint32_t>(found - threads.begin());
  }
  const auto unknown = [&](std::string_view what) {
    return Error{.what = fmt::format("{}: the program has no {} '{}'", location.text(), what, location.name),
                 .why = "the schedule belongs to another program, or the variable is local to several files"};
  };
  place.index = location.index;
  place.offset = location.offset;
  switch (location.kind) {
    case Location::Kind::global: {
      const ElfSymbol* symbol = variables_.named(location.name);
      if (symbol == nullptr) return unknown("global variable");
      place.kind = HEDDLE_PLACE_program;
      place.offset += symbol->address;
      return place;
    }
    case Location::Kind::tls: {
      place.kind = HEDDLE_PLACE_tls;
      if (location.name == "tp") return place;
      const ElfSymbol* symbol = thread_locals_.named(location.name);
      if (symbol == nullptr) return unknown("thread-local variable");
      place.offset += symbol->address - thread_local_size_;
      return place;
    }
    case Location::Kind::heap:
      place.kind = HEDDLE_PLACE_heap;
      return place;
    case Location::Kind::map:
      place.kind = HEDDLE_PLACE_map;
      return place;
    case Location::Kind::address:
      place.kind = HEDDLE_PLACE_address;
      return place;
    case Location::Kind::stack:
      break;
  }
  return Error{.what = fmt::format("{}: controlled runs do not name locations on stacks", location.text()),
               .next = "give its address instead: address:0xHEX"};
}

}  // namespace heddle
