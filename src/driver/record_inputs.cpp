#include "driver/record_inputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <tuple>

#include "base/files.h"
#include "base/sha256.h"

namespace heddle {
namespace {

constexpr size_t kBlock = 1 << 20;

bool same(const struct stat& now, const heddle_record_file& then) {
  return now.st_dev == then.device && now.st_ino == then.inode &&
         static_cast<uint64_t>(now.st_size) == then.size && now.st_mtim.tv_sec == then.modified_s &&
         now.st_mtim.tv_nsec == then.modified_ns;
}

struct Files {
  int from = -1, to = -1;
  ~Files() {
    if (from >= 0) ::close(from);
    if (to >= 0) ::close(to);
  }
};

Result<void> write_all(int to, std::string_view bytes, const fs::path& target) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(to, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return system_error("cannot write", target);
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

// Sets state and checksum; the copy is to have the name file.copy.
Result<void> copy_input(const heddle_record_file& then, const fs::path& inputs, RecordedFile& file) {
  Files files;
  files.from = ::open(then.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (files.from < 0) {
    file.state =
        errno == ENOENT || errno == ENOTDIR ? RecordedFile::State::gone : RecordedFile::State::unreadable;
    return {};
  }
  struct stat now{};
  if (::fstat(files.from, &now) != 0 || !same(now, then)) {
    file.state = RecordedFile::State::changed;
    return {};
  }
  const fs::path target = inputs / file.copy;
  files.to = ::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (files.to < 0) return system_error("cannot create", target);
  Sha256 hash;
  std::string block(kBlock, '\0');
  uint64_t size = 0;
  while (true) {
    const ssize_t got = ::read(files.from, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      file.state = RecordedFile::State::unreadable;
      break;
    }
    if (got == 0) break;
    hash.update(std::string_view(block.data(), static_cast<size_t>(got)));
    size += static_cast<uint64_t>(got);
    HEDDLE_TRY(write_all(files.to, std::string_view(block.data(), static_cast<size_t>(got)), target));
  }
  // It may have been written to meanwhile.
  if (::fstat(files.from, &now) != 0 || !same(now, then) || size != then.size)
    file.state = RecordedFile::State::changed;
  if (file.state == RecordedFile::State::kept)
    file.sha256 = hash.hex();
  else
    ::unlink(target.c_str());
  return {};
}

}  // namespace

std::vector<RecordedFile> list_inputs(const std::vector<heddle_record_file>& files) {
  std::vector<RecordedFile> out;
  for (size_t i = 0; i < files.size(); ++i)
    if (files[i].path[0] != 0) out.push_back({.number = i, .path = files[i].path, .size = files[i].size});
  return out;
}

Result<std::vector<RecordedFile>> keep_inputs(const std::vector<heddle_record_file>& files,
                                              const fs::path& folder) {
  std::vector<RecordedFile> out = list_inputs(files);
  // Two threads may have given the same file two numbers.
  std::map<std::tuple<uint64_t, uint64_t, uint64_t, int64_t, int64_t>, const RecordedFile*> known;
  for (RecordedFile& file : out) {
    const heddle_record_file& then = files[file.number];
    const RecordedFile*& first = known[{then.device, then.inode, then.size, then.modified_s, then.modified_ns}];
    if (first != nullptr) {
      file.state = first->state;
      file.copy = first->copy;
      file.sha256 = first->sha256;
      continue;
    }
    first = &file;
    file.state = RecordedFile::State::kept;
    file.copy = std::to_string(file.number);
    if (const Result<void> copied = copy_input(then, folder / kInputsFolder, file); !copied) {
      std::error_code ignored;
      for (const RecordedFile& any : out)
        fs::remove(folder / kInputsFolder / std::to_string(any.number), ignored);
      return copied.error();
    }
    if (file.state != RecordedFile::State::kept) file.copy.clear();
  }
  return out;
}

std::vector<std::string> environment_of_runs() {
  std::vector<std::string> out;
  for (char** at = environ; *at != nullptr; ++at)
    if (!std::string_view(*at).starts_with(std::string(HEDDLE_RECORD_FOLDER) + "=")) out.emplace_back(*at);
  return out;
}

Result<void> keep_standard_input(int input, int64_t begin, const fs::path& folder) {
  const fs::path target = folder / kInputFile;
  Files files;
  files.to = ::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (files.to < 0) return system_error("cannot create", target);
  std::string block(kBlock, '\0');
  for (off_t at = begin;;) {
    const ssize_t got = ::pread(input, block.data(), block.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read standard input", "");
    if (got == 0) return {};
    HEDDLE_TRY(write_all(files.to, std::string_view(block).substr(0, static_cast<size_t>(got)), target));
    at += got;
  }
}

}  // namespace heddle
