// Cores for tests: made here, byte by byte, so that every field is known.
#pragma once

#include <elf.h>
#include <sys/procfs.h>

#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

struct CoreFixture {
  struct Part {
    uint64_t address;
    std::string bytes;
    uint64_t memory = 0;  // larger than the bytes: the rest is not in the file
  };
  struct File {
    uint64_t begin, end, page;
    std::string name;
  };
  std::vector<std::pair<pid_t, uint64_t>> threads = {{100, 0x401000}};  // number, program counter
  int signal = SIGSEGV;
  uint64_t fault = 0x10;
  uint64_t entry = 0x401000;
  std::vector<File> files;
  std::vector<Part> memory;

  template <class T>
  static std::string raw(const T& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static std::string note(uint32_t type, std::string content) {
    const Elf64_Nhdr head{.n_namesz = 5, .n_descsz = static_cast<Elf64_Word>(content.size()), .n_type = type};
    content.resize((content.size() + 3) & ~size_t{3});
    return raw(head) + std::string("CORE\0\0\0\0", 8) + content;
  }
  std::string notes() const {
    std::string out;
    for (const auto& [tid, pc] : threads) {
      prstatus_t status{};
      status.pr_pid = tid;
      status.pr_cursig = static_cast<short>(signal);
      user_regs_struct registers{};
      registers.rip = pc;
      std::memcpy(&status.pr_reg, &registers, sizeof registers);
      out += note(NT_PRSTATUS, raw(status));
    }
    siginfo_t info{};
    info.si_signo = signal;
    info.si_addr = reinterpret_cast<void*>(fault);
    out += note(NT_SIGINFO, raw(info));
    Elf64_auxv_t vector[2] = {};
    vector[0].a_type = AT_ENTRY;
    vector[0].a_un.a_val = entry;
    out += note(NT_AUXV, raw(vector));
    std::string mapped = raw(uint64_t{files.size()}) + raw(uint64_t{4096}), names;
    for (const File& file : files) {
      mapped += raw(file.begin) + raw(file.end) + raw(file.page);
      names += file.name + '\0';
    }
    return out + note(NT_FILE, mapped + names);
  }
  std::string bytes() const {
    const std::string all = notes();
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_type = ET_CORE;
    head.e_machine = EM_X86_64;
    head.e_phoff = sizeof head;
    head.e_phnum = static_cast<Elf64_Half>(memory.size() + 1);
    uint64_t at = sizeof head + head.e_phnum * sizeof(Elf64_Phdr);
    std::string heads, content = all;
    Elf64_Phdr segment{};
    segment.p_type = PT_NOTE;
    segment.p_offset = at;
    segment.p_filesz = all.size();
    heads += raw(segment);
    at += all.size();
    for (const Part& part : memory) {
      segment = {};
      segment.p_type = PT_LOAD;
      segment.p_vaddr = part.address;
      segment.p_offset = at;
      segment.p_filesz = part.bytes.size();
      segment.p_memsz = std::max<uint64_t>(part.memory, part.bytes.size());
      heads += raw(segment);
      content += part.bytes;
      at += part.bytes.size();
    }
    return raw(head) + heads + content;
  }
};

}  // namespace heddle
