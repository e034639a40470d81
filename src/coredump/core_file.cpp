#include "coredump/core_file.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/compress.h"
#include "base/files.h"

namespace heddle {

namespace {

constexpr size_t kMostSegments = 1 << 20;
constexpr uint64_t kMostNotes = 64 << 20;
constexpr std::string_view kZstdMagic("\x28\xb5\x2f\xfd", 4);

Error not_a_core(const std::string& name, std::string why) {
  return Error{
      .what = "this is not a core file that heddle can read",
      .where = name,
      .why = std::move(why),
      .next = "give the core file of a 64-bit x86 program; heddle record --mode core -- APP makes one"};
}

// Other tools' packing, by how a file begins.
Error not_elf(const std::string& name, std::string_view bytes) {
  struct Packed {
    std::string_view begin, by, unpack;
  };
  for (const Packed& packed :
       {Packed{"\x1f\x8b", "gzip", "gzip -dk"}, Packed{"\xfd\x37zXZ", "xz", "xz -dk"},
        Packed{"\x04\x22\x4d\x18", "lz4", "lz4 -dk"}, Packed{"BZh", "bzip2", "bzip2 -dk"}})
    if (bytes.starts_with(packed.begin))
      return {.what = "this is not a core file that heddle can read",
              .where = name,
              .why = fmt::format("it is packed by {}; heddle unpacks zstd only", packed.by),
              .next = fmt::format("unpack it: {} {}", packed.unpack, name)};
  return not_a_core(name, "it does not begin like an ELF file");
}

template <class T>
std::optional<T> take(std::string_view bytes, uint64_t at) {
  T value;
  if (at > bytes.size() || sizeof value > bytes.size() - at) return std::nullopt;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string hexadecimal(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return out;
}

uint64_t padded(uint64_t size) {
  return (size + 3) & ~uint64_t{3};
}

// Calls visit(type, name, content) for each note that is there as a whole.
template <class Visit>
void each_note(std::string_view notes, Visit visit) {
  for (uint64_t at = 0;;) {
    const std::optional<Elf64_Nhdr> note = take<Elf64_Nhdr>(notes, at);
    if (!note) return;
    const uint64_t name = at + sizeof *note, content = name + padded(note->n_namesz);
    if (content > notes.size() || note->n_descsz > notes.size() - content) return;
    visit(note->n_type, notes.substr(name, note->n_namesz), notes.substr(content, note->n_descsz));
    at = content + padded(note->n_descsz);
  }
}

}  // namespace

struct CoreFile::Bytes {
  std::string own;
  void* mapped = nullptr;
  std::string_view view;

  ~Bytes() {
    if (mapped != nullptr) ::munmap(mapped, view.size());
  }
};

CoreFile::CoreFile(CoreFile&&) noexcept = default;
CoreFile& CoreFile::operator=(CoreFile&&) noexcept = default;
CoreFile::~CoreFile() = default;

uint64_t CoreFile::size() const {
  return bytes_->view.size();
}

bool CoreFile::is_core(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  Elf64_Ehdr head{};
  const ssize_t got = ::pread(descriptor, &head, sizeof head, 0);
  ::close(descriptor);
  if (got >= 4 && std::string_view(reinterpret_cast<const char*>(&head), 4) == kZstdMagic) {
    const std::string name = file.filename();
    return name.starts_with("core");
  }
  return got == static_cast<ssize_t>(sizeof head) && std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
         head.e_type == ET_CORE;
}

Result<CoreFile> CoreFile::open(const std::filesystem::path& file) {
  int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    Error error = system_error("cannot open the core file", file);
    error.next =
        "name the core file first: heddle core CORE -- APP ARGS; heddle doctor says where the kernel puts "
        "cores";
    return error;
  }
  bool packed = false;
  char magic[4] = {};
  if (::pread(descriptor, magic, sizeof magic, 0) == 4 && std::string_view(magic, 4) == kZstdMagic) {
    Result<int> unpacked = decompress_to_file(descriptor, file);
    ::close(descriptor);
    descriptor = HEDDLE_TRY(std::move(unpacked));
    packed = true;
  }
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
    ::close(descriptor);
    return not_a_core(file, packed ? "it is packed by zstd, and cut off before anything can be unpacked"
                                   : "it is empty, or no ordinary file");
  }
  auto bytes = std::make_unique<Bytes>();
  void* mapped = ::mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  ::close(descriptor);
  if (mapped == MAP_FAILED) return system_error("cannot map the core file", file);
  bytes->mapped = mapped;
  bytes->view = {static_cast<const char*>(mapped), static_cast<size_t>(status.st_size)};
  return parse(std::move(bytes), file);
}

Result<CoreFile> CoreFile::from_bytes(std::string content, const std::string& name) {
  auto bytes = std::make_unique<Bytes>();
  bytes->own = std::move(content);
  bytes->view = bytes->own;
  return parse(std::move(bytes), name);
}

