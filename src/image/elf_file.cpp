#include "image/elf_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/files.h"

namespace heddle {

struct ElfFile::Handle {
  int fd = -1;
  Elf* elf = nullptr;
  ~Handle() {
    if (elf != nullptr) elf_end(elf);
    if (fd >= 0) ::close(fd);
  }

  std::string section_name(const GElf_Shdr& header) const {
    size_t strings = 0;
    if (elf_getshdrstrndx(elf, &strings) != 0) return "";
    const char* name = elf_strptr(elf, strings, header.sh_name);
    return name != nullptr ? name : "";
  }

  // Calls visit(section, header) until it returns true.
  template <class Visit>
  bool any_section(Visit visit) const {
    Elf_Scn* section = nullptr;
    while ((section = elf_nextscn(elf, section)) != nullptr) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) != nullptr && visit(section, header)) return true;
    }
    return false;
  }
};

namespace {

Error not_elf(const std::string& name, std::string why) {
  return Error{.what = "not an ELF file that heddle can read",
               .where = name,
               .why = std::move(why),
               .next = "give the executable (not a script or a libtool wrapper around it)"};
}

bool is_executable(Elf* elf, const GElf_Ehdr& header) {
  if (header.e_type == ET_EXEC) return true;
  size_t count = 0;
  elf_getphdrnum(elf, &count);
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) != nullptr && segment.p_type == PT_INTERP) return true;
  }
  return false;
}

// Static position-independent executables have no interpreter; DF_1_PIE in the dynamic section tells them
// apart.
bool has_pie_flag(Elf_Scn* section, const GElf_Shdr& header) {
  if (header.sh_type != SHT_DYNAMIC) return false;
  Elf_Data* data = elf_getdata(section, nullptr);
  GElf_Dyn entry;
  for (int i = 0; data != nullptr && gelf_getdyn(data, i, &entry) != nullptr; ++i)
    if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE) != 0) return true;
  return false;
}

}  // namespace

ElfFile::ElfFile(std::unique_ptr<Handle> handle, Kind kind, std::string name)
    : handle_(std::move(handle)), kind_(kind), name_(std::move(name)) {}
ElfFile::ElfFile(ElfFile&&) noexcept = default;
ElfFile& ElfFile::operator=(ElfFile&&) noexcept = default;
ElfFile::~ElfFile() = default;

namespace {

Result<ElfFile::Kind> kind_of(Elf* elf, const std::string& name) {
  if (elf == nullptr || elf_kind(elf) != ELF_K_ELF) return not_elf(name, "it does not begin like an ELF file");
  GElf_Ehdr header;
  if (gelf_getehdr(elf, &header) == nullptr) return not_elf(name, elf_errmsg(-1));
  if (gelf_getclass(elf) != ELFCLASS64 || header.e_machine != EM_X86_64)
    return not_elf(name, "heddle works on 64-bit x86 programs");
  if (header.e_type == ET_CORE)
    return Error{.what = "this is a core file, not a program",
                 .where = name,
                 .next = "the core comes first, the program that left it behind: heddle core CORE -- APP ARGS"};
  if (header.e_type == ET_REL) return ElfFile::Kind::relocatable;
  if (is_executable(elf, header)) return ElfFile::Kind::executable;
  return ElfFile::Kind::shared;
}

}  // namespace

Result<ElfFile> ElfFile::open(const std::filesystem::path& path) {
  elf_version(EV_CURRENT);
  auto handle = std::make_unique<Handle>();
  handle->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle->fd < 0) return system_error("cannot open", path);
  handle->elf = elf_begin(handle->fd, ELF_C_READ_MMAP, nullptr);
  Kind kind = HEDDLE_TRY(kind_of(handle->elf, path));
  if (kind == Kind::shared && handle->any_section(has_pie_flag)) kind = Kind::executable;
  return ElfFile(std::move(handle), kind, path);
}

Result<ElfFile> ElfFile::from_memory(std::string_view bytes, std::string name) {
  elf_version(EV_CURRENT);
  auto handle = std::make_unique<Handle>();
  handle->elf = elf_memory(const_cast<char*>(bytes.data()), bytes.size());
  Kind kind = HEDDLE_TRY(kind_of(handle->elf, name));
  return ElfFile(std::move(handle), kind, std::move(name));
}

