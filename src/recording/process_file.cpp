#include "recording/process_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/files.h"

namespace heddle {
namespace {

constexpr size_t kSize = HEDDLE_RECORD_FILES_OFFSET + HEDDLE_RECORD_MAX_FILES * sizeof(heddle_record_file);
static_assert(sizeof(heddle_record_process) <= HEDDLE_RECORD_FILES_OFFSET);

uint64_t option_bits(const RecordingOptions& options) {
  uint64_t bits = 0;
  if (options.clock) bits |= HEDDLE_RECORD_OPTION_CLOCK;
  if (options.clock && options.sync_order) bits |= HEDDLE_RECORD_OPTION_SYNC_ORDER;
  if (options.chaos) bits |= HEDDLE_RECORD_OPTION_CHAOS;
  if (options.memory_model == "tso") bits |= HEDDLE_RECORD_OPTION_TSO;
  if (options.memory_model == "pso") bits |= HEDDLE_RECORD_OPTION_PSO;
  if (!options.inputs) bits |= HEDDLE_RECORD_OPTION_NO_INPUTS;
  return bits;
}

heddle_record_process with_ends(heddle_record_process process) {
  for (char* text : {process.text, process.text2}) text[HEDDLE_RECORD_TEXT - 1] = 0;
  process.thread[sizeof process.thread - 1] = 0;
  process.refused[sizeof process.refused - 1] = 0;
  return process;
}

}  // namespace

Result<ProcessFile> ProcessFile::create(const std::filesystem::path& folder, const RecordingOptions& options) {
  const std::filesystem::path path = folder / kProcessFile;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return system_error("cannot create", path);
  // A full disk is to be an error here and no signal later; the rest is made as it is needed.
  int code = ::posix_fallocate(fd, 0, HEDDLE_RECORD_FILES_OFFSET);
  if (code == 0 && ::ftruncate(fd, kSize) != 0) code = errno;
  void* at = code == 0 ? ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (code == 0 && at == MAP_FAILED) code = errno;
  ::close(fd);
  if (code != 0) {
    errno = code;
    return system_error("cannot make room in", path);
  }
  ProcessFile file(path, at);
  heddle_record_process& process = *file.process();
  process.magic = HEDDLE_RECORD_PROCESS_MAGIC;
  process.format = HEDDLE_RECORD_FORMAT;
  process.options = option_bits(options);
  process.keep = options.keep;
  process.chaos_seed = options.seed;
  return file;
}

ProcessFile::ProcessFile(ProcessFile&& other) noexcept
    : path_(std::move(other.path_)), at_(std::exchange(other.at_, nullptr)) {}

ProcessFile::~ProcessFile() {
  if (at_ != nullptr) ::munmap(at_, kSize);
}

bool ProcessFile::failed() const {
  return __atomic_load_n(&process()->failed, __ATOMIC_ACQUIRE) != 0;
}

void ProcessFile::mark_failure_seen() {
  __atomic_store_n(&process()->failure_seen, 1, __ATOMIC_RELEASE);
  ::syscall(SYS_futex, &process()->failure_seen, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

heddle_record_process ProcessFile::copy() const {
  return with_ends(*process());
}

std::vector<heddle_record_file> ProcessFile::files() const {
  const auto* table =
      reinterpret_cast<const heddle_record_file*>(static_cast<const char*>(at_) + HEDDLE_RECORD_FILES_OFFSET);
  std::vector<heddle_record_file> files(table,
                                        table + std::min<uint32_t>(process()->files, HEDDLE_RECORD_MAX_FILES));
  for (heddle_record_file& file : files) file.path[sizeof file.path - 1] = 0;
  return files;
}

Result<void> ProcessFile::trim() {
  const uint64_t files = std::min<uint32_t>(process()->files, HEDDLE_RECORD_MAX_FILES);
  if (::truncate(path_.c_str(),
                 static_cast<off_t>(HEDDLE_RECORD_FILES_OFFSET + files * sizeof(heddle_record_file))) != 0)
    return system_error("cannot trim", path_);
  return {};
}

Result<heddle_record_process> read_process_file(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kProcessFile;
  const std::string bytes = HEDDLE_TRY(read_file(path));
  heddle_record_process process{};
  if (bytes.size() < sizeof process)
    return Error{.what = "the recording is damaged",
                 .where = fmt::format("{}, offset {}", path.string(), bytes.size()),
                 .why = "the file is too short"};
  std::memcpy(&process, bytes.data(), sizeof process);
  if (process.magic != HEDDLE_RECORD_PROCESS_MAGIC || process.format != HEDDLE_RECORD_FORMAT)
    return Error{.what = "the recording is damaged",
                 .where = fmt::format("{}, offset 0", path.string()),
                 .why = "the file does not begin as it should"};
  return with_ends(process);
}

}  // namespace heddle
