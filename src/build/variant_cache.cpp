#include "build/variant_cache.h"

#include <fmt/core.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <vector>

#include "abi/model_section.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/version.h"
#include "image/elf_file.h"

namespace heddle {
namespace {

constexpr uint64_t kMaxBytes = 8ull << 30;
constexpr auto kSurelyUnused = std::chrono::hours(24);

using Clock = fs::file_time_type::clock;

void touch(const fs::path& path) {
  std::error_code ignored;
  fs::last_write_time(path, Clock::now(), ignored);
}

// Iterators are stepped by hand: the ++ of a range-for throws when another process removes what is being
// listed.
template <class Iterator, class Visit>
void for_each_entry(const fs::path& folder, Visit visit) {
  std::error_code code;
  for (Iterator it(folder, code); !code && it != Iterator(); it.increment(code)) visit(*it);
}

std::string host_features() {
  std::set<llvm::StringRef> present;  // in a fixed order
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  for (const auto& feature : features)
    if (feature.second) present.insert(feature.first());
  return llvm::join(present, ",");
}

uint64_t size_of(const fs::path& folder) {
  uint64_t total = 0;
  for_each_entry<fs::recursive_directory_iterator>(folder, [&](const fs::directory_entry& entry) {
    std::error_code code;
    const uint64_t size = entry.file_size(code);
    if (!code) total += size;
  });
  return total;
}

}  // namespace

Result<VariantKey> variant_key(const fs::path& program, std::string_view variant, const fs::path& runtime) {
  const ElfFile elf = HEDDLE_TRY(ElfFile::open(program));
  Sha256 hash;
  for (const char* section : {HEDDLE_SECTION_MODULE, HEDDLE_SECTION_LINK})
    hash.update(elf.section(section).value_or(""));
  if (!runtime.empty()) hash.update(HEDDLE_TRY(read_file(runtime)));
  // A heddle that was rebuilt may instrument in another way under the same version.
  if (Result<ElfFile> self = ElfFile::open("/proc/self/exe")) hash.update(self->build_id());
  // Code is made for this processor; a folder of variants may be shared with another machine.
  hash.update(host_features());
  std::error_code code;
  // The variant's run paths were made for the program's folder ($ORIGIN).
  hash.update(HEDDLE_VERSION).update(fs::weakly_canonical(program, code).parent_path().string());
  return fmt::format("{}-{}-{}", program.filename().string(), variant, hash.hex().substr(0, 24));
}

Result<VariantCache> VariantCache::open() {
  const fs::path folder = HEDDLE_TRY(cache_folder()) / "variants";
  HEDDLE_TRY(make_folders(folder));
  return VariantCache(folder);
}

Result<Variant> VariantCache::obtain(const VariantKey& key,
                                     const std::function<Result<void>(const fs::path&)>& build) {
  const fs::path place = folder_ / key;
  std::error_code code;
  if (fs::exists(place / kVariantExecutable, code)) {
    touch(place);
    return Variant{place / kVariantExecutable, true};
  }
  const FileLock lock = HEDDLE_TRY(FileLock::acquire(folder_ / (key + ".lock")));
  // Somebody else may have built it while we waited.
  if (fs::exists(place / kVariantExecutable, code)) return Variant{place / kVariantExecutable, true};
  shrink(kMaxBytes);
  TempFolder temp = HEDDLE_TRY(TempFolder::create(folder_));
  HEDDLE_TRY(build(temp.path()));
  fs::rename(temp.path(), place, code);
  if (code && !fs::exists(place / kVariantExecutable))
    return Error{.what = "cannot keep the variant: " + code.message(), .where = place};
  if (!code) temp.release();
  return Variant{place / kVariantExecutable, false};
}

void VariantCache::shrink(uint64_t bytes) const {
  struct Entry {
    fs::path path;
    fs::file_time_type used;
    uint64_t size;
  };
  std::vector<Entry> entries;
  std::error_code ignored;
  uint64_t total = 0;
  // Folders of killed builds are entries like the others.
  for_each_entry<fs::directory_iterator>(folder_, [&](const fs::directory_entry& entry) {
    if (!entry.is_directory(ignored)) return;
    entries.push_back({entry.path(), entry.last_write_time(ignored), size_of(entry.path())});
    total += entries.back().size;
  });
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= bytes || Clock::now() - entry.used < kSurelyUnused) break;
    fs::remove_all(entry.path, ignored);
    total -= entry.size;
  }
}

}  // namespace heddle
