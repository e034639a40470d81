// Files and folders, with errors that name the path.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heddle {

namespace fs = std::filesystem;

Result<std::string> read_file(const fs::path& path);

// Writes beside the target and renames: readers see the old file or the whole new one, also when the disk is
// full.
enum class Readers { as_usual, owner };  // as_usual: what the umask allows
Result<void> write_file(const fs::path& path, std::string_view bytes, Readers readers = Readers::as_usual);

Result<void> make_folders(const fs::path& path);

// A fresh private folder, removed with all it holds when the object dies.
class TempFolder {
 public:
  // Inside `parent`, or inside the system's temporary folder when `parent` is empty.
  static Result<TempFolder> create(const fs::path& parent = {});
  TempFolder(TempFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempFolder& operator=(TempFolder&& other) noexcept;
  ~TempFolder();

  const fs::path& path() const { return path_; }
  // Keeps the folder: the caller has renamed it or wants it to stay.
  void release() { path_.clear(); }

 private:
  explicit TempFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

// An exclusive lock between processes, held until the object dies (also when the process is killed).
class FileLock {
 public:
  static Result<FileLock> acquire(const fs::path& path);  // waits
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

// Where programs of this user keep caches: $XDG_CACHE_HOME/heddle, else ~/.cache/heddle.
Result<fs::path> cache_folder();

// The folder of the running executable and the file itself, symbolic links resolved.
fs::path executable_path();

// An executable looked up like a shell does; empty when there is none.
fs::path find_in_path(std::string_view name);

}  // namespace heddle
