#include "recording/log_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

namespace heddle {
namespace {

constexpr uint64_t kPage = HEDDLE_RECORD_PAGE;
constexpr uint64_t kHead = HEDDLE_RECORD_CHUNK_HEAD;
static_assert(sizeof(heddle_record_chunk) == kHead);
static_assert(sizeof(heddle_record_log) <= kPage);

// Bytes of the words before the first that is 0.
uint64_t words_before_zero(const char* bytes, uint64_t size) {
  uint64_t at = 0;
  for (uint64_t word; at + sizeof word <= size; at += sizeof word) {
    std::memcpy(&word, bytes + at, sizeof word);
    if (word == 0) break;
  }
  return at;
}

}  // namespace

std::string Damage::text() const {
  return fmt::format("{}, offset {}: {}", file, offset, what);
}

Result<LogFile> LogFile::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error("cannot open", path);
  struct stat info{};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return Error{.what = "this is not an ordinary file", .where = path};
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size == 0) {
    ::close(fd);
    return from_bytes(path, "");
  }
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  if (mapped == MAP_FAILED) return system_error("cannot map", path);
  const auto unmap = [size](const char* bytes) { ::munmap(const_cast<char*>(bytes), size); };
  LogFile log(path, std::shared_ptr<const char>(static_cast<const char*>(mapped), unmap), size);
  HEDDLE_TRY(log.read_head());
  log.find_chunks();
  return log;
}

Result<LogFile> LogFile::from_bytes(std::string file, std::string bytes) {
  const auto holder = std::make_shared<const std::string>(std::move(bytes));
  LogFile log(std::move(file), std::shared_ptr<const char>(holder, holder->data()), holder->size());
  HEDDLE_TRY(log.read_head());
  log.find_chunks();
  return log;
}

LogFile::LogFile(std::string file, std::shared_ptr<const char> bytes, uint64_t size)
    : file_(std::move(file)), bytes_(std::move(bytes)), size_(size) {}

std::string LogFile::thread() const {
  if (head_.name[0] == 0) return std::filesystem::path(file_).stem();
  return head_.name;
}

bool LogFile::begins_late() const {
  const auto late = [](const Stream& stream) {
    return !stream.chunks.empty() && stream.chunks.front().sequence != 0;
  };
  return late(path_) || late(data_);
}

void LogFile::report(uint64_t offset, std::string what) {
  damage_.push_back({file_, offset, std::move(what)});
}

Result<void> LogFile::read_head() {
  const auto no_log = [this](size_t offset, std::string why) {
    return Error{.what = "not a thread's log",
                 .where = fmt::format("{}, offset {}", file_, offset),
                 .why = std::move(why)};
  };
  if (size_ == 0) return {};
  if (size_ < sizeof head_) return no_log(size_, "the file ends inside its head");
  std::memcpy(&head_, bytes_.get(), sizeof head_);
  if (head_.magic == 0) return {};
  if (head_.magic != HEDDLE_RECORD_LOG_MAGIC)
    return no_log(offsetof(heddle_record_log, magic), "it does not begin as one");
  if (head_.format != HEDDLE_RECORD_FORMAT)
    return no_log(offsetof(heddle_record_log, format),
                  fmt::format("it has format {}, this heddle reads {}", head_.format, HEDDLE_RECORD_FORMAT));
  if (std::memchr(head_.name, 0, sizeof head_.name) == nullptr) {
    report(offsetof(heddle_record_log, name), "the thread's name has no end");
    head_.name[sizeof head_.name - 1] = 0;
  }
  if (head_.stop > HEDDLE_RECORD_forked) {
    report(offsetof(heddle_record_log, stop), fmt::format("unknown reason {} for an early end", head_.stop));
    head_.stop = HEDDLE_RECORD_not_stopped;
  }
  if (head_.looked_at > 1) {
    report(offsetof(heddle_record_log, looked_at), "neither looked at nor not");
    head_.looked_at = 0;
  }
  if (head_.sync_order > 1) {
    report(offsetof(heddle_record_log, sync_order), "stamps are neither times nor numbers");
    head_.sync_order = 0;
  }
  return {};
}

// Chunks begin at page boundaries. Where none does, the next page is tried. A place without a mark was never
// used, or its chunk was being made.
void LogFile::find_chunks() {
  bool lost = false;  // inside something that was reported already, or is being made
  for (uint64_t offset = kPage; offset < size_;) {
    const size_t reports = damage_.size();
    const uint64_t size = take_chunk(offset);
    if (size == 0 && lost) damage_.resize(reports);
    lost = size == 0;
    offset += size == 0 ? kPage : size;
  }
  put_in_order(path_, "path");
  put_in_order(data_, "data");
  // The mark comes last when a log is made, before anything is written to it.
  if (head_.magic == 0 && (path_.bytes > sizeof(uint64_t) || data_.bytes != 0))
    report(0, "the log has no mark");
  const bool was_made = head_.magic != 0 && head_.stop == HEDDLE_RECORD_not_stopped;
  if (was_made && damage_.empty() && (path_.chunks.empty() || data_.chunks.empty()))
    report(size_, "the first chunks are missing");
  if (head_.seal != 0 && damage_.empty() && head_.seal != seal())
    report(
        offsetof(heddle_record_log, seal),
        "the log is not as it was when the recording was complete: bytes outside of full chunks have changed");
}

