// Compares the map from code to instructions (build/code_map.h) with an independent one: in a program compiled
// with -g, the executable's own line table and the debug location of the instruction in the model must name the
// same line.
//
//   code_map_oracle PROGRAM...
//
// Prints how much of the code the map covers; ends with 1 when a function was left out or a line differs.
#include <fmt/core.h>
#include <llvm/IR/DebugInfoMetadata.h>

#include "build/code_map.h"
#include "image/code_symbols.h"

namespace heddle {
namespace {

Result<bool> compare(const char* file) {
  const std::unique_ptr<Program> program = HEDDLE_TRY(Program::load(file));
  const CodeMap map = HEDDLE_TRY(CodeMap::make(*program));
  const CodeSymbols symbols = HEDDLE_TRY(CodeSymbols::open(file));
  uint64_t bytes = 0, mapped = 0, compared = 0, different = 0;
  for (const MachineFunction& function : map.functions()) {
    for (uint64_t at = function.range.begin; at < function.range.end; ++at, ++bytes) {
      const std::optional<InstructionId> id = map.instruction_at(at);
      if (!id) continue;
      ++mapped;
      const llvm::Instruction& instruction = program->instruction(*id);
      HEDDLE_CHECK(program->id_of(*instruction.getFunction()) == function.function);
      const llvm::DebugLoc& location = instruction.getDebugLoc();
      const std::vector<CodeFrame> frames = symbols.frames_at(at);
      // Code before the body carries the line of the function; line 0 says nothing.
      if (!location || location.getLine() == 0 || frames.empty() || frames[0].line == 0) continue;
      ++compared;
      if (frames[0].line == location.getLine()) continue;
      if (++different <= 5)
        fmt::print("{}: {:#x} in {}: the line table says {}, the instruction {}\n", file, at,
                   frames[0].function, frames[0].line, location.getLine());
    }
  }
  fmt::print("{}: {} functions, {} left out, {} of {} bytes mapped, {} compared, {} different\n", file,
             map.functions().size(), map.differing().size(), mapped, bytes, compared, different);
  for (const std::string& name : map.differing()) fmt::print("  left out: {}\n", name);
  // The line table repeats a line behind calls and the like, where code generation makes instructions of its
  // own.
  return map.differing().empty() && !map.functions().empty() && different * 20 <= compared && compared > 0;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  bool good = argc > 1;
  for (int i = 1; i < argc; ++i) {
    const heddle::Result<bool> result = heddle::compare(argv[i]);
    if (!result) fmt::print("{}\n", result.error().text());
    good = good && result && *result;
  }
  return good ? 0 : 1;
}
