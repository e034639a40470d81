#include "coredump/core_stacks.h"

#include <elfutils/libdwfl.h>

#include <map>
#include <memory>

#include "image/elf_file.h"

namespace heddle {
namespace {

using RegisterFile = std::array<Dwarf_Word, 17>;

RegisterFile dwarf_registers(const user_regs_struct& r) {
  return {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
          r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
}

const Dwfl_Callbacks* file_callbacks() {
  // Separate debug information is not needed to unwind, and looking for it takes time.
  static const Dwfl_Callbacks table = {
      .find_elf = dwfl_build_id_find_elf,
      .find_debuginfo = [](Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
                           char**) -> int { return -1; },
      .section_address = nullptr,
      .debuginfo_path = nullptr};
  return &table;
}

class Unwinder {
 public:
  Unwinder(const CoreFile& core, const std::filesystem::path& executable, const std::filesystem::path& symbols,
           size_t depth)
      : core_(core), depth_(depth), dwfl_(dwfl_begin(file_callbacks()), dwfl_end) {
    if (!symbols.empty() && symbols != executable)
      if (const Result<ElfFile> file = ElfFile::open(symbols))
        for (ElfSymbol& symbol : file->functions()) names_[symbol.address] = std::move(symbol);
    if (dwfl_ == nullptr) return;
    std::error_code ignored;
    for (const CoreModule& module : core.modules()) {
      const bool own = &module == core.executable();
      const std::string file = own ? executable.string() : module.file;
      if (!std::filesystem::is_regular_file(file, ignored)) continue;
      dwfl_report_elf(dwfl_.get(), file.c_str(), file.c_str(), -1, module.base, true);
    }
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
    static const Dwfl_Thread_Callbacks table = {.next_thread = next_thread,
                                                .get_thread = nullptr,
                                                .memory_read = read_memory,
                                                .set_initial_registers = set_registers,
                                                .detach = nullptr,
                                                .thread_detach = nullptr};
    attached_ = dwfl_attach_state(dwfl_.get(), nullptr, core.pid() != 0 ? core.pid() : core.threads()[0].tid,
                                  &table, this);
  }

  CoreStack stack_of(size_t thread) {
    frames_.clear();
    const CoreThread& entry = core_.threads()[thread];
    wanted_ = thread;
    registers_ = dwarf_registers(entry.registers);
    unwind();
    if (frames_.empty()) {  // at least the place itself is known
      CoreFrame frame = frame_at(entry.registers.rip, true);
      for (size_t i = 0; i < registers_.size(); ++i) frame.registers[i] = registers_[i];
      frames_.push_back(std::move(frame));
    }
    if (frames_.size() == 1) go_on_from_nowhere();
    return {entry.tid, std::move(frames_)};
  }

 private:
  void unwind() {
    if (attached_) dwfl_getthreads(dwfl_.get(), take_thread, this);
  }

  // A call through a pointer that is null or damaged leads to where no code is, and no unwind table. All it did
  // was to push the address where to return.
  void go_on_from_nowhere() {
    constexpr size_t kStackPointer = 7, kPlace = 16;
    const std::optional<uint64_t> back = core_.word(registers_[kStackPointer]);
    if (core_.module_at(registers_[kPlace]) != nullptr || !back || core_.module_at(*back) == nullptr) return;
    registers_[kPlace] = *back;
    registers_[kStackPointer] += 8;
    unwind();
    if (frames_.size() > 1) frames_[1].exact = false;
  }

  // libdwfl asks for threads one after the other: it gets the one that is wanted and no other.
  static pid_t next_thread(Dwfl*, void* self, void** argument) {
    auto& unwinder = *static_cast<Unwinder*>(self);
    if (*argument != nullptr) return 0;
    *argument = self;
    return unwinder.core_.threads()[unwinder.wanted_].tid;
  }

  static bool read_memory(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* self) {
    const std::optional<uint64_t> word = static_cast<Unwinder*>(self)->core_.word(address);
    if (word) *result = *word;
    return word.has_value();
  }

  static bool set_registers(Dwfl_Thread* thread, void* self) {
    const auto& unwinder = *static_cast<Unwinder*>(self);
    const RegisterFile& all = unwinder.registers_;
    if (!dwfl_thread_state_registers(thread, 0, all.size(), all.data())) return false;
    dwfl_thread_state_register_pc(thread, all[16]);
    return true;
  }

  static int take_thread(Dwfl_Thread* thread, void* self) {
    dwfl_thread_getframes(thread, take_frame, self);
    return DWARF_CB_ABORT;
  }

  static int take_frame(Dwfl_Frame* state, void* self) {
    auto& unwinder = *static_cast<Unwinder*>(self);
    Dwarf_Addr pc = 0;
    bool exact = false;
    if (!dwfl_frame_pc(state, &pc, &exact) || pc == 0) return DWARF_CB_ABORT;
    CoreFrame frame = unwinder.frame_at(pc, exact);
    for (unsigned i = 0; i < frame.registers.size(); ++i) {
      Dwarf_Word value = 0;
      if (dwfl_frame_reg(state, i, &value) == 0) frame.registers[i] = value;
    }
    unwinder.frames_.push_back(std::move(frame));
    return unwinder.frames_.size() < unwinder.depth_ ? DWARF_CB_OK : DWARF_CB_ABORT;
  }

  CoreFrame frame_at(uint64_t pc, bool exact) const {
    CoreFrame frame{.pc = pc, .exact = exact, .module = {}, .symbol = {}, .registers = {}};
    const uint64_t inside = exact ? pc : pc - 1;  // a return address may be the first one behind its function
    const CoreModule* mapped = core_.module_at(inside);
    if (mapped != nullptr) {
      frame.module = mapped->file;
      frame.module_base = mapped->base;
      frame.in_program = mapped == core_.executable();
    }
    if (frame.in_program && !names_.empty()) {
      const auto behind = names_.upper_bound(inside - frame.module_base);
      if (behind != names_.begin() &&
          inside - frame.module_base < std::prev(behind)->first + std::prev(behind)->second.size) {
        frame.symbol = std::prev(behind)->second.name;
        return frame;
      }
    }
    Dwfl_Module* module = dwfl_ != nullptr ? dwfl_addrmodule(dwfl_.get(), inside) : nullptr;
    if (module == nullptr) return frame;
    if (const char* name = dwfl_module_addrname(module, inside); name != nullptr) frame.symbol = name;
    return frame;
  }

  const CoreFile& core_;
  const size_t depth_;
  const std::unique_ptr<Dwfl, decltype(&dwfl_end)> dwfl_;
  std::map<uint64_t, ElfSymbol> names_;  // of the executable, from its debug file
  bool attached_ = false;
  size_t wanted_ = 0;
  RegisterFile registers_{};  // to begin with
  std::vector<CoreFrame> frames_;
};

}  // namespace

std::vector<CoreStack> core_stacks(const CoreFile& core, const std::filesystem::path& executable,
                                   const std::filesystem::path& symbols, size_t depth) {
  Unwinder unwinder(core, executable, symbols, depth);
  std::vector<CoreStack> stacks;
  for (size_t i = 0; i < core.threads().size(); ++i) stacks.push_back(unwinder.stack_of(i));
  return stacks;
}

}  // namespace heddle
