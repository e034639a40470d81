#include "build/variant.h"

#include <fmt/core.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "abi/hooks.h"
#include "base/files.h"
#include "base/sha256.h"
#include "build/code_generation.h"
#include "build/link_variant.h"
#include "build/unit_code.h"
#include "build/variant_cache.h"
#include "instrument/control.h"
#include "instrument/count_entries.h"
#include "instrument/flow.h"
#include "instrument/follow.h"
#include "instrument/leap.h"
#include "instrument/record.h"
#include "program/effects.h"
#include "program/library_models.h"

namespace heddle {
namespace {

BuildNotice& build_notice() {
  static BuildNotice notice;
  return notice;
}

// Calls the notice from a thread of its own for as long as it lives.
class LongBuild {
 public:
  LongBuild(const fs::path& program, const VariantRecipe& recipe)
      : thread_([this, &program, &recipe] {
          constexpr std::chrono::seconds kFirst(10);  // then after twice the time, ...
          std::unique_lock lock(mutex_);
          for (std::chrono::seconds at = kFirst; !done_.wait_until(lock, begin_ + at, [&] { return ended_; });
               at *= 2)
            if (build_notice()) build_notice()(program, recipe, at);
        }) {}
  ~LongBuild() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    done_.notify_one();
    thread_.join();
  }
  LongBuild(const LongBuild&) = delete;
  LongBuild& operator=(const LongBuild&) = delete;

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable done_;
  bool ended_ = false;
  std::thread thread_;
};

// Empty: it has none.
fs::path runtime_archive(const VariantRecipe& recipe) {
  if (recipe.runtime.empty()) return {};
  return executable_path().parent_path().parent_path() / "lib/heddle" / fmt::format("lib{}.a", recipe.runtime);
}

// What library functions do decides where hooks stand, and the user can say it (effects.h); models of them
// become part of the program (library_models.h).
Result<std::string> library_key() {
  Sha256 hash;
  for (const fs::path& file : HEDDLE_TRY(EffectsTable::files())) hash.update(HEDDLE_TRY(read_file(file)));
  for (const fs::path& file : HEDDLE_TRY(library_model_files())) hash.update(HEDDLE_TRY(read_file(file)));
  return hash.hex().substr(0, 12);
}

Result<void> build(Program& program, const VariantRecipe& recipe, const fs::path& folder) {
  const std::optional<LinkPlan>& plan = program.link_plan();
  if (!plan)
    return Error{.what = "the program does not say how it was linked",
                 .where = program.binary(),
                 .why = "it was linked by another tool than heddle cc (its objects were compiled with it)",
                 .next = "link it with heddle cc or heddle c++ too: LD, LINK or CXX in its build"};
  if (plan->shared)
    return Error{.what = "this is a shared library; variants are made of executables",
                 .where = program.binary(),
                 .next = "give the program that uses it, linked with the library's objects"};
  const fs::path scratch = folder / "scratch";
  HEDDLE_TRY(make_folders(scratch));
  VariantLink link{.program = program.binary(),
                   .interposes = recipe.interposes,
                   .scratch = scratch,
                   .output = folder / kVariantExecutable};
  if (recipe.instrument == nullptr) {
    link.objects = HEDDLE_TRY(compile_units_with_ptwrite(program, scratch));
  } else {
    const CodeGenOptions options = code_generation_options(program.units());
    const std::unique_ptr<llvm::Module> module = program.take_module();
    module->setSourceFileName(HEDDLE_VARIANT_SOURCE);
    HEDDLE_TRY(recipe.instrument(program, *module));
    link.objects = {scratch / "variant.o"};
    link.runtime = {runtime_archive(recipe)};
    HEDDLE_TRY(generate_object(*module, options, link.objects[0]));
  }
  HEDDLE_TRY(link_variant(*plan, link));
  std::error_code ignored;
  fs::remove_all(scratch, ignored);
  return {};
}

template <RecordOptions options>
Result<void> record_with(const Program& program, llvm::Module& module) {
  return instrument_record(program, module, options);
}

template <RecordOptions options>
VariantRecipe record_recipe(std::string_view name, std::string_view purpose) {
  return {name, "heddle-record", purpose, record_with<options>, true};
}

}  // namespace

