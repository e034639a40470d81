#include "pt/branch_instruction.h"

#include <cstddef>

namespace heddle {
namespace {

bool is_prefix(uint8_t byte) {
  switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
      return true;
    default:
      return byte >= 0x40 && byte <= 0x4f;  // REX
  }
}

}  // namespace

BranchInstruction classify_instruction(std::span<const uint8_t> bytes) {
  size_t at = 0;
  while (at < bytes.size() && is_prefix(bytes[at])) ++at;
  const auto byte = [&](size_t i) -> uint8_t { return i < bytes.size() ? bytes[i] : 0; };
  const uint8_t opcode = byte(at), next = byte(at + 1);
  const auto sized = [&](BranchKind kind, size_t size) {
    return BranchInstruction{.kind = kind, .size = static_cast<uint8_t>(size)};
  };
  if ((opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3))
    return sized(BranchKind::conditional, at + 2);
  switch (opcode) {
    case 0x0f:
      // PTWRITE of a register: F3 0F AE /4.
      if (next == 0xae && bytes[0] == 0xf3 && (byte(at + 2) & 0xf8) == 0xe0) {
        const uint8_t rex = at >= 2 && (bytes[at - 1] & 0xf0) == 0x40 ? bytes[at - 1] : 0;
        BranchInstruction out = sized(BranchKind::none, at + 3);
        out.ptwrite = static_cast<int8_t>((byte(at + 2) & 7) | ((rex & 1) << 3));
        out.wide = (rex & 8) != 0;
        return out;
      }
      if (next >= 0x80 && next <= 0x8f) return sized(BranchKind::conditional, at + 6);
      if (next == 0x05 || next == 0x34 || next == 0x0b || next == 0x07 || next == 0x35)
        return {.kind = BranchKind::far};
      return {};
    case 0xe8: {
      BranchInstruction out = sized(BranchKind::direct, at + 5);
      out.call = true;
      return out;
    }
    case 0xe9:
      return sized(BranchKind::direct, at + 5);
    case 0xeb:
      return sized(BranchKind::direct, at + 2);
    case 0xc2:
      return sized(BranchKind::ret, at + 3);
    case 0xc3:
      return sized(BranchKind::ret, at + 1);
    case 0xca:
    case 0xcb:
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
    case 0xf1:
      return {.kind = BranchKind::far};
    case 0xff: {
      const unsigned extension = next >> 3 & 7;
      if (extension == 2 || extension == 4) {
        BranchInstruction out{.kind = BranchKind::indirect, .call = extension == 2};
        if ((next & 0xc7) == 0x05) out.size = static_cast<uint8_t>(at + 6);  // relative to the next instruction
        return out;
      }
      if (extension == 3 || extension == 5) return {.kind = BranchKind::far};
      return {};
    }
    default:
      return {};
  }
}

}  // namespace heddle
