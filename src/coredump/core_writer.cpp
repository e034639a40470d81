#include "coredump/core_writer.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/procfs.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "base/files.h"

namespace heddle {
namespace {

constexpr uint64_t kPage = 4096;
constexpr size_t kPiece = 1 << 20;

struct Mapping {
  uint64_t begin = 0, end = 0, offset = 0;
  uint32_t flags = 0;
  uint64_t stored = 0;  // bytes of it that go into the core
  std::string file;     // empty: anonymous
};

template <class T>
std::string raw(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string note(uint32_t type, std::string content) {
  const Elf64_Nhdr head{.n_namesz = 5, .n_descsz = static_cast<Elf64_Word>(content.size()), .n_type = type};
  content.resize((content.size() + 3) & ~size_t{3});
  return raw(head) + std::string("CORE\0\0\0\0", 8) + content;
}

// What the kernel's default filter keeps: all that may have been written, and the heads of ELF files.
uint64_t stored_bytes(const Mapping& mapping, bool shared) {
  const uint64_t size = mapping.end - mapping.begin;
  if ((mapping.flags & PF_R) == 0 || mapping.file == "[vvar]" || mapping.file == "[vvar_vclock]" ||
      mapping.file == "[vsyscall]")
    return 0;
  const bool of_file = mapping.file.starts_with('/');
  if (!of_file || shared || (mapping.flags & PF_W) != 0) return size;
  return mapping.offset == 0 ? std::min(size, kPage) : 0;
}

// The mappings, with what the process said of them (madvise: MADV_DONTDUMP), as sanitizers do of their
// terabytes.
std::vector<Mapping> mappings_of(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/smaps", pid));
  std::vector<Mapping> out;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("VmFlags:")) {
      if (!out.empty() && (line.find(" dd") != std::string::npos || line.find(" io") != std::string::npos))
        out.back().stored = 0;
      continue;
    }
    unsigned long begin = 0, end = 0, offset = 0;
    char protection[8] = {};
    int name = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %lx %*s %*s %n", &begin, &end, protection, &offset, &name) < 4)
      continue;
    Mapping mapping{.begin = begin, .end = end, .offset = offset};
    mapping.flags = (protection[0] == 'r' ? PF_R : 0u) | (protection[1] == 'w' ? PF_W : 0u) |
                    (protection[2] == 'x' ? PF_X : 0u);
    if (name > 0 && static_cast<size_t>(name) < line.size())
      mapping.file = line.substr(static_cast<size_t>(name));
    mapping.stored = stored_bytes(mapping, protection[3] == 's');
    out.push_back(std::move(mapping));
  }
  return out;
}

std::string thread_notes(const CoreSource& source, pid_t thread) {
  prstatus_t status{};
  status.pr_pid = thread;
  status.pr_ppid = ::getpid();
  const bool failed = thread == source.threads.front();
  if (failed) status.pr_cursig = static_cast<short>(source.signal);
  status.pr_info.si_signo = failed ? source.signal : 0;
  user_regs_struct registers{};
  if (::ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) return "";
  static_assert(sizeof registers == sizeof status.pr_reg);
  std::memcpy(&status.pr_reg, &registers, sizeof registers);
  status.pr_fpvalid = 1;
  std::string out = note(NT_PRSTATUS, raw(status));
  user_fpregs_struct floating{};
  if (::ptrace(PTRACE_GETFPREGS, thread, nullptr, &floating) == 0) out += note(NT_FPREGSET, raw(floating));
  return out;
}

std::string process_note(const CoreSource& source) {
  prpsinfo_t info{};
  info.pr_pid = source.pid;
  info.pr_ppid = ::getpid();
  info.pr_sname = 'R';
  if (const Result<std::string> name = read_file(fmt::format("/proc/{}/comm", source.pid)))
    std::memcpy(info.pr_fname, name->data(), std::min(name->find('\n'), sizeof info.pr_fname - 1));
  if (Result<std::string> words = read_file(fmt::format("/proc/{}/cmdline", source.pid))) {
    if (!words->empty()) words->pop_back();
    std::ranges::replace(*words, '\0', ' ');
    std::memcpy(info.pr_psargs, words->data(), std::min(words->size(), sizeof info.pr_psargs - 1));
  }
  return note(NT_PRPSINFO, raw(info));
}

std::string files_note(const std::vector<Mapping>& mappings) {
  std::string places, names;
  uint64_t count = 0;
  for (const Mapping& mapping : mappings) {
    if (!mapping.file.starts_with('/')) continue;
    ++count;
    places += raw(mapping.begin) + raw(mapping.end) + raw(mapping.offset / kPage);
    names += mapping.file + '\0';
  }
  return note(NT_FILE, raw(count) + raw(kPage) + places + names);
}

std::string notes_of(const CoreSource& source, const std::vector<Mapping>& mappings) {
  // The failing thread's registers first: readers take the first for the one that failed.
  std::string out = thread_notes(source, source.threads.front()) + process_note(source);
  if (source.reason) out += note(NT_SIGINFO, raw(*source.reason));
  if (const Result<std::string> vector = read_file(fmt::format("/proc/{}/auxv", source.pid)))
    out += note(NT_AUXV, *vector);
  out += files_note(mappings);
  for (size_t i = 1; i < source.threads.size(); ++i) out += thread_notes(source, source.threads[i]);
  return out;
}

class Writer {
 public:
  static Result<Writer> create(const std::filesystem::path& file) {
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0) return system_error("cannot write the core file", file);
    return Writer(descriptor, file);
  }
  Writer(Writer&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), file_(std::move(other.file_)) {}
  Writer& operator=(Writer&&) = delete;
  ~Writer() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  Result<void> write(uint64_t at, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (written <= 0) return system_error("cannot write the core file", file_);
      at += static_cast<uint64_t>(written);
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return {};
  }

