#include "recording/pack.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "base/compress.h"
#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "recording/flow_log.h"
#include "recording/recording_info.h"

namespace heddle {
namespace {

constexpr std::string_view kMagic = "heddlepk";
constexpr uint32_t kVersion = 1;
constexpr size_t kBlock = 4 << 20;
constexpr size_t kMaxFrame =
    kBlock + (kBlock >> 6) + 1024;  // what zstd may make of a block that it cannot compress
constexpr uint64_t kMaxList = 64 << 20;

struct Entry {
  std::string name;
  uint64_t size = 0;
  std::string sha256;
};

// Closes the descriptor, and removes the file unless it was given its final name.
class Descriptor {
 public:
  explicit Descriptor(int fd, fs::path temporary = {}) : fd_(fd), temporary_(std::move(temporary)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }
  int get() const { return fd_; }
  void keep() { temporary_.clear(); }

 private:
  int fd_;
  fs::path temporary_;
};

Result<void> write_all(int fd, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot write", path);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

// Less than asked for at the end of the file only.
Result<std::string> read_some(int fd, size_t size, const fs::path& path) {
  std::string bytes(size, '\0');
  size_t got = 0;
  while (got < size) {
    const ssize_t n = ::read(fd, bytes.data() + got, size - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot read", path);
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

template <class T>
void append(std::string& out, T number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof number);
}

template <class T>
T number_at(std::string_view bytes, size_t offset) {
  T number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

bool all_zero(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c == 0; });
}

Error already_there(const fs::path& path, std::string_view option) {
  return Error{.what = "this is already there", .where = path, .next = fmt::format("name another: {}", option)};
}

// Gives a finished file or folder its name, never in place of something else.
Result<void> publish(const fs::path& from, const fs::path& to, std::string_view option) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
  if (errno == EEXIST) return already_there(to, option);
  // Some file systems do not know the flag.
  if (errno == EINVAL && !fs::exists(to) && ::rename(from.c_str(), to.c_str()) == 0) return {};
  return system_error("cannot rename to", to);
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

// ---- packing

// One file of the recording as it is to be packed: its bytes, or other ones in their place.
class Source {
 public:
  using Use = std::function<Result<void>(std::string_view block)>;

  Source(std::string name, fs::path path, std::vector<ByteRange> blanked)
      : name_(std::move(name)), path_(std::move(path)), blanked_(std::move(blanked)) {}
  Source(std::string name, std::string replacement)
      : name_(std::move(name)), replacement_(std::move(replacement)) {}

  const std::string& name() const { return name_; }

  Result<void> each_block(const Use& use) const {
    if (replacement_) {
      for (size_t at = 0; at < replacement_->size(); at += kBlock)
        HEDDLE_TRY(use(std::string_view(*replacement_).substr(at, kBlock)));
      return {};
    }
    const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file.get() < 0) return system_error("cannot open", path_);
    for (uint64_t offset = 0;;) {
      std::string block = HEDDLE_TRY(read_some(file.get(), kBlock, path_));
      if (block.empty()) return {};
      blank(block, offset);
      offset += block.size();
      HEDDLE_TRY(use(block));
    }
  }

 private:
  void blank(std::string& block, uint64_t offset) const {
    for (const ByteRange& range : blanked_) {
      const uint64_t begin = std::max(range.offset, offset);
      const uint64_t end = std::min(range.offset + range.size, offset + block.size());
      if (begin < end) std::fill_n(block.begin() + static_cast<ptrdiff_t>(begin - offset), end - begin, '\0');
    }
  }

  std::string name_;
  fs::path path_;
  std::vector<ByteRange> blanked_;
  std::optional<std::string> replacement_;
};

std::string info_without_inputs(RecordingInfo info) {
  info.environment.clear();
  info.environment_left_out = true;
  for (RecordedFile& file : info.files) {
    file.state = RecordedFile::State::left_out;
    file.copy.clear();
    file.sha256.clear();
  }
  return info.to_json().dump(1) + "\n";
}

Result<std::vector<Source>> sources_of(const fs::path& folder, const PackOptions& options) {
  const RecordingInfo info = HEDDLE_TRY(read_recording_info(folder));
  std::vector<std::string> names;
  std::error_code code;
  for (fs::recursive_directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    const std::string name = at->path().lexically_relative(folder);
    std::error_code ignored;
    if (is_recording_file_name(name) && fs::is_regular_file(at->symlink_status(ignored))) names.push_back(name);
  }
  if (code) return Error{.what = "cannot list the folder: " + code.message(), .where = folder};
  std::ranges::sort(names);
  std::vector<Source> sources;
  for (const std::string& name : names) {
    if (!options.inputs && name == kRecordingFile) {
      sources.emplace_back(name, info_without_inputs(info));
      continue;
    }
    if (!options.inputs && name.starts_with(std::string(kInputsFolder) + "/")) continue;
    const auto blanked = options.blanked.find(name);
    sources.emplace_back(name, folder / name,
                         blanked == options.blanked.end() ? std::vector<ByteRange>() : blanked->second);
  }
  return sources;
}

Result<std::vector<Entry>> entries_of(const std::vector<Source>& sources) {
  std::vector<Entry> entries;
  for (const Source& source : sources) {
    Entry entry{.name = source.name()};
    Sha256 hash;
    HEDDLE_TRY(source.each_block([&](std::string_view block) -> Result<void> {
      entry.size += block.size();
      hash.update(block);
      return {};
    }));
    entry.sha256 = hash.hex();
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string head_of(const std::vector<Entry>& entries) {
  Json files = Json::array();
  for (const Entry& entry : entries)
    files.push_back({{"name", entry.name}, {"size", entry.size}, {"sha256", entry.sha256}});
  const std::string list = Json{{"files", std::move(files)}}.dump();
  const std::string frame = compress(list);
  std::string head(kMagic);
  append<uint32_t>(head, kVersion);
  append<uint32_t>(head, 0);
  append<uint64_t>(head, frame.size());
  append<uint64_t>(head, list.size());
  return head + frame;
}

std::string packed_block(std::string_view block) {
  const std::string frame = all_zero(block) ? "" : compress(block);
  std::string out;
  append<uint32_t>(out, static_cast<uint32_t>(block.size()));
  append<uint32_t>(out, static_cast<uint32_t>(frame.size()));
  return out + frame;
}

// ---- unpacking

// Reads forward and knows where it is: damage is told with its offset.
class PackReader {
 public:
  PackReader(int fd, const fs::path& path) : fd_(fd), path_(path) {}

  uint64_t offset() const { return offset_; }
  Error damaged(std::string why, uint64_t at) const {
    return Error{.what = "the packed recording is damaged",
                 .where = fmt::format("{}, offset {}", path_.string(), at),
                 .why = std::move(why),
                 .next = "have it sent again"};
  }
  Result<std::string> take(size_t size, std::string_view what) {
    std::string bytes = HEDDLE_TRY(read_some(fd_, size, path_));
    if (bytes.size() < size)
      return damaged(fmt::format("the file ends within {}", what), offset_ + bytes.size());
    offset_ += size;
    return bytes;
  }
  Result<bool> at_end() { return HEDDLE_TRY(read_some(fd_, 1, path_)).empty(); }

 private:
  int fd_;
  const fs::path& path_;
  uint64_t offset_ = 0;
};

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::vector<Entry>> read_list(PackReader& reader, const fs::path& file) {
  const std::string head = HEDDLE_TRY(reader.take(kMagic.size() + 24, "its head"));
  if (!head.starts_with(kMagic))
    return Error{
        .what = "this is no packed recording", .where = file, .next = "name a file that heddle pack wrote"};
  const auto version = number_at<uint32_t>(head, 8);
  if (version != kVersion)
    return Error{.what = fmt::format("this packed recording has format {}; this heddle reads format {}",
                                     version, kVersion),
                 .where = file,
                 .next = "use the heddle that packed it"};
  const auto size = number_at<uint64_t>(head, 16), raw_size = number_at<uint64_t>(head, 24);
  const uint64_t begin = reader.offset();
  if (size > kMaxList || raw_size > kMaxList) return reader.damaged("the list of files is too large", 16);
  const std::string frame = HEDDLE_TRY(reader.take(size, "the list of files"));
  const Result<std::string> text = decompress(frame, raw_size);
  if (!text) return reader.damaged("the list of files: " + text.error().what, begin);
  const Result<Json> json = parse_json(*text, "the list of files");
  if (!json) return reader.damaged(json.error().what, begin);
  if (!json->is_object() || !json->contains("files") || !(*json)["files"].is_array())
    return reader.damaged("the list of files is none", begin);
  std::vector<Entry> entries;
  std::set<std::string> names;
  for (const Json& item : (*json)["files"]) {
    const bool complete = item.is_object() && item.contains("name") && item["name"].is_string() &&
                          item.contains("size") && item["size"].is_number_unsigned() &&
                          item.contains("sha256") && item["sha256"].is_string() &&
                          is_sha256(item["sha256"].get<std::string>());
    if (!complete) return reader.damaged("an entry of the list of files is incomplete", begin);
    Entry entry{item["name"], item["size"], item["sha256"]};
    if (!is_recording_file_name(entry.name))
      return reader.damaged(fmt::format("'{}' is no file of a recording", entry.name), begin);
    if (!names.insert(entry.name).second)
      return reader.damaged(fmt::format("'{}' is there twice", entry.name), begin);
    entries.push_back(std::move(entry));
  }
  if (!names.contains(std::string(kRecordingFile)))
    return reader.damaged(fmt::format("there is no {}", kRecordingFile), begin);
  return entries;
}

Result<void> unpack_file(PackReader& reader, const Entry& entry, const fs::path& folder) {
  const fs::path path = folder / entry.name;
  const Descriptor out(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (out.get() < 0) return system_error("cannot create", path);
  const uint64_t begin = reader.offset();
  Sha256 hash;
  for (uint64_t done = 0; done < entry.size;) {
    const uint64_t at = reader.offset();
    const std::string head = HEDDLE_TRY(reader.take(8, entry.name));
    const auto raw_size = number_at<uint32_t>(head, 0), size = number_at<uint32_t>(head, 4);
    if (raw_size == 0 || raw_size > kBlock || raw_size > entry.size - done || size > kMaxFrame)
      return reader.damaged(fmt::format("a block of {} cannot have these sizes", entry.name), at);
    std::string block(raw_size, '\0');
    if (size != 0) {
      Result<std::string> opened = decompress(HEDDLE_TRY(reader.take(size, entry.name)), raw_size);
      if (!opened) return reader.damaged(fmt::format("{}: {}", entry.name, opened.error().what), at);
      block = *std::move(opened);
      HEDDLE_TRY(write_all(out.get(), block, path));
    } else if (::lseek(out.get(), raw_size, SEEK_CUR) < 0) {
      return system_error("cannot write", path);
    }
    hash.update(block);
    done += raw_size;
  }
  if (::ftruncate(out.get(), static_cast<off_t>(entry.size)) != 0) return system_error("cannot write", path);
  if (hash.hex() != entry.sha256)
    return reader.damaged(fmt::format("{} does not have the checksum it should", entry.name), begin);
  return {};
}

}  // namespace

bool is_recording_file_name(std::string_view name) {
  if (name == kRecordingFile || name == kProcessFile || name == kEffectsFile || name == kFlowPlanFile)
    return true;
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view folder = name.substr(0, slash), file = name.substr(slash + 1);
  return (folder == kThreadsFolder || folder == kInputsFolder) && !file.empty() && file != "." &&
         file != ".." && file.size() <= 255 && file.find('/') == std::string_view::npos &&
         file.find('\0') == std::string_view::npos;
}

bool is_packed_recording(const fs::path& file) {
  const Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (in.get() < 0) return false;
  const Result<std::string> magic = read_some(in.get(), kMagic.size(), file);
  return magic && *magic == kMagic;
}

Result<PackResult> pack_recording(const fs::path& folder, const fs::path& file, const PackOptions& options) {
  const std::vector<Source> sources = HEDDLE_TRY(sources_of(folder, options));
  if (fs::exists(fs::symlink_status(file))) return already_there(file, "-o FILE");
  const std::vector<Entry> entries = HEDDLE_TRY(entries_of(sources));
  std::string name = folder_of(file) / ".heddle-pack-XXXXXX";
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return system_error("cannot create a file in", folder_of(file));
  Descriptor out(fd, name);
  PackResult result{.files = entries.size()};
  const auto put = [&](const std::string& bytes) {
    result.packed_bytes += bytes.size();
    return write_all(fd, bytes, file);
  };
  HEDDLE_TRY(put(head_of(entries)));
  for (size_t i = 0; i < sources.size(); ++i) {
    uint64_t size = 0;
    HEDDLE_TRY(sources[i].each_block([&](std::string_view block) {
      size += block.size();
      return put(packed_block(block));
    }));
    if (size != entries[i].size)
      return Error{.what = "this file changes while it is packed",
                   .where = folder / entries[i].name,
                   .next = "pack it when the recording is finished"};
    result.bytes += size;
  }
  HEDDLE_TRY(publish(name, file, "-o FILE"));
  out.keep();
  return result;
}

Result<PackResult> unpack_recording(const fs::path& file, const fs::path& folder) {
  const Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (in.get() < 0) return system_error("cannot open", file);
  PackReader reader(in.get(), file);
  const std::vector<Entry> entries = HEDDLE_TRY(read_list(reader, file));
  if (fs::exists(fs::symlink_status(folder))) return already_there(folder, "-o FOLDER");
  TempFolder made = HEDDLE_TRY(TempFolder::create(folder_of(folder)));
  for (const std::string_view inner : {kThreadsFolder, kInputsFolder})
    if (::mkdir((made.path() / inner).c_str(), 0700) != 0)
      return system_error("cannot create", made.path() / inner);
  PackResult result{.files = entries.size()};
  for (const Entry& entry : entries) {
    HEDDLE_TRY(unpack_file(reader, entry, made.path()));
    result.bytes += entry.size;
  }
  result.packed_bytes = reader.offset();
  if (!HEDDLE_TRY(reader.at_end())) return reader.damaged("more follows behind its end", reader.offset());
  HEDDLE_TRY(publish(made.path(), folder, "-o FOLDER"));
  made.release();
  return result;
}

}  // namespace heddle
