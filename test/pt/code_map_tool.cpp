// code_map_tool APP: how much of a binary could be mapped to its program.
#include <cstdio>
#include <cstring>

#include "build/code_map_builder.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto program = heddle::Program::load(argv[1]);
  if (!program) return std::fprintf(stderr, "%s\n", program.error().text().c_str()), 3;
  const auto map = heddle::build_code_map(argv[1], **program);
  if (!map) return std::fprintf(stderr, "%s\n", map.error().text().c_str()), 3;
  size_t blocks = 0, unknown = 0;
  for (const heddle::MappedFunction& each : map->functions) {
    for (const auto& block : each.blocks) {
      ++blocks;
      unknown += block.block == heddle::MappedFunction::kNone ? 1 : 0;
    }
    if (argc > 2) {
      std::printf("%s %lx-%lx\n", each.function->getName().str().c_str(), each.begin, each.end);
      for (const auto& block : each.blocks)
        std::printf("  block %lx: %d\n", block.address, static_cast<int>(block.block));
      for (const auto& row : each.rows)
        std::printf("  row %lx: %d\n", row.address, static_cast<int>(row.instruction));
    }
  }
  std::printf("%zu functions mapped, %zu different, %zu machine blocks, %zu of no block\n",
              map->functions.size(), map->different.size(), blocks, unknown);
  for (const std::string& name : map->different) std::printf("different: %s\n", name.c_str());
  return 0;
}