  Result<void> finish(uint64_t size) {
    if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0)
      return system_error("cannot write the core file", file_);
    return {};
  }

 private:
  Writer(int descriptor, std::filesystem::path file) : descriptor_(descriptor), file_(std::move(file)) {}
  int descriptor_;
  std::filesystem::path file_;
};

// Pages that cannot be read (behind the end of a mapped file) are zeros in the core.
Result<void> write_memory(Writer& writer, pid_t pid, const Mapping& mapping, uint64_t offset) {
  static const std::string kZeros(kPage, '\0');
  std::string piece;
  for (uint64_t at = 0; at < mapping.stored; at += piece.size()) {
    piece.resize(std::min<uint64_t>(kPiece, mapping.stored - at));
    const iovec here{piece.data(), piece.size()},
        there{reinterpret_cast<void*>(mapping.begin + at), piece.size()};
    const ssize_t got = ::process_vm_readv(pid, &here, 1, &there, 1, 0);
    piece.resize(got > 0 ? static_cast<size_t>(got) : std::min<uint64_t>(kPage, piece.size()));
    if (got <= 0) continue;
    for (size_t from = 0; from < piece.size();) {
      const auto is_zero = [&](size_t page) {
        const std::string_view bytes = std::string_view(piece).substr(page, kPage);
        return bytes == std::string_view(kZeros).substr(0, bytes.size());
      };
      if (is_zero(from)) {
        from += kPage;
        continue;
      }
      size_t to = from;
      while (to < piece.size() && !is_zero(to)) to += kPage;
      to = std::min(to, piece.size());
      HEDDLE_TRY(writer.write(offset + at + from, std::string_view(piece).substr(from, to - from)));
      from = to;
    }
  }
  return {};
}

}  // namespace

Result<uint64_t> write_core(const CoreSource& source, const std::filesystem::path& file) {
  HEDDLE_CHECK(!source.threads.empty());
  std::vector<Mapping> mappings = mappings_of(source.pid);
  std::erase_if(mappings, [](const Mapping& mapping) { return mapping.file == "[vsyscall]"; });
  if (mappings.size() >= PN_XNUM - 1) mappings.resize(PN_XNUM - 2);
  const std::string notes = notes_of(source, mappings);
  Writer writer = HEDDLE_TRY(Writer::create(file));

  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_type = ET_CORE;
  head.e_machine = EM_X86_64;
  head.e_version = EV_CURRENT;
  head.e_phoff = sizeof head;
  head.e_ehsize = sizeof head;
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_phnum = static_cast<Elf64_Half>(mappings.size() + 1);

  uint64_t offset = sizeof head + head.e_phnum * sizeof(Elf64_Phdr);
  const Elf64_Phdr noted{.p_type = PT_NOTE, .p_offset = offset, .p_filesz = notes.size(), .p_align = 4};
  std::string table = raw(noted);
  offset = (offset + notes.size() + kPage - 1) & ~(kPage - 1);
  uint64_t at = offset;
  for (const Mapping& mapping : mappings) {
    table += raw(Elf64_Phdr{.p_type = PT_LOAD,
                            .p_flags = mapping.flags,
                            .p_offset = at,
                            .p_vaddr = mapping.begin,
                            .p_filesz = mapping.stored,
                            .p_memsz = mapping.end - mapping.begin,
                            .p_align = kPage});
    at += mapping.stored;
  }
  HEDDLE_TRY(writer.write(0, raw(head) + table + notes));
  for (const Mapping& mapping : mappings) {
    HEDDLE_TRY(write_memory(writer, source.pid, mapping, offset));
    offset += mapping.stored;
  }
  HEDDLE_TRY(writer.finish(offset));
  return offset;
}

}  // namespace heddle
