// What is known about functions outside the program: the effects table.
//
// A table is a readable text file (share/effects.table holds the grammar as its head comment and everything
// heddle knows of libc, libpthread, libm and libstdc++); users add files of their own. Later entries replace
// earlier ones of the same name.
//
// Who uses it: the sharing analysis (does the call keep a pointer?), the record variant (what must be logged?),
// the interpreter (what did the call write?), `heddle show` (what is unknown?).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "abi/sync_kind.h"
#include "base/result.h"

namespace heddle {

using SyncKind = heddle_sync_kind;
std::string_view sync_kind_name(SyncKind kind);

// Which pointer an effect speaks of: the n-th argument (from 0), or every variadic argument.
struct Place {
  static constexpr int kVariadic = -1;
  int argument = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

// How many bytes, counted from the place: the most that the call touches.
struct Extent {
  enum class Kind {
    bytes,     // `amount`
    argument,  // value of argument `first`, times `amount`
    product,   // value of argument `first` times value of argument `second`
    pointee,   // value of the 32-bit integer behind argument `first`, the smaller of before and after the call
    returned,  // the (non-negative) return value, times `amount`
    string,    // up to and including the terminating zero byte
    bounded_string,  // the same, but not more bytes than the value of argument `first`
    wide_string,
    iovec,   // the place is an array of struct iovec of argument `first` elements; the bytes are behind it
    format,  // the place is variadic or a va_list: what the conversions of the format in argument `first` say
    object,  // the library object behind the pointer (FILE, mutex, ...): its size is the library's business
    reachable,  // the table cannot say: anything reachable from the pointer (std::string: its heap buffer too)
  };
  Kind kind = Kind::object;
  uint64_t amount = 1;
  int first = 0;
  int second = 0;
  friend bool operator==(const Extent&, const Extent&) = default;
};

struct MemoryEffect {
  Place place;
  Extent extent;
  bool reads = false;
  bool writes = false;
};

// A pointer that the call stores behind `place` (strtol's end pointer, getline's buffer).
struct YieldedPointer {
  Place place;
  enum class Kind { fresh, argument, library } kind = Kind::library;
  int argument = 0;
};

enum class AllocationKind { none, allocate, reallocate, release };

// What a call to one external function does. Everything not listed does not happen. Arguments are numbered as
// in LLVM IR: `this` is argument 0, or 1 behind the hidden pointer of a class returned by value.
struct Effects {
  std::string name;  // as in the table: ends in '*' when the entry speaks for a family
  int arguments =
      0;  // one more than the highest argument number used: shorter calls are not calls of this function

  SyncKind sync = HEDDLE_SYNC_none;
  std::vector<int> sync_objects;  // argument numbers, in the order abi/sync_kind.h names them

  AllocationKind allocation = AllocationKind::none;
  Extent allocation_size;      // allocate, reallocate
  int allocation_pointer = 0;  // reallocate, release: the argument

  std::vector<MemoryEffect> memory;
  std::vector<YieldedPointer> yields;
  std::vector<Place> keeps;  // pointers that stay reachable by the library after the call
  std::vector<int> calls;    // arguments that are functions, called before the return

  enum class Returns { value, argument, library } returns = Returns::value;
  int returned_argument = 0;  // Returns::argument: the result points into what this argument points to

  bool sets_errno = false;
  bool no_return = false;
  bool blocks = false;  // may wait for something outside the program
  bool input = false;   // brings data from outside: the result and the bytes written must be recorded
  bool pure = false;    // result and bytes written follow from arguments and memory read

  const MemoryEffect* effect_on(int argument) const;
  bool keeps_argument(int argument, bool variadic) const;
  // One line for people: "reads arg1 (arg2 bytes), writes arg0 (arg2 bytes), returns arg0".
  std::string describe() const;
};

class EffectsTable {
 public:
  // The shipped table, then the user's: ~/.config/heddle/effects.table (XDG_CONFIG_HOME) when it exists, the
  // files in HEDDLE_EFFECTS (colon-separated), then `extra`.
  static Result<EffectsTable> load(const std::vector<std::filesystem::path>& extra = {});

  // The files that load() reads, in this order.
  static Result<std::vector<std::filesystem::path>> files(const std::vector<std::filesystem::path>& extra = {});

  // Adds the entries of a table text; errors name `origin`, line and column.
  Result<void> add(std::string_view text, const std::string& origin);

  // Null when nothing is known. Glibc's aliases (__isoc99_sscanf, memcpy's __memcpy_chk) have entries of their
  // own. An exact name wins over families (`NAME*`), a longer family over a shorter one. The result stays valid
  // as long as the table, also when the table is moved.
  const Effects* find(std::string_view name) const;
  size_t size() const { return exact_.size() + families_.size(); }
  std::vector<std::string_view> names() const;  // sorted

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Entries = std::unordered_map<std::string, Effects, Hash, std::equal_to<>>;

  void insert(Effects entry);

  Entries exact_;
  Entries families_;                    // keyed without the '*'
  std::vector<size_t> family_lengths_;  // distinct key lengths of families_, longest first
};

}  // namespace heddle
