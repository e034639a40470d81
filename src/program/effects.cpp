// The effects table: where its files are, look-up, and the description for people.
#include "program/effects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "program/effects_parser.h"

namespace heddle {
namespace {

std::string place_text(Place place) {
  return place.argument == Place::kVariadic ? "varargs" : fmt::format("arg{}", place.argument);
}

std::string extent_text(const Extent& extent) {
  const std::string times = extent.amount == 1 ? "" : fmt::format("*{}", extent.amount);
  switch (extent.kind) {
    case Extent::Kind::bytes:
      return fmt::format("{} bytes", extent.amount);
    case Extent::Kind::argument:
      return fmt::format("arg{}{} bytes", extent.first, times);
    case Extent::Kind::product:
      return fmt::format("arg{}*arg{} bytes", extent.first, extent.second);
    case Extent::Kind::pointee:
      return fmt::format("*arg{} bytes", extent.first);
    case Extent::Kind::returned:
      return fmt::format("ret{} bytes", times);
    case Extent::Kind::string:
      return "string";
    case Extent::Kind::bounded_string:
      return fmt::format("string up to arg{} bytes", extent.first);
    case Extent::Kind::wide_string:
      return "wide string";
    case Extent::Kind::iovec:
      return fmt::format("iovec of arg{}", extent.first);
    case Extent::Kind::format:
      return fmt::format("by the format arg{}", extent.first);
    case Extent::Kind::object:
      return "object";
    case Extent::Kind::reachable:
      return "all reachable from it";
  }
  return {};
}

std::string yield_text(const YieldedPointer& pointer) {
  switch (pointer.kind) {
    case YieldedPointer::Kind::fresh:
      return fmt::format("stores fresh memory in {}", place_text(pointer.place));
    case YieldedPointer::Kind::library:
      return fmt::format("stores library memory in {}", place_text(pointer.place));
    case YieldedPointer::Kind::argument:
      break;
  }
  return fmt::format("stores a pointer into arg{} in {}", pointer.argument, place_text(pointer.place));
}

std::string allocation_text(const Effects& effects) {
  switch (effects.allocation) {
    case AllocationKind::none:
      break;
    case AllocationKind::allocate:
      return fmt::format("allocates ({})", extent_text(effects.allocation_size));
    case AllocationKind::reallocate:
      return fmt::format("reallocates arg{} ({})", effects.allocation_pointer,
                         extent_text(effects.allocation_size));
    case AllocationKind::release:
      return fmt::format("frees arg{}", effects.allocation_pointer);
  }
  return {};
}

std::string sync_text(const Effects& effects) {
  std::string objects;
  for (const int object : effects.sync_objects)
    objects += fmt::format("{}arg{}", objects.empty() ? "" : ", ", object);
  return fmt::format("{}({})", sync_kind_name(effects.sync), objects);
}

Result<fs::path> shipped_table() {
  const fs::path beside = executable_path().parent_path().parent_path() / "share" / "heddle" / "effects.table";
  std::error_code ignored;
  if (fs::exists(beside, ignored)) return beside;
  const char* share = std::getenv("HEDDLE_SHARE");
  if (share != nullptr && fs::exists(fs::path(share) / "effects.table", ignored)) {
    return fs::path(share) / "effects.table";
  }
  return Error{.what = "heddle's table of library functions is missing",
               .where = beside,
               .why = share == nullptr ? "the installation is incomplete, and HEDDLE_SHARE is not set"
                                       : fmt::format("not in HEDDLE_SHARE={} either", share),
               .next = "export HEDDLE_SHARE=FOLDER_WITH_effects.table"};
}

// The user's own table; empty when there is none.
fs::path user_table() {
  fs::path folder;
  if (const char* xdg = std::getenv("XDG_CONFIG_HOME"); xdg != nullptr && xdg[0] == '/') {
    folder = xdg;
  } else if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    folder = fs::path(home) / ".config";
  } else {
    return {};
  }
  std::error_code ignored;
  const fs::path file = folder / "heddle" / "effects.table";
  return fs::exists(file, ignored) ? file : fs::path();
}

}  // namespace

