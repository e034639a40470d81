#include "base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace heddle {
namespace {

Result<void> write_all(int fd, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot write", path);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

Result<std::string> read_file(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error("cannot open", path);
  struct stat info{};
  if (::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    ::close(fd);
    return Error{.what = "this is a folder, not a file", .where = path};
  }
  std::string bytes;
  size_t used = 0;
  while (true) {
    // One byte more than the stated size, so that an ordinary file is read with one call and one check for its
    // end.
    const size_t want = std::max<size_t>(static_cast<size_t>(info.st_size) + 1, used + 65536);
    if (bytes.size() < want) bytes.resize(want);
    const ssize_t n = ::read(fd, bytes.data() + used, bytes.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      Error error = system_error("cannot read", path);
      ::close(fd);
      return error;
    }
    if (n == 0) break;
    used += static_cast<size_t>(n);
  }
  ::close(fd);
  bytes.resize(used);
  return bytes;
}

Result<void> write_file(const fs::path& path, std::string_view bytes, Readers readers) {
  std::string temp = path.string() + ".XXXXXX";
  const int fd = ::mkstemp(temp.data());
  if (fd < 0) return system_error("cannot create a file beside", path);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd, (readers == Readers::owner ? 0600 : 0666) & ~mask);
  Result<void> written = write_all(fd, bytes, path);
  if (::close(fd) != 0 && written) written = system_error("cannot write", path);
  if (written && ::rename(temp.c_str(), path.c_str()) != 0) written = system_error("cannot rename to", path);
  if (!written) ::unlink(temp.c_str());
  return written;
}

Result<void> make_folders(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) return Error{.what = "cannot create folder: " + code.message(), .where = path};
  return {};
}

Result<TempFolder> TempFolder::create(const fs::path& parent) {
  std::error_code code;
  fs::path base = parent.empty() ? fs::temp_directory_path(code) : parent;
  if (code) return Error{.what = "no usable temporary folder: " + code.message(), .next = "set TMPDIR"};
  std::string name = base / "heddle-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return system_error("cannot create a temporary folder in", base);
  return TempFolder(fs::path(name));
}

TempFolder& TempFolder::operator=(TempFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<FileLock> FileLock::acquire(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return system_error("cannot open lock", path);
  while (::flock(fd, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    Error error = system_error("cannot lock", path);
    ::close(fd);
    return error;
  }
  return FileLock(fd);
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<fs::path> cache_folder() {
  fs::path folder;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && xdg[0] == '/') {
    folder = fs::path(xdg) / "heddle";
  } else if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    folder = fs::path(home) / ".cache" / "heddle";
  } else {
    return Error{.what = "no place for the cache: neither XDG_CACHE_HOME nor HOME is set",
                 .next = "export XDG_CACHE_HOME=/tmp/heddle-cache"};
  }
  HEDDLE_TRY(make_folders(folder));
  return folder;
}

fs::path executable_path() {
  std::error_code code;
  return fs::read_symlink("/proc/self/exe", code);
}

fs::path find_in_path(std::string_view name) {
  if (name.find('/') != std::string_view::npos)
    return ::access(std::string(name).c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const size_t colon = rest.find(':');
    const fs::path file = fs::path(rest.substr(0, colon)) / name;
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0) return file;
    if (colon == std::string_view::npos) return {};
    rest.remove_prefix(colon + 1);
  }
}

}  // namespace heddle