std::optional<std::string_view> ElfFile::section(std::string_view name) const {
  std::optional<std::string_view> found;
  handle_->any_section([&](Elf_Scn* section, const GElf_Shdr& header) {
    if (handle_->section_name(header) != name) return false;
    Elf_Data* data = elf_rawdata(section, nullptr);
    if (data != nullptr) found = std::string_view(static_cast<const char*>(data->d_buf), data->d_size);
    return true;
  });
  return found;
}

std::string ElfFile::build_id() const {
  std::string id;
  handle_->any_section([&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != SHT_NOTE) return false;
    Elf_Data* data = elf_getdata(section, nullptr);
    GElf_Nhdr note;
    size_t name = 0, desc = 0;
    for (size_t at = 0; data != nullptr && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0;) {
      const char* bytes = static_cast<const char*>(data->d_buf);
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || std::memcmp(bytes + name, "GNU", 4) != 0)
        continue;
      for (size_t i = 0; i < note.n_descsz; ++i)
        id += fmt::format("{:02x}", static_cast<uint8_t>(bytes[desc + i]));
      return true;
    }
    return false;
  });
  return id;
}

bool ElfFile::has_symbol_table() const {
  return handle_->any_section([](Elf_Scn*, const GElf_Shdr& header) { return header.sh_type == SHT_SYMTAB; });
}

std::vector<ElfSymbol> ElfFile::symbols(bool (*wanted)(unsigned type)) const {
  const Elf64_Word table = has_symbol_table() ? SHT_SYMTAB : SHT_DYNSYM;
  std::vector<ElfSymbol> out;
  handle_->any_section([&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != table) return false;
    Elf_Data* data = elf_getdata(section, nullptr);
    GElf_Sym symbol;
    std::string file;
    for (int i = 0; data != nullptr && gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      const char* name = elf_strptr(handle_->elf, header.sh_link, symbol.st_name);
      if (name == nullptr || name[0] == '\0') continue;
      if (GELF_ST_TYPE(symbol.st_info) == STT_FILE) file = name;
      if (!wanted(GELF_ST_TYPE(symbol.st_info)) || symbol.st_shndx == SHN_UNDEF) continue;
      const bool local = GELF_ST_BIND(symbol.st_info) == STB_LOCAL;
      out.push_back({name, symbol.st_value, symbol.st_size, local ? file : ""});
    }
    return true;
  });
  return out;
}

std::vector<ElfSymbol> ElfFile::functions() const {
  return symbols([](unsigned type) { return type == STT_FUNC || type == STT_GNU_IFUNC; });
}

std::vector<ElfSymbol> ElfFile::variables() const {
  return symbols([](unsigned type) { return type == STT_OBJECT || type == STT_COMMON; });
}

std::vector<ElfSymbol> ElfFile::thread_local_variables() const {
  return symbols([](unsigned type) { return type == STT_TLS; });
}

uint64_t ElfFile::thread_local_size() const {
  size_t count = 0;
  elf_getphdrnum(handle_->elf, &count);
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(handle_->elf, static_cast<int>(i), &segment) == nullptr || segment.p_type != PT_TLS)
      continue;
    const uint64_t align = std::max<uint64_t>(segment.p_align, 1);
    return (segment.p_memsz + align - 1) / align * align;
  }
  return 0;
}

std::vector<ElfFile::CodeSection> ElfFile::code_sections() const {
  std::vector<CodeSection> out;
  handle_->any_section([&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != SHT_PROGBITS || (header.sh_flags & SHF_EXECINSTR) == 0) return false;
    if (const Elf_Data* data = elf_rawdata(section, nullptr); data != nullptr && data->d_buf != nullptr)
      out.push_back({header.sh_offset, {static_cast<const char*>(data->d_buf), data->d_size}});
    return false;
  });
  return out;
}

std::optional<uint64_t> ElfFile::code_address(uint64_t file_offset) const {
  constexpr uint64_t kPage = 4096;
  size_t count = 0;
  elf_getphdrnum(handle_->elf, &count);
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(handle_->elf, static_cast<int>(i), &segment) == nullptr) continue;
    const uint64_t page = segment.p_offset / kPage * kPage;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && file_offset >= page &&
        file_offset < segment.p_offset + segment.p_filesz)
      return segment.p_vaddr / kPage * kPage + (file_offset - page);
  }
  return std::nullopt;
}

