// Variants on disk: <cache>/variants/<key>/program, one folder each.
//
// Invariants: a folder with a key's name is complete (it is built under another name and renamed); one builder
// per key at a time (a file lock that the kernel releases when its holder dies); what was used in the last day
// is never removed.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "build/variant.h"

namespace heddle {

inline constexpr const char* kVariantExecutable = "program";

using VariantKey = std::string;

// Names the program's model, the variant, its runtime and this heddle: what changes any of them changes the
// key.
Result<VariantKey> variant_key(const std::filesystem::path& program, std::string_view variant,
                               const std::filesystem::path& runtime);

class VariantCache {
 public:
  static Result<VariantCache> open();

  // `build` fills the folder it is given; it is called only when the variant is not there.
  Result<Variant> obtain(const VariantKey& key,
                         const std::function<Result<void>(const std::filesystem::path&)>& build);

  const std::filesystem::path& folder() const { return folder_; }
  // Removes the least recently used variants until at most `bytes` remain.
  void shrink(uint64_t bytes) const;

 private:
  explicit VariantCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
};

}  // namespace heddle