uint64_t LogFile::seal() const {
  uint64_t hash = size_;
  const auto add = [&](uint64_t from, uint64_t to) {
    for (; from < to; from += sizeof hash) {
      uint64_t word = 0;
      std::memcpy(&word, bytes_.get() + from, std::min<uint64_t>(to - from, sizeof word));
      hash = (std::rotl(hash, 27) ^ word) * 0x9e3779b97f4a7c15ull;
    }
  };
  constexpr uint64_t kSeal = offsetof(heddle_record_log, seal);
  if (size_ >= sizeof head_) add(0, kSeal);
  uint64_t at = std::min<uint64_t>(kSeal + sizeof head_.seal, size_);
  for (const auto& [from, to] : summed_) {
    add(at, from);
    at = to;
  }
  add(at, size_);
  return hash | 1;
}

Result<void> seal_log(const std::filesystem::path& path) {
  const LogFile log = HEDDLE_TRY(LogFile::open(path));
  if (log.head().magic == 0) return {};
  const uint64_t seal = log.seal();
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return system_error("cannot open", path);
  const bool written = ::pwrite(fd, &seal, sizeof seal, offsetof(heddle_record_log, seal)) == sizeof seal;
  const Error error = system_error("cannot write to", path);
  ::close(fd);
  if (!written) return error;
  return {};
}

// Its size; 0 if there is no chunk here that can be used.
uint64_t LogFile::take_chunk(uint64_t offset) {
  const char* begin = bytes_.get() + offset;
  heddle_record_chunk head;
  if (size_ - offset < kHead) {
    report(offset, "the file ends inside the head of a chunk");
    return 0;
  }
  std::memcpy(&head, begin, sizeof head);
  // The mark is written last; the size is there before.
  if (head.magic == 0) return head.size % kPage == 0 ? std::min(head.size, size_ - offset) : 0;
  const auto broken = [&](size_t field, std::string what) {
    report(offset + field, "no chunk can be here: " + std::move(what));
    return 0;
  };
  if (head.magic != HEDDLE_RECORD_CHUNK_MAGIC)
    return broken(offsetof(heddle_record_chunk, magic), "wrong mark");
  if (head.stream != HEDDLE_RECORD_path && head.stream != HEDDLE_RECORD_data)
    return broken(offsetof(heddle_record_chunk, stream), fmt::format("there is no stream {}", head.stream));
  if (head.size == 0 || head.size % kPage != 0)
    return broken(offsetof(heddle_record_chunk, size), fmt::format("impossible size {}", head.size));
  const bool is_path = head.stream == HEDDLE_RECORD_path;
  if (head.used < kHead || head.used > head.size || (is_path && head.used % sizeof(uint64_t) != 0))
    return broken(offsetof(heddle_record_chunk, used),
                  fmt::format("{} bytes used of {}", head.used, head.size));

  const uint64_t there = std::min(head.size, size_ - offset);
  if (head.checksum != 0 && head.used <= there && head.checksum != heddle_record_checksum(&head, begin + kHead))
    return broken(offsetof(heddle_record_chunk, checksum),
                  fmt::format("its {} bytes are not those that were written", head.used - kHead));
  if (head.checksum != 0 && head.used <= there) summed_.emplace_back(offset + kHead, offset + head.used);
  if (there < head.size)
    report(size_, fmt::format("the file ends inside a chunk of {} bytes at {}", head.size, offset));
  uint64_t used = head.used - kHead;
  bool whole = head.used <= there;
  if (!whole) {
    used = there - kHead;
  } else if (is_path) {
    const uint64_t words = words_before_zero(begin + kHead, there - kHead);
    whole = words >= used;
    if (!whole)
      report(offset + kHead + words,
             fmt::format("{} words of the path are missing", (used - words) / sizeof(uint64_t)));
    used = words;
  }
  Stream& stream = is_path ? path_ : data_;
  stream.chunks.push_back({.bytes = begin + kHead,
                           .size = used,
                           .file_offset = offset + kHead,
                           .sequence = head.sequence,
                           .whole = whole,
                           .begin_tsc = head.begin_tsc,
                           .end_tsc = head.end_tsc});
  return there;
}

void LogFile::put_in_order(Stream& stream, std::string_view name) {
  std::sort(stream.chunks.begin(), stream.chunks.end(), [](const StreamChunk& a, const StreamChunk& b) {
    return std::tie(a.sequence, a.file_offset) < std::tie(b.sequence, b.file_offset);
  });
  size_t kept = 0;
  for (const StreamChunk& chunk : stream.chunks) {
    const uint64_t head_offset = chunk.file_offset - kHead;
    if (kept != 0 && chunk.sequence == stream.chunks[kept - 1].sequence) {
      const StreamChunk& first = stream.chunks[kept - 1];
      if (first.size != chunk.size || std::memcmp(first.bytes, chunk.bytes, chunk.size) != 0)
        report(head_offset, fmt::format("a second chunk {} of the {} stream: left out", chunk.sequence, name));
      continue;
    }
    if (kept != 0 && chunk.sequence != stream.chunks[kept - 1].sequence + 1) {
      report(head_offset,
             fmt::format("chunk {} of the {} stream follows chunk {}: what begins here cannot be followed",
                         chunk.sequence, name, stream.chunks[kept - 1].sequence));
      stream.broken = true;
      break;
    }
    stream.chunks[kept] = chunk;
    stream.chunks[kept].position = stream.bytes;
    stream.bytes += chunk.size;
    ++kept;
    if (!chunk.whole) {
      stream.broken = true;
      break;
    }
  }
  stream.chunks.resize(kept);
}

}  // namespace heddle
