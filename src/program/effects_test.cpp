#include "program/effects.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/Demangle/Demangle.h>

#include <cstdlib>
#include <optional>
#include <random>

#include "base/files.h"

namespace heddle {
namespace {

fs::path shipped_table_path() {
  return fs::path(HEDDLE_SOURCE_DIR) / "share" / "effects.table";
}

const EffectsTable& shipped_table() {
  static const EffectsTable table = [] {
    EffectsTable loaded;
    const Result<std::string> text = read_file(shipped_table_path());
    EXPECT_TRUE(text) << text.error().text();
    const Result<void> added = loaded.add(*text, "effects.table");
    EXPECT_TRUE(added) << added.error().text();
    return loaded;
  }();
  return table;
}

std::string shipped(std::string_view name) {
  const Effects* found = shipped_table().find(name);
  return found != nullptr ? found->describe() : "unknown";
}

TEST(EffectsTable, LaterEntriesReplaceEarlierOnes) {
  EffectsTable table;
  ASSERT_TRUE(table.add("f g : pure\nf : input\ng* : pure", "first"));
  ASSERT_TRUE(table.add("g : none\ng* : errno", "second"));
  EXPECT_EQ(table.find("f")->describe(), "brings data from outside");
  EXPECT_EQ(table.find("g")->describe(), "no effect");
  EXPECT_EQ(table.find("gg")->describe(), "may set errno");
  EXPECT_EQ(table.size(), 3u);
}

TEST(EffectsTable, AnErrorChangesNothing) {
  EffectsTable table;
  ASSERT_TRUE(table.add("f : pure", "first"));
  EXPECT_FALSE(table.add("f : input\ng : none\nh : bogus", "second"));
  EXPECT_EQ(table.size(), 1u);
  EXPECT_TRUE(table.find("f")->pure);
}

TEST(EffectsTable, ExactNameThenLongestFamily) {
  EffectsTable table;
  ASSERT_TRUE(table.add("_ZNSo* : errno\n_ZNSo3* : blocks\n_ZNSo3putEc : pure\n_ZN* : input", "test"));
  EXPECT_EQ(table.find("_ZNSo3putEc")->name, "_ZNSo3putEc");
  EXPECT_EQ(table.find("_ZNSo3putEcc")->name, "_ZNSo3*");
  EXPECT_EQ(table.find("_ZNSo5flushEv")->name, "_ZNSo*");
  EXPECT_EQ(table.find("_ZNSo")->name, "_ZNSo*");
  EXPECT_EQ(table.find("_ZNSi")->name, "_ZN*");
  EXPECT_EQ(table.find("_Z"), nullptr);
  EXPECT_EQ(table.find(""), nullptr);
}

TEST(EffectsTable, FoundEffectsSurviveAMove) {
  EffectsTable table;
  ASSERT_TRUE(table.add("f : pure", "test"));
  const Effects* before = table.find("f");
  const EffectsTable moved = std::move(table);
  EXPECT_EQ(moved.find("f"), before);
}

// Puts an environment variable back as it was.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(EffectsTable, LoadReadsUserTablesInOrder) {
  Result<TempFolder> folder = TempFolder::create();
  ASSERT_TRUE(folder);
  const fs::path root = folder->path();
  ASSERT_TRUE(make_folders(root / "config" / "heddle"));
  ASSERT_TRUE(write_file(root / "config" / "heddle" / "effects.table", "a b c d : none\nmalloc : pure\n"));
  ASSERT_TRUE(write_file(root / "one", "b c d : errno\n"));
  ASSERT_TRUE(write_file(root / "two", "c d : blocks\n"));
  ASSERT_TRUE(write_file(root / "extra", "d : input\n"));
  const Environment share("HEDDLE_SHARE", fs::path(shipped_table_path()).parent_path());
  const Environment config("XDG_CONFIG_HOME", root / "config");
  const Environment listed("HEDDLE_EFFECTS",
                           fmt::format("{}::{}", (root / "one").string(), (root / "two").string()));

