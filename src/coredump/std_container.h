// Containers of libstdc++ in the memory of a program: which elements one has, in its own order. The layouts are
// part of that library's ABI; debug information alone has no types for nodes (they are bytes there), and often
// none for classes that the library itself instantiates.
#pragma once

#include <functional>
#include <optional>

#include "coredump/debug_types.h"

namespace heddle {

using ReadMemory = std::function<size_t(uint64_t address, void* bytes, size_t size)>;

struct ContainerItem {
  uint64_t value = 0;  // where it is
  uint64_t node = 0;   // that it is in, 0: none of its own
  std::string key;     // of a map or set, as text; empty: elements are known by their position
};

struct StdContainer {
  const llvm::DIType* element = nullptr;  // of a map: of what a key leads to
  uint64_t size = 0;
  uint64_t size_offset = 0;  // of the word that changes with the size, from the container's beginning
  unsigned links = 0;        // words at the beginning of each node that lead to others
  unsigned first_link = 0;   // the first of them that is a pointer
  std::vector<ContainerItem> items;
};

// "name<" of a class in namespace std; empty: it is none.
std::string std_class(const llvm::DIType* resolved);

// Nothing: not a container that is known here, or its memory does not hold together.
std::optional<StdContainer> std_container_at(const llvm::DIType* resolved, uint64_t address,
                                             const DebugTypes& types, const ReadMemory& read);

// The characters of a std::string.
std::optional<std::string> std_string_at(uint64_t address, const ReadMemory& read);

}  // namespace heddle
