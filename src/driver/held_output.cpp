#include "driver/held_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace heddle {
namespace {

constexpr off_t kMostShown = 64 * 1024;

}  // namespace

// For appending: the program may open it anew (/dev/stdout), or write to it from several processes.
HeldOutput::HeldOutput(const std::filesystem::path& folder)
    : file_(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600)) {}

HeldOutput::~HeldOutput() {
  if (file_ >= 0) ::close(file_);
}

std::string HeldOutput::text() const {
  struct stat status{};
  if (file_ < 0 || ::fstat(file_, &status) != 0) return "";
  std::string out(static_cast<size_t>(std::min(status.st_size, kMostShown)), 0);
  const ssize_t size = ::pread(file_, out.data(), out.size(), std::max<off_t>(status.st_size - kMostShown, 0));
  out.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return out;
}

}  // namespace heddle