Result<CoreFile> CoreFile::parse(std::unique_ptr<Bytes> bytes, std::string name) {
  CoreFile core;
  core.bytes_ = std::move(bytes);
  core.name_ = std::move(name);
  HEDDLE_TRY(core.read_head());
  core.find_modules();
  return core;
}

Result<void> CoreFile::read_head() {
  const std::string_view bytes = bytes_->view;
  const std::optional<Elf64_Ehdr> head = take<Elf64_Ehdr>(bytes, 0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return not_elf(name_, bytes);
  if (head->e_type != ET_CORE)
    return not_a_core(name_, "it is an ELF file of another kind (a program, perhaps)");
  if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != EM_X86_64)
    return not_a_core(name_, "it is of another kind of machine");
  uint64_t count = head->e_phnum;
  if (count == PN_XNUM) {  // so many segments that their number stands in the first section's head
    const std::optional<Elf64_Shdr> section = take<Elf64_Shdr>(bytes, head->e_shoff);
    count = section ? section->sh_info : 0;
  }
  if (count > kMostSegments) return not_a_core(name_, "it claims to have more segments than any process");
  uint64_t missing = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (head->e_phoff > bytes.size()) break;
    const std::optional<Elf64_Phdr> segment = take<Elf64_Phdr>(bytes, head->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) break;
    const uint64_t available =
        segment->p_offset < bytes.size() ? std::min(segment->p_filesz, bytes.size() - segment->p_offset) : 0;
    missing += segment->p_filesz - available;
    if (segment->p_type == PT_NOTE) read_notes(segment->p_offset, std::min(available, kMostNotes));
    if (segment->p_type != PT_LOAD || segment->p_memsz > UINT64_MAX - segment->p_vaddr || segment->p_memsz == 0)
      continue;
    segments_.push_back({segment->p_vaddr, segment->p_vaddr + segment->p_memsz, segment->p_offset,
                         std::min(available, segment->p_memsz)});
  }
  std::ranges::sort(segments_, {}, &Segment::begin);
  if (missing != 0)
    notes_.push_back(
        fmt::format("the core is cut off: {} MiB of memory are missing (ulimit -c, or the disk was full)",
                    (missing >> 20) + 1));
  if (threads_.empty())
    return not_a_core(name_, "no thread is in it: it was cut off near its beginning, or is damaged");
  return {};
}

void CoreFile::read_notes(uint64_t offset, uint64_t size) {
  if (offset > bytes_->view.size()) return;
  each_note(
      bytes_->view.substr(offset, size),
      [&](uint32_t type, std::string_view name, std::string_view content) { read_note(type, name, content); });
}

void CoreFile::read_note(uint32_t type, std::string_view name, std::string_view content) {
  if (!name.starts_with("CORE")) return;
  if (type == NT_PRSTATUS) {
    const std::optional<prstatus_t> status = take<prstatus_t>(content, 0);
    if (!status) return;
    CoreThread thread{.tid = status->pr_pid, .signal = status->pr_cursig, .registers = {}};
    static_assert(sizeof thread.registers == sizeof status->pr_reg);
    std::memcpy(&thread.registers, &status->pr_reg, sizeof thread.registers);
    threads_.push_back(thread);
    if (threads_.size() == 1) signal_ = thread.signal;
  } else if (type == NT_PRPSINFO) {
    const std::optional<prpsinfo_t> info = take<prpsinfo_t>(content, 0);
    if (!info) return;
    pid_ = info->pr_pid;
    command_.assign(info->pr_psargs, ::strnlen(info->pr_psargs, sizeof info->pr_psargs));
  } else if (type == NT_SIGINFO) {
    const std::optional<siginfo_t> info = take<siginfo_t>(content, 0);
    // gcore has one for each thread: the first is that of the first thread.
    if (!info || fault_address_) return;
    if (info->si_signo == SIGSEGV || info->si_signo == SIGBUS || info->si_signo == SIGFPE ||
        info->si_signo == SIGILL)
      fault_address_ = reinterpret_cast<uintptr_t>(info->si_addr);
  } else if (type == NT_AUXV) {
    for (uint64_t at = 0; const auto entry = take<Elf64_auxv_t>(content, at); at += sizeof *entry)
      if (entry->a_type == AT_ENTRY) entry_ = entry->a_un.a_val;
  } else if (type == NT_FILE) {
    read_mapped_files(content);
  }
}

