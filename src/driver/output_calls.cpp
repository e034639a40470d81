#include "driver/output_calls.h"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace heddle {
namespace {

// C: by the whole name, with or without "_unlocked" and "__..._chk".
constexpr std::array<std::string_view, 22> kFunctions = {
    "printf", "vprintf", "fprintf",  "vfprintf", "puts",     "putchar",  "putc",    "fputc",
    "fputs",  "fwrite",  "fflush",   "perror",   "fputwc",   "fputws",   "wprintf", "fwprintf",
    "putwc",  "dprintf", "vdprintf", "_IO_putc", "vwprintf", "vfwprintf"};
// C++: members of std::ostream, functions that take one.
constexpr std::array<std::string_view, 6> kPrefixes = {"_ZNSolsE",    "_ZNSo3put",       "_ZNSo5write",
                                                       "_ZNSo5flush", "_ZNSo9_M_insert", "_ZStls"};
constexpr std::array<std::string_view, 3> kTemplates = {"_ZSt16__ostream_insert", "_ZSt4endl", "_ZSt5flush"};

bool puts_out(std::string_view name) {
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (std::ranges::any_of(kPrefixes, begins) || std::ranges::any_of(kTemplates, begins)) return true;
  if (name.ends_with("_unlocked")) name.remove_suffix(std::string_view("_unlocked").size());
  if (name.starts_with("__") && name.ends_with("_chk")) {
    name.remove_prefix(2);
    name.remove_suffix(std::string_view("_chk").size());
  }
  return std::ranges::find(kFunctions, name) != kFunctions.end();
}

}  // namespace

std::unordered_set<uint32_t> output_calls(const Program& program) {
  std::unordered_set<uint32_t> out;
  for (uint32_t i = 0; i < program.instruction_count(); ++i) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&program.instruction(InstructionId(i)));
    if (call == nullptr || call->getCalledFunction() == nullptr) continue;
    const llvm::StringRef name = call->getCalledFunction()->getName();
    if (call->getCalledFunction()->isDeclaration() && puts_out({name.data(), name.size()})) out.insert(i);
  }
  return out;
}

std::unordered_set<uint32_t> library_code(const Program& program) {
  std::unordered_set<uint32_t> out;
  for (uint32_t i = 0; i < program.instruction_count(); ++i) {
    const llvm::DebugLoc& at = program.instruction(InstructionId(i)).getDebugLoc();
    if (at && at->getFilename().contains("/include/") && at->getFilename().contains("/c++/")) out.insert(i);
  }
  return out;
}

std::unordered_set<uint32_t> single_threaded_reads(const Program& program) {
  std::unordered_set<uint32_t> out;
  for (uint32_t i = 0; i < program.instruction_count(); ++i) {
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(&program.instruction(InstructionId(i)));
    if (load != nullptr && load->getPointerOperand()->getName() == "__libc_single_threaded") out.insert(i);
  }
  return out;
}

}  // namespace heddle
