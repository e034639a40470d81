// ELF files: what heddle reads of executables, objects and archives, and the one kind of object it writes.
// The only user of libelf.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heddle {

struct ElfSymbol {
  std::string name;
  uint64_t address = 0;
  uint64_t size = 0;
  std::string file = {};  // of a local symbol: the object that it is of, as that names itself; empty for others
};

class ElfFile {
 public:
  enum class Kind { relocatable, executable, shared };  // position-independent executables are `executable`

  static Result<ElfFile> open(const std::filesystem::path& path);
  // `bytes` must outlive the object; `name` is for messages.
  static Result<ElfFile> from_memory(std::string_view bytes, std::string name);
  ElfFile(ElfFile&&) noexcept;
  ElfFile& operator=(ElfFile&&) noexcept;
  ~ElfFile();

  Kind kind() const { return kind_; }
  const std::string& name() const { return name_; }
  // Bytes of the named section, null when there is none. Valid as long as this object.
  std::optional<std::string_view> section(std::string_view name) const;
  std::string build_id() const;  // hexadecimal, empty when there is none
  bool has_symbol_table() const;
  // Functions defined here, by the symbol table; without one, by the dynamic symbol table.
  std::vector<ElfSymbol> functions() const;
  std::vector<ElfSymbol> variables() const;               // global and static ones, from the same table
  std::vector<ElfSymbol> thread_local_variables() const;  // addresses are offsets in the thread-local block
  // Size of the executable's thread-local block as it lies before the thread pointer (x86-64): a variable at
  // offset x stands at thread pointer - size + x. 0 when there is none.
  uint64_t thread_local_size() const;
  std::vector<std::string> needed_libraries() const;
  // Segments that are executed may hold constants beside the code: sections say what is code.
  struct CodeSection {
    uint64_t file_offset = 0;
    std::string_view bytes;
  };
  std::vector<CodeSection> code_sections() const;
  // Where a byte of an executed segment would lie if the file were loaded at address 0. Segments are mapped by
  // whole pages.
  std::optional<uint64_t> code_address(uint64_t file_offset) const;

 private:
  struct Handle;
  std::vector<ElfSymbol> symbols(bool (*wanted)(unsigned type)) const;
  ElfFile(std::unique_ptr<Handle> handle, Kind kind, std::string name);
  std::unique_ptr<Handle> handle_;
  Kind kind_;
  std::string name_;
};

struct ArchiveMember {
  std::string name;
  std::string_view bytes;
};

// Members of an ordinary (not thin) `ar` archive inside `bytes`; null when it is not one or is damaged.
std::optional<std::vector<ArchiveMember>> archive_members(std::string_view bytes);

struct SectionContent {
  std::string name;
  std::string_view bytes;
};

// A relocatable x86-64 object that holds nothing but these non-allocated sections, which the linker keeps: no
// text section, whose alignment would move the program's code, and a note that it needs no executable stack.
std::string section_object(const std::vector<SectionContent>& sections);

}  // namespace heddle