  const Result<EffectsTable> table = EffectsTable::load({root / "extra"});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->find("a")->describe(), "no effect");
  EXPECT_EQ(table->find("b")->describe(), "may set errno");
  EXPECT_EQ(table->find("c")->describe(), "may block");
  EXPECT_EQ(table->find("d")->describe(), "brings data from outside");
  EXPECT_TRUE(table->find("malloc")->pure);
  EXPECT_EQ(table->find("calloc")->allocation, AllocationKind::allocate);

  const Result<EffectsTable> missing = EffectsTable::load({root / "nowhere"});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find("nowhere"), std::string::npos);
}

TEST(ShippedTable, SpotChecks) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"pthread_create",
       "thread_create(arg0, arg2, arg3), writes arg0 (8 bytes), reads arg1 (object), keeps arg3"},
      {"pthread_mutex_lock", "mutex_lock(arg0)"},
      {"pthread_cond_clockwait", "cond_timedwait(arg0, arg1), reads arg3 (16 bytes)"},
      {"pthread_once", "once(arg0, arg1), calls arg1"},
      {"pthread_setspecific", "key_set(), keeps arg1"},
      {"pthread_exit", "thread_exit(), keeps arg0, does not return"},
      {"thrd_create", "thread_create(arg0, arg1, arg2), writes arg0 (8 bytes), keeps arg2"},
      {"sem_wait", "sem_wait(arg0), may set errno"},
      {"__cxa_guard_acquire", "guard_acquire(arg0)"},
      {"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", "cond_wait_cxx(arg0, arg1)"},
      {"_ZNSt6thread4joinEv", "thread_join_cxx(arg0), updates arg0 (8 bytes)"},
      {"syscall:202", "futex(arg1), may set errno"},
      {"malloc", "allocates (arg0 bytes), may set errno"},
      {"calloc", "allocates (arg0*arg1 bytes), may set errno"},
      {"reallocarray", "reallocates arg0 (arg1*arg2 bytes), may set errno"},
      {"free", "frees arg0"},
      {"_Znwm", "allocates (arg0 bytes)"},
      {"_ZdlPvmSt11align_val_t", "frees arg0"},
      {"memcpy", "reads arg1 (arg2 bytes), writes arg0 (arg2 bytes), returns arg0, pure"},
      {"strlen", "reads arg0 (string), pure"},
      {"strchr", "reads arg0 (string), returns arg0, pure"},
      {"getenv", "reads arg0 (string), returns library memory, brings data from outside"},
      {"putenv", "reads arg0 (string), keeps arg0, may set errno, brings data from outside"},
      {"strtol",
       "reads arg0 (string), writes arg1 (8 bytes), stores a pointer into arg0 in arg1, may set errno, pure"},
      {"qsort", "updates arg0 (arg1*arg2 bytes), calls arg3, brings data from outside"},
      {"read", "writes arg1 (ret bytes), may set errno, may block, brings data from outside"},
      {"writev", "reads arg1 (iovec of arg2), may set errno, may block, brings data from outside"},
      {"accept",
       "writes arg1 (*arg2 bytes), updates arg2 (4 bytes), may set errno, may block, brings data from outside"},
      {"epoll_ctl", "reads arg3 (12 bytes), keeps arg3, may set errno, brings data from outside"},
      {"setvbuf", "updates arg0 (object), keeps arg1, may set errno, brings data from outside"},
      {"snprintf",
       "writes arg0 (string up to arg1 bytes), reads arg2 (string), reads varargs (by the format arg2), may "
       "set errno, "
       "pure"},
      {"__isoc99_sscanf",
       "reads arg0 (string), reads arg1 (string), writes varargs (by the format arg1), may set errno, brings "
       "data from outside"},
      {"fgets",
       "writes arg0 (arg1 bytes), updates arg2 (object), returns arg0, may set errno, may block, brings data "
       "from "
       "outside"},
      {"localtime", "reads arg0 (8 bytes), returns library memory, may set errno, brings data from outside"},
      {"__errno_location", "returns library memory, brings data from outside"},
      {"__assert_fail", "reads arg0 (string), reads arg1 (string), reads arg3 (string), does not return"},
      {"sinf", "may set errno, pure"},
      {"floor", "pure"},
      {"modff", "writes arg1 (4 bytes), pure"},
      {"_ZNSolsEi", "updates arg0 (object), returns arg0, may set errno, may block, brings data from outside"},
      {"_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base",
       "reads arg0 (all reachable from it), stores a pointer into arg0 in arg0, returns arg0, pure"},
      {"_ZNSt6chrono3_V212steady_clock3nowEv", "brings data from outside"},
      {"_ZSt20__throw_length_errorPKc", "reads arg0 (string), does not return"},
      {"BZ2_bzBuffToBuffCompress",
       "writes arg0 (*arg1 bytes), updates arg1 (4 bytes), reads arg2 (arg3 bytes), pure"},
  };
  for (const auto& [name, description] : cases) EXPECT_EQ(shipped(name), description) << name;
}

