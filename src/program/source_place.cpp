#include "program/source_place.h"

#include <fmt/core.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Function.h>

#include <filesystem>

#include "base/library_file.h"

namespace heddle {
namespace {

SourcePlace place_of(const llvm::DILocation& location, const llvm::Function& function) {
  SourcePlace place{.file = {}, .line = location.getLine(), .column = location.getColumn(), .function = {}};
  place.file = source_file(*location.getScope());
  const llvm::DISubprogram* scope = location.getScope()->getSubprogram();
  if (scope != nullptr) place.begin = scope->getLine();
  if (scope != nullptr && !scope->getLinkageName().empty())
    place.function = llvm::demangle(scope->getLinkageName().str());
  else if (scope != nullptr && !scope->getName().empty())
    place.function = scope->getName().str();
  else
    place.function = readable_name(function);
  return place;
}

bool has_line(const llvm::Instruction& instruction) {
  return instruction.getDebugLoc() && instruction.getDebugLoc().getLine() != 0;
}

// Optimisers leave what they moved or merged without a line. A reader is helped more by the line of what stands
// beside it: the next instruction of the block, which mostly uses its value, or else the one before.
const llvm::DILocation* location_of(const llvm::Instruction& instruction) {
  for (const llvm::Instruction* at = &instruction; at != nullptr; at = at->getNextNode())
    if (has_line(*at)) return at->getDebugLoc().get();
  for (const llvm::Instruction* at = &instruction; at != nullptr; at = at->getPrevNode())
    if (has_line(*at)) return at->getDebugLoc().get();
  return instruction.getDebugLoc().get();
}

}  // namespace

std::string source_file(const llvm::DIScope& scope) {
  const std::filesystem::path file(scope.getFilename().str());
  const std::filesystem::path folder(scope.getDirectory().str());
  return (file.is_absolute() ? file : folder / file).lexically_normal();
}

std::string SourcePlace::text() const {
  if (known()) return fmt::format("{}:{}", file, line);
  return function.empty() ? "?" : function;
}

std::vector<SourcePlace> source_places(const llvm::Instruction& instruction) {
  std::vector<SourcePlace> places;
  const llvm::Function& function = *instruction.getFunction();
  for (const llvm::DILocation* at = location_of(instruction); at != nullptr; at = at->getInlinedAt())
    places.push_back(place_of(*at, function));
  if (places.empty())
    places.push_back({.file = {}, .line = 0, .column = 0, .function = readable_name(function)});
  return places;
}

SourcePlace source_place(const llvm::Instruction& instruction) {
  return source_places(instruction).front();
}

SourcePlace user_place(const llvm::Instruction& instruction) {
  const std::vector<SourcePlace> places = source_places(instruction);
  for (const SourcePlace& place : places)
    if (place.known() && !is_library_file(place.file)) return place;
  return places.front();
}

// What stands behind "operator", if it has brackets that are no brackets: the longest that fits.
static std::string_view bracket_operator(std::string_view rest) {
  for (const std::string_view one : {"()", "->*", "->", "<=>", "<<=", "<<", "<=", "<", ">>=", ">>", ">=", ">"})
    if (rest.starts_with(one)) return rest.substr(0, one.size());
  return {};
}

std::string short_name(std::string_view name) {
  constexpr size_t kLong = 60;
  if (name.size() <= kLong) return std::string(name);
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (depth == 0 && name.substr(i).starts_with("operator")) {
      const size_t length = 8 + bracket_operator(name.substr(i + 8)).size();
      out += name.substr(i, length);
      i += length - 1;
      continue;
    }
    const bool opens = c == '<' || c == '(' || c == '[', closes = c == '>' || c == ')' || c == ']';
    if (opens && depth++ == 0) out += c;
    if (closes && --depth == 0) out += c;
    if (!opens && !closes && depth == 0) out += c;
  }
  return out;
}

std::string readable_name(const llvm::Function& function) {
  return llvm::demangle(function.getName().str());
}

}  // namespace heddle
