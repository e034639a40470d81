#include "pt/own_code.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/user.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "image/elf_file.h"

namespace heddle {
namespace {

constexpr uint8_t kBreakpoint = 0xcc;
constexpr uint64_t kLongest = 15;

bool condition_holds(unsigned code, uint64_t flags) {
  const bool carry = (flags & 1) != 0, parity = (flags & 4) != 0, zero = (flags & 0x40) != 0,
             sign = (flags & 0x80) != 0, overflow = (flags & 0x800) != 0;
  bool holds = false;
  switch (code >> 1) {
    case 0:
      holds = overflow;
      break;
    case 1:
      holds = carry;
      break;
    case 2:
      holds = zero;
      break;
    case 3:
      holds = carry || zero;
      break;
    case 4:
      holds = sign;
      break;
    case 5:
      holds = parity;
      break;
    case 6:
      holds = sign != overflow;
      break;
    default:
      holds = zero || sign != overflow;
  }
  return holds != ((code & 1) != 0);
}

}  // namespace

OwnCode::OwnCode(pid_t pid, const std::optional<PerfMapping>& mapping) {
  if (!mapping) return;
  const Result<ElfFile> file = ElfFile::open(mapping->file);
  memory_ = ::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDWR | O_CLOEXEC);
  if (!file || memory_ < 0) return;
  for (const ElfFile::CodeSection& section : file->code_sections()) {
    if (section.file_offset < mapping->file_offset || section.bytes.empty() ||
        section.file_offset + section.bytes.size() > mapping->file_offset + mapping->size)
      continue;
    Part part{.begin = mapping->begin + (section.file_offset - mapping->file_offset)};
    part.bytes.assign(section.bytes.begin(), section.bytes.end());
    part.breakpoints.assign(part.bytes.size(), kBreakpoint);
    parts_.push_back(std::move(part));
  }
  guard();
}

OwnCode::~OwnCode() {
  if (memory_ >= 0) ::close(memory_);
}

const OwnCode::Part* OwnCode::part_of(uint64_t address) const {
  for (const Part& part : parts_)
    if (address >= part.begin && address < part.end()) return &part;
  return nullptr;
}

void OwnCode::write(const Part& part, uint64_t begin, uint64_t end, const std::vector<uint8_t>& bytes) const {
  const uint64_t at = begin - part.begin;
  HEDDLE_CHECK(::pwrite(memory_, bytes.data() + at, end - begin, static_cast<off_t>(begin)) ==
               static_cast<ssize_t>(end - begin));
}

void OwnCode::cover() {
  if (open_ || begin_ == end_) return;
  write(*part_of(begin_), begin_, end_, part_of(begin_)->breakpoints);
  begin_ = end_ = 0;
}

void OwnCode::uncover(uint64_t begin, uint64_t end) {
  if (open_ || (begin == begin_ && end == end_)) return;
  const Part& part = *part_of(begin);
  end = std::min(end, part.end());
  cover();
  write(part, begin, end, part.bytes);
  begin_ = begin;
  end_ = end;
}

void OwnCode::lay_open() {
  if (open_) return;
  for (const Part& part : parts_) write(part, part.begin, part.end(), part.bytes);
  begin_ = end_ = 0;
  open_ = true;
}

void OwnCode::guard() {
  for (const Part& part : parts_) write(part, part.begin, part.end(), part.breakpoints);
  begin_ = end_ = 0;
  open_ = false;
}

OwnCode::Instruction& OwnCode::find(uint64_t address) {
  const auto [found, added] = instructions_.try_emplace(address);
  if (added) {
    const Part& part = *part_of(address);
    const size_t at = address - part.begin;
    found->second.branch =
        classify_instruction({part.bytes.data() + at, std::min<size_t>(kLongest, part.bytes.size() - at)});
  }
  return found->second;
}

const BranchInstruction& OwnCode::instruction(uint64_t address) {
  return find(address).branch;
}

// One that repeats stays where it is, until it does not.
void OwnCode::learn(uint64_t address, uint64_t next) {
  if (part_of(address) == nullptr || next <= address || next - address > kLongest) return;
  Instruction& instruction = find(address);
  if (instruction.branch.kind == BranchKind::none) instruction.size = static_cast<uint8_t>(next - address);
}

const std::vector<uint64_t>& OwnCode::straight(uint64_t address, uint64_t most, uint64_t& end) {
  straight_.clear();
  end = address;
  const Part* part = part_of(address);
  while (part != nullptr && straight_.size() < most && end < part->end()) {
    const uint8_t size = find(end).size;
    if (size == 0) break;
    straight_.push_back(end);
    end += size;
  }
  return straight_;
}

std::optional<uint64_t> OwnCode::branch(SteppedProcess& process, pid_t tid, uint64_t address) {
  const BranchInstruction kind = find(address).branch;
  const Part& part = *part_of(address);
  if (kind.size == 0 || address + kind.size > part.end()) return std::nullopt;
  const uint8_t* bytes = part.bytes.data() + (address - part.begin);
  const uint64_t behind = address + kind.size;
  const auto relative = [&](size_t width) {
    int32_t far = 0;
    std::memcpy(&far, bytes + kind.size - width, width);
    return static_cast<uint64_t>(width == 1 ? static_cast<int8_t>(far) : far);
  };
  user_regs_struct regs = process.registers(tid);
  uint64_t to = behind;
  switch (kind.kind) {
    case BranchKind::conditional: {
      const bool is_long = kind.size >= 6;
      const uint8_t opcode = bytes[kind.size - (is_long ? 5 : 2)];
      if (!is_long && opcode >= 0xe0) return std::nullopt;  // loops
      if (condition_holds(opcode & 0xf, regs.eflags)) to = behind + relative(is_long ? 4 : 1);
      break;
    }
    case BranchKind::direct:
      to = behind + relative(kind.size >= 5 ? 4 : 1);
      break;
    case BranchKind::indirect:
      if (process.read(behind + relative(4), &to, sizeof to) != sizeof to) return std::nullopt;
      break;
    case BranchKind::ret: {
      if (process.read(regs.rsp, &to, sizeof to) != sizeof to) return std::nullopt;
      uint16_t more = 0;
      if (kind.size >= 3 && bytes[kind.size - 3] == 0xc2)
        std::memcpy(&more, bytes + kind.size - 2, sizeof more);
      regs.rsp += 8 + more;
      break;
    }
    default:
      return std::nullopt;
  }
  if (to >> 47 != 0) return std::nullopt;  // faults
  if (kind.call) {
    regs.rsp -= 8;
    if (process.write(regs.rsp, &behind, sizeof behind) != sizeof behind) return std::nullopt;
  }
  regs.rip = to;
  process.set_registers(tid, regs);
  return to;
}

}  // namespace heddle
