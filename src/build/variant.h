// Variants (decision D2): instrumented executables made from the canonical program when a verb needs one, and
// kept.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "program/program.h"

namespace heddle {

// What makes a variant: a pass over the module and the runtime its hooks are in. All of them stand in
// variant.cpp.
struct VariantRecipe {
  std::string_view name;
  std::string_view runtime;  // lib/heddle/lib<runtime>.a; empty: none
  std::string_view purpose;
  // Null: the units get PTWRITE instructions one by one (unit_code.h).
  Result<void> (*instrument)(const Program&, llvm::Module&);
  // The runtime takes the place of library functions, also for the libraries that the program uses, and has
  // main.
  bool interposes = false;
};
const std::vector<VariantRecipe>& variant_recipes();
Result<const VariantRecipe*> find_variant(std::string_view name);

inline constexpr std::string_view kPtwriteVariant = "ptwrite";

struct Variant {
  std::filesystem::path executable;
  bool from_cache = false;
};

// The variant of an executable, from the cache or built now. Two processes that want the same one at the same
// time build it once; a build that fails leaves nothing behind.
Result<Variant> obtain_variant(const std::filesystem::path& program, const VariantRecipe& recipe);

// A large program takes minutes: called now and then while one is being built, with the time so far.
using BuildNotice =
    std::function<void(const std::filesystem::path& program, const VariantRecipe&, std::chrono::seconds)>;
void tell_long_builds(BuildNotice notice);

}  // namespace heddle
