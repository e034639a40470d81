// Names of memory of the variant, both ways: locations of schedules (schedule/location.h) and places of the
// control runtime (struct heddle_place), which knows offsets in the executable and no names.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "abi/control.h"
#include "base/result.h"
#include "image/elf_file.h"
#include "schedule/location.h"

namespace heddle {

class MemoryNames {
 public:
  MemoryNames() = default;
  // Variables of the executable; `thread_local_size` as ElfFile::thread_local_size().
  MemoryNames(std::vector<ElfSymbol> variables, std::vector<ElfSymbol> thread_locals,
              uint64_t thread_local_size);

  struct Variable {
    std::string name;
    uint64_t offset = 0;
  };
  // The variable that holds the byte at this offset from the load address.
  std::optional<Variable> variable_at(uint64_t offset) const;

  // `threads` are the names behind the place's thread index, which must be in range. Memory without a name that
  // is unique gets its address.
  Location location_of(const heddle_place& place, const std::vector<ThreadName>& threads,
                       uint64_t load_base) const;

  // The inverse. Errors: a variable that the program does not have, a thread that is not in `threads`, a kind
  // of location that controlled runs do not know (stack).
  Result<heddle_place> place_of(const Location& location, const std::vector<ThreadName>& threads) const;

 private:
  // Sorted by address, and the unique names among them.
  struct Table {
    std::vector<ElfSymbol> by_address;
    std::unordered_map<std::string, size_t> by_name;

    explicit Table(std::vector<ElfSymbol> symbols = {});
    const ElfSymbol* at(uint64_t address) const;
    const ElfSymbol* named(const std::string& name) const;
  };

  Table variables_, thread_locals_;
  uint64_t thread_local_size_ = 0;
};

}  // namespace heddle
