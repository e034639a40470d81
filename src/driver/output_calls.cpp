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

// std::lock and what it is made of.
constexpr std::array<std::string_view, 3> kLocks = {"_ZSt4lockI", "_ZNSt6__detail11__lock_impl",
                                                    "_ZNSt6__detail15__try_lock_impl"};
// Of ios_base: width(), precision(), flags(), setf(), unsetf(), and what they change flags by; of basic_ios:
// fill(), widen(); of ctype, which remembers characters that were widened.
constexpr std::array<std::string_view, 13> kFormats = {"_ZNSt8ios_base5width",
                                                       "_ZNKSt8ios_base5width",
                                                       "_ZNSt8ios_base9precision",
                                                       "_ZNKSt8ios_base9precision",
                                                       "_ZNSt8ios_base5flags",
                                                       "_ZNKSt8ios_base5flags",
                                                       "_ZNSt8ios_base4setf",
                                                       "_ZNSt8ios_base6unsetf",
                                                       "_ZStoRRSt13_Ios_Fmtflags",
                                                       "_ZStaNRSt13_Ios_Fmtflags",
                                                       "_ZNSt9basic_iosIcSt11char_traitsIcEE4fill",
                                                       "_ZNKSt9basic_iosIcSt11char_traitsIcEE4fill",
                                                       "_ZNKSt5ctypeIcE5widen"};

// Of std::string: capacity(), moving by assignment and by constructors.
constexpr std::array<std::string_view, 4> kStringMoves = {
    "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE8capacityEv",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEaSEO",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1EO",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2EO"};

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

LibraryCode library_code(const Program& program) {
  LibraryCode out;
  bool has_lock = false;
  for (uint32_t i = 0; i < program.instruction_count(); ++i) {
    const llvm::DebugLoc& at = program.instruction(InstructionId(i)).getDebugLoc();
    if (!at || !at->getFilename().contains("/include/") || !at->getFilename().contains("/c++/")) continue;
    out.all.insert(i);
    const llvm::StringRef name = at->getScope()->getSubprogram()->getLinkageName();
    const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
    has_lock |= std::ranges::any_of(kLocks, begins);
    if (std::ranges::any_of(kFormats, begins)) out.formats.insert(i);
    if (std::ranges::any_of(kStringMoves, begins)) out.string_moves.insert(i);
  }
  if (has_lock) out.tries_locks_again = out.all;
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
