// Core files: threads with their registers, the signal, mapped files, memory. Written by the kernel, by gcore,
// or by heddle.
//
// The file is mapped, and only what is asked for is read: a core of gigabytes opens in no time. Compressed ones
// (zstd) are unpacked into a file without a name first. Nothing in it is trusted: sizes and offsets are checked
// before use; what is missing because the file was cut off is noted (`notes`) and reads as not there.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heddle {

struct CoreThread {
  pid_t tid = 0;
  int signal = 0;  // that it got, 0: none
  user_regs_struct registers{};
};

// A part of a file that was mapped.
struct CoreMapping {
  uint64_t begin = 0, end = 0, offset = 0;
  std::string file;
};

// An executable or a library: the mapping of its first page.
struct CoreModule {
  std::string file;
  uint64_t begin = 0, end = 0;  // of all its mappings
  uint64_t base = 0;            // an address minus this is one of the file
  std::string build_id;         // hexadecimal; empty: none, or not in the core
};

class CoreFile {
 public:
  // Does the file begin like a core, perhaps a compressed one?
  static bool is_core(const std::filesystem::path& file);
  static Result<CoreFile> open(const std::filesystem::path& file);
  static Result<CoreFile> from_bytes(std::string bytes, const std::string& name);
  CoreFile(CoreFile&&) noexcept;
  CoreFile& operator=(CoreFile&&) noexcept;
  ~CoreFile();

  const std::string& name() const { return name_; }
  uint64_t size() const;
  pid_t pid() const { return pid_; }
  const std::string& command() const { return command_; }  // as the kernel knew it, cut after 80 bytes
  // The thread that failed comes first.
  const std::vector<CoreThread>& threads() const { return threads_; }
  int signal() const { return signal_; }  // that ended the process; 0: none, it was running
  std::optional<uint64_t> fault_address() const { return fault_address_; }
  const std::vector<CoreModule>& modules() const { return modules_; }
  const CoreModule* executable() const;  // null: not known
  const CoreModule* module_at(uint64_t address) const;
  const std::vector<std::string>& notes() const { return notes_; }

  // Bytes that the core has, or that were mapped from a file which is still there. Fewer than asked for: the
  // rest is not known.
  size_t read(uint64_t address, void* bytes, size_t size) const;
  std::optional<uint64_t> word(uint64_t address) const;
  std::string text(uint64_t address, size_t limit = 512) const;  // up to a zero byte
  bool readable(uint64_t address) const;

 private:
  struct Bytes;
  struct Segment {
    uint64_t begin, end;      // in memory
    uint64_t offset, stored;  // in the file: `stored` bytes from the beginning of the segment
  };
  CoreFile() = default;
  static Result<CoreFile> parse(std::unique_ptr<Bytes> bytes, std::string name);
  Result<void> read_head();
  void read_notes(uint64_t offset, uint64_t size);
  void read_note(uint32_t type, std::string_view name, std::string_view content);
  void read_mapped_files(std::string_view content);
  void find_modules();
  void read_module(CoreModule& module) const;
  size_t read_mapped(uint64_t address, void* bytes, size_t size) const;

  std::unique_ptr<Bytes> bytes_;
  std::string name_, command_;
  pid_t pid_ = 0;
  int signal_ = 0;
  std::optional<uint64_t> fault_address_;
  uint64_t entry_ = 0;  // of the executable, from the auxiliary vector
  std::vector<CoreThread> threads_;
  std::vector<CoreMapping> mappings_;
  std::vector<CoreModule> modules_;
  std::vector<Segment> segments_;  // ascending
  std::vector<std::string> notes_;
};

}  // namespace heddle