const std::vector<VariantRecipe>& variant_recipes() {
  using enum RecordPolicy;
  static const std::vector<VariantRecipe> recipes = {
      {"count", "heddle-count", "counts the functions that each thread enters", instrument_count},
      {"control", "heddle-control", "runs under heddle's control: run, hunt and replay use it",
       instrument_control, true},
      {"follow", "heddle-control", "control that also tells where threads go: core uses it", instrument_follow,
       true},
      record_recipe<{}>("record", "logs what each thread does by itself: record uses it"),
      record_recipe<{.policy = paths}>("record-paths", "the same with --policy paths"),
      record_recipe<{.policy = clap}>("record-clap", "the same with --policy clap"),
      record_recipe<{.policy = branches}>(
          "record-branches", "record with bits for branches that can be computed, for measurements"),
      record_recipe<{.chaos = true}>("record-chaos", "record with --chaos"),
      record_recipe<{.policy = paths, .chaos = true}>("record-paths-chaos", "the same with --policy paths"),
      record_recipe<{.policy = clap, .chaos = true}>("record-clap-chaos", "the same with --policy clap"),
      record_recipe<{.buffers = true}>("record-buffers", "record with --memory-model tso or pso"),
      record_recipe<{.blocks = true}>("record-blocks", "record that also logs every block, for tests"),
      record_recipe<{.policy = paths, .blocks = true}>("record-blocks-paths", "the same with --policy paths"),
      record_recipe<{.policy = clap, .blocks = true}>("record-blocks-clap", "the same with --policy clap"),
      record_recipe<{.buffers = true, .blocks = true}>("record-blocks-buffers",
                                                       "the same with simulated store buffers"),
      {"record-order", "heddle-order", "record that also logs every access in its real order, for tests",
       record_with<RecordOptions{.buffers = true}>, true},
      {"record-order-paths", "heddle-order", "the same with --policy paths",
       record_with<RecordOptions{.policy = paths, .buffers = true}>, true},
      {"flow", "heddle-flow", "numbers events and orders them: record --mode flow uses it, and replays it",
       instrument_flow, true},
      {"leap", "heddle-leap", "orders accesses by a lock for each location: a baseline for measurements",
       instrument_leap},
      {std::string_view(kPtwriteVariant), "",
       "the program with values in its Intel PT trace: record --mode pt --ptwrite uses it", nullptr},
  };
  return recipes;
}

Result<const VariantRecipe*> find_variant(std::string_view name) {
  std::string names;
  for (const VariantRecipe& recipe : variant_recipes()) {
    if (recipe.name == name) return &recipe;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", recipe.name);
  }
  return Error{.what = fmt::format("there is no variant '{}'", name),
               .next = "choose one of: " + names,
               .exit = ExitCode::usage};
}

Result<Variant> obtain_variant(const fs::path& program_path, const VariantRecipe& recipe) {
  // The key is read from the file before the (slower) program is loaded: a hit costs one hash.
  VariantKey key = HEDDLE_TRY(variant_key(program_path, recipe.name, runtime_archive(recipe)));
  key += "-" + HEDDLE_TRY(library_key());
  VariantCache cache = HEDDLE_TRY(VariantCache::open());
  return cache.obtain(key, [&](const fs::path& folder) -> Result<void> {
    const LongBuild long_build(program_path, recipe);
    const std::unique_ptr<Program> program = HEDDLE_TRY(Program::load(program_path));
    return build(*program, recipe, folder);
  });
}

void tell_long_builds(BuildNotice notice) {
  build_notice() = std::move(notice);
}

}  // namespace heddle