void CoreFile::read_mapped_files(std::string_view content) {
  const std::optional<uint64_t> count = take<uint64_t>(content, 0), page = take<uint64_t>(content, 8);
  if (!count || !page || *count > content.size() / 24) return;
  uint64_t name = 16 + *count * 24;
  for (uint64_t i = 0; i < *count && name < content.size(); ++i) {
    const uint64_t at = 16 + i * 24;
    const std::optional<uint64_t> begin = take<uint64_t>(content, at), end = take<uint64_t>(content, at + 8),
                                  offset = take<uint64_t>(content, at + 16);
    const size_t zero = content.find('\0', name);
    if (!begin || !end || !offset || *begin >= *end || zero == std::string_view::npos) return;
    mappings_.push_back({*begin, *end, *offset * *page, std::string(content.substr(name, zero - name))});
    name = zero + 1;
  }
  std::ranges::sort(mappings_, {}, &CoreMapping::begin);
}

void CoreFile::find_modules() {
  for (const CoreMapping& mapping : mappings_) {
    const bool begins = mapping.offset == 0 && word(mapping.begin).value_or(0) << 32 == uint64_t{0x464c457f}
                                                                                            << 32;
    if (begins) {
      modules_.push_back(
          {.file = mapping.file, .begin = mapping.begin, .end = mapping.end, .base = 0, .build_id = {}});
      read_module(modules_.back());
    } else if (!modules_.empty() && modules_.back().file == mapping.file) {
      modules_.back().end = std::max(modules_.back().end, mapping.end);
    }
  }
}

void CoreFile::read_module(CoreModule& module) const {
  Elf64_Ehdr head;
  module.base = module.begin;
  if (read(module.begin, &head, sizeof head) != sizeof head) return;
  std::optional<uint64_t> first;
  for (unsigned i = 0; i < std::min<unsigned>(head.e_phnum, 64); ++i) {
    Elf64_Phdr segment;
    if (read(module.begin + head.e_phoff + i * sizeof segment, &segment, sizeof segment) != sizeof segment)
      return;
    if (segment.p_type == PT_LOAD && (!first || segment.p_vaddr < *first)) {
      first = segment.p_vaddr;
      module.base = module.begin - (segment.p_vaddr & ~uint64_t{4095});
    }
    if (segment.p_type != PT_NOTE || segment.p_filesz > 65536 || !module.build_id.empty()) continue;
    std::string notes(segment.p_filesz, '\0');
    notes.resize(read(module.begin + segment.p_offset, notes.data(), notes.size()));
    each_note(notes, [&](uint32_t type, std::string_view name, std::string_view content) {
      if (type == NT_GNU_BUILD_ID && name.starts_with("GNU")) module.build_id = hexadecimal(content);
    });
  }
}

const CoreModule* CoreFile::executable() const {
  return entry_ != 0 ? module_at(entry_) : nullptr;
}

const CoreModule* CoreFile::module_at(uint64_t address) const {
  for (const CoreModule& module : modules_)
    if (address >= module.begin && address < module.end) return &module;
  return nullptr;
}

size_t CoreFile::read(uint64_t address, void* out, size_t size) const {
  size_t done = 0;
  while (done < size) {
    const uint64_t at = address + done;
    if (at < address) break;
    const auto behind = std::ranges::upper_bound(segments_, at, {}, &Segment::begin);
    size_t part = 0;
    if (behind != segments_.begin() && at < std::prev(behind)->end) {
      const Segment& segment = *std::prev(behind);
      const uint64_t within = at - segment.begin;
      if (within < segment.stored) {
        part = std::min<uint64_t>(size - done, segment.stored - within);
        std::memcpy(static_cast<char*>(out) + done, bytes_->view.data() + segment.offset + within, part);
      }
    }
    if (part == 0) part = read_mapped(at, static_cast<char*>(out) + done, size - done);
    if (part == 0) break;
    done += part;
  }
  return done;
}

// Code and constants are not in a core: they are what the file has.
size_t CoreFile::read_mapped(uint64_t address, void* out, size_t size) const {
  const auto behind = std::ranges::upper_bound(mappings_, address, {}, &CoreMapping::begin);
  if (behind == mappings_.begin() || address >= std::prev(behind)->end) return 0;
  const CoreMapping& mapping = *std::prev(behind);
  const int descriptor = ::open(mapping.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return 0;
  struct stat status{};
  ssize_t got = 0;
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
    got = ::pread(descriptor, out, std::min<uint64_t>(size, mapping.end - address),
                  static_cast<off_t>(mapping.offset + (address - mapping.begin)));
  ::close(descriptor);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

std::optional<uint64_t> CoreFile::word(uint64_t address) const {
  uint64_t value = 0;
  return read(address, &value, sizeof value) == sizeof value ? std::optional(value) : std::nullopt;
}

std::string CoreFile::text(uint64_t address, size_t limit) const {
  std::string bytes(limit, '\0');
  bytes.resize(read(address, bytes.data(), bytes.size()));
  return bytes.substr(0, bytes.find('\0'));
}

bool CoreFile::readable(uint64_t address) const {
  char byte;
  return read(address, &byte, 1) == 1;
}

}  // namespace heddle