std::vector<std::string> ElfFile::needed_libraries() const {
  std::vector<std::string> out;
  handle_->any_section([&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != SHT_DYNAMIC) return false;
    Elf_Data* data = elf_getdata(section, nullptr);
    GElf_Dyn entry;
    for (int i = 0; data != nullptr && gelf_getdyn(data, i, &entry) != nullptr; ++i) {
      if (entry.d_tag != DT_NEEDED) continue;
      const char* name = elf_strptr(handle_->elf, header.sh_link, entry.d_un.d_val);
      if (name != nullptr) out.emplace_back(name);
    }
    return true;
  });
  return out;
}

std::optional<std::vector<ArchiveMember>> archive_members(std::string_view bytes) {
  elf_version(EV_CURRENT);
  std::unique_ptr<Elf, decltype(&elf_end)> archive(elf_memory(const_cast<char*>(bytes.data()), bytes.size()),
                                                   elf_end);
  if (archive == nullptr || elf_kind(archive.get()) != ELF_K_AR) return std::nullopt;
  std::vector<ArchiveMember> members;
  Elf_Cmd next = ELF_C_READ;
  while (next != ELF_C_NULL) {
    std::unique_ptr<Elf, decltype(&elf_end)> member(elf_begin(-1, next, archive.get()), elf_end);
    if (member == nullptr) break;
    const Elf_Arhdr* header = elf_getarhdr(member.get());
    size_t size = 0;
    const char* data = elf_rawfile(member.get(), &size);
    if (header == nullptr || data == nullptr) return std::nullopt;
    // "/" is the symbol index, "//" the table of long names: not members of their own.
    if (std::strcmp(header->ar_name, "/") != 0 && std::strcmp(header->ar_name, "//") != 0)
      members.push_back({header->ar_name, std::string_view(data, size)});
    next = elf_next(member.get());
  }
  return members;
}

std::string section_object(const std::vector<SectionContent>& sections) {
  // Laid out by hand: ELF header, contents, section names, section headers.
  std::string names("\0", 1), contents;
  std::vector<Elf64_Shdr> headers(1);
  auto add = [&](std::string_view name, uint32_t type, std::string_view bytes, uint64_t flags = 0) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<Elf64_Word>(names.size());
    header.sh_type = type;
    header.sh_flags = flags;
    header.sh_offset = sizeof(Elf64_Ehdr) + contents.size();
    header.sh_size = bytes.size();
    header.sh_addralign = 1;
    names.append(name).push_back('\0');
    contents.append(bytes);
    headers.push_back(header);
  };
  // GNU ld drops files of which nothing is used (--gc-sections), unless told so.
  for (const SectionContent& section : sections) add(section.name, SHT_PROGBITS, section.bytes, SHF_GNU_RETAIN);
  add(".note.GNU-stack", SHT_PROGBITS, "");
  names += std::string_view(".shstrtab\0", 10);
  const std::string table = std::exchange(names, names.substr(0, names.size() - 10));
  add(".shstrtab", SHT_STRTAB, table);
  contents.resize((contents.size() + 7) / 8 * 8);

  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_ident[EI_DATA] = ELFDATA2LSB;
  elf.e_ident[EI_VERSION] = EV_CURRENT;
  elf.e_ident[EI_OSABI] = ELFOSABI_GNU;  // else SHF_GNU_RETAIN means nothing
  elf.e_type = ET_REL;
  elf.e_machine = EM_X86_64;
  elf.e_version = EV_CURRENT;
  elf.e_ehsize = sizeof elf;
  elf.e_shoff = sizeof elf + contents.size();
  elf.e_shentsize = sizeof(Elf64_Shdr);
  elf.e_shnum = static_cast<Elf64_Half>(headers.size());
  elf.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);

  std::string out(reinterpret_cast<const char*>(&elf), sizeof elf);
  out += contents;
  out.append(reinterpret_cast<const char*>(headers.data()), headers.size() * sizeof(Elf64_Shdr));
  return out;
}

}  // namespace heddle