// Entries that no call could match would be dead weight; misspelt mangled names are the likely cause.
TEST(ShippedTable, MangledNamesDemangle) {
  size_t checked = 0;
  for (const std::string_view name : shipped_table().names()) {
    if (!name.starts_with("_Z") || name.ends_with('*')) continue;
    const std::string text(name);
    EXPECT_NE(llvm::demangle(text), text);
    ++checked;
  }
  EXPECT_GT(checked, 500u);
}

// An entry that says nothing of where the result comes from would make an offline run guess it. Functions
// without a result need neither, so this counts only how far the rule goes for the functions whose results are
// used most.
TEST(ShippedTable, ResultsAreExplained) {
  for (const char* name :
       {"open", "close", "write", "printf", "rand", "time", "fopen", "strcmp", "isatty", "fork"}) {
    const Effects* found = shipped_table().find(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_TRUE(found->pure || found->input) << name;
  }
}

TEST(ShippedTable, EverySyncKindIsUsed) {
  std::vector<bool> used(HEDDLE_SYNC_count, false);
  for (const std::string_view name : shipped_table().names()) used[shipped_table().find(name)->sync] = true;
  for (int kind = 1; kind < HEDDLE_SYNC_thread_begin; ++kind) {  // the rest are no calls
    EXPECT_TRUE(used[kind]) << sync_kind_name(static_cast<SyncKind>(kind));
  }
}

// Damages a text at one place: a flipped bit, a random byte, a deleted stretch, a joined or doubled line.
void mutate(std::string& text, std::mt19937& random) {
  const size_t at = random() % text.size();
  switch (random() % 5) {
    case 0:
      text[at] = static_cast<char>(text[at] ^ (1 << (random() % 8)));
      return;
    case 1:
      text[at] = static_cast<char>(random());
      return;
    case 2:
      text.erase(at, 1 + random() % 40);
      return;
    case 3:
      if (const size_t end = text.find('\n', at); end != std::string::npos) text.erase(end, 1);
      return;
    default:
      text.insert(at, text.substr(random() % text.size(), random() % 40));
      return;
  }
}

TEST(ShippedTable, DamagedTablesGiveATableOrAnError) {
  const Result<std::string> text = read_file(shipped_table_path());
  ASSERT_TRUE(text);
  std::mt19937 random(20240607);
  size_t errors = 0;
  for (int round = 0; round < 20000; ++round) {
    // A window of the table keeps 20,000 rounds short; every part of it gets its turn.
    const size_t start = text->find('\n', random() % (text->size() - 600)) + 1;
    std::string damaged = text->substr(start, 600);
    for (size_t count = 1 + random() % 3; count > 0 && !damaged.empty(); --count) mutate(damaged, random);
    EffectsTable table;
    const Result<void> added = table.add(damaged, "damaged");
    if (added) continue;
    ++errors;
    ASSERT_TRUE(added.error().where.starts_with("damaged:")) << added.error().text();
    ASSERT_FALSE(added.error().what.empty());
    ASSERT_EQ(table.size(), 0u);
  }
  EXPECT_GT(errors, 1000u);
  EXPECT_LT(errors, 20000u);
}

}  // namespace
}  // namespace heddle