std::string_view sync_kind_name(SyncKind kind) {
  HEDDLE_CHECK(static_cast<size_t>(kind) < kSyncKinds.size());
  return kSyncKinds[kind].name;
}

const MemoryEffect* Effects::effect_on(int argument) const {
  const auto found = std::ranges::find(memory, Place{argument}, &MemoryEffect::place);
  return found == memory.end() ? nullptr : &*found;
}

bool Effects::keeps_argument(int argument, bool variadic) const {
  return std::ranges::any_of(keeps, [&](Place place) {
    return place.argument == argument || (variadic && place.argument == Place::kVariadic);
  });
}

std::string Effects::describe() const {
  std::vector<std::string> parts;
  if (sync != HEDDLE_SYNC_none) parts.push_back(sync_text(*this));
  if (allocation != AllocationKind::none) parts.push_back(allocation_text(*this));
  for (const MemoryEffect& effect : memory) {
    const std::string_view verb = !effect.writes ? "reads" : effect.reads ? "updates" : "writes";
    parts.push_back(fmt::format("{} {} ({})", verb, place_text(effect.place), extent_text(effect.extent)));
  }
  for (const YieldedPointer& pointer : yields) parts.push_back(yield_text(pointer));
  for (const Place& place : keeps) parts.push_back("keeps " + place_text(place));
  for (const int argument : calls) parts.push_back(fmt::format("calls arg{}", argument));
  if (returns == Returns::argument) parts.push_back(fmt::format("returns arg{}", returned_argument));
  if (returns == Returns::library) parts.push_back("returns library memory");
  for (const EffectsFlag& flag : kEffectsFlags) {
    if (this->*flag.member) parts.emplace_back(flag.description);
  }
  return parts.empty() ? "no effect" : fmt::format("{}", fmt::join(parts, ", "));
}

Result<std::vector<fs::path>> EffectsTable::files(const std::vector<fs::path>& extra) {
  std::vector<fs::path> files = {HEDDLE_TRY(shipped_table())};
  if (fs::path user = user_table(); !user.empty()) files.push_back(std::move(user));
  const char* listed = std::getenv("HEDDLE_EFFECTS");
  for (std::string_view rest = listed != nullptr ? listed : ""; !rest.empty();) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) files.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  files.insert(files.end(), extra.begin(), extra.end());
  return files;
}

Result<EffectsTable> EffectsTable::load(const std::vector<fs::path>& extra) {
  EffectsTable table;
  for (const fs::path& file : HEDDLE_TRY(files(extra))) {
    const std::string text = HEDDLE_TRY(read_file(file));
    HEDDLE_TRY(table.add(text, file.string()));
  }
  return table;
}

Result<void> EffectsTable::add(std::string_view text, const std::string& origin) {
  std::vector<Effects> parsed;  // a table with an error changes nothing
  size_t number = 1;
  for (size_t start = 0; start < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', start), text.size());
    HEDDLE_TRY(parse_effects_line(text.substr(start, end - start), origin, number, parsed));
    start = end + 1;
  }
  for (Effects& entry : parsed) insert(std::move(entry));
  return {};
}

void EffectsTable::insert(Effects entry) {
  if (!entry.name.ends_with('*')) {
    std::string key = entry.name;
    exact_.insert_or_assign(std::move(key), std::move(entry));
    return;
  }
  std::string key = entry.name.substr(0, entry.name.size() - 1);
  const auto place = std::ranges::lower_bound(family_lengths_, key.size(), std::greater<>());
  if (place == family_lengths_.end() || *place != key.size()) family_lengths_.insert(place, key.size());
  families_.insert_or_assign(std::move(key), std::move(entry));
}

const Effects* EffectsTable::find(std::string_view name) const {
  if (const auto exact = exact_.find(name); exact != exact_.end()) return &exact->second;
  for (const size_t length : family_lengths_) {
    if (length > name.size()) continue;
    if (const auto family = families_.find(name.substr(0, length)); family != families_.end())
      return &family->second;
  }
  return nullptr;
}

std::vector<std::string_view> EffectsTable::names() const {
  std::vector<std::string_view> all;
  for (const Entries* entries : {&exact_, &families_}) {
    for (const auto& [key, effects] : *entries) all.push_back(effects.name);
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace heddle
