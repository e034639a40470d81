#include "cli/program_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

namespace heddle {
namespace {

constexpr size_t kFirst = 12;  // entries of a list
constexpr size_t kPlaces = 4;  // places of an entry

std::string with_commas(uint64_t n) {
  std::string digits = std::to_string(n);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string plural(uint64_t n, std::string_view word) {
  return fmt::format("{}{}", word, n == 1 ? "" : "s");
}

std::string counted(uint64_t n, std::string_view word) {
  return fmt::format("{} {}", with_commas(n), plural(n, word));
}

// Shorter than the absolute path where the file lies below the working folder.
std::string short_place(const SourcePlace& place) {
  if (!place.known()) return place.text();
  std::error_code ignored;
  const std::filesystem::path here = std::filesystem::current_path(ignored);
  const std::filesystem::path relative = std::filesystem::path(place.file).lexically_relative(here);
  if (relative.empty() || relative.native().starts_with("..")) return place.text();
  return fmt::format("{}:{}", relative.string(), place.line);
}

class Text {
 public:
  Text(const ProgramSummary& summary, const TextOptions& options) : summary_(summary), options_(options) {}

  std::string render() {
    head();
    counts();
    if (options_.brief) return out_;
    functions();
    shared_accesses();
    callees("Synchronisation", summary_.synchronisation);
    callees("Allocation", summary_.allocation);
    callees("External calls with known effects", summary_.known);
    unknown_callees();
    foreign();
    return out_;
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  // Prints the first entries of a list by `print(entry)` and how many more there are.
  template <class List, class Print>
  void listed(const List& list, Print print) {
    size_t shown = 0;
    for (const auto& entry : list) {
      if (!options_.all && shown == kFirst) {
        line("  ... and {} more (--all)", with_commas(list.size() - shown));
        return;
      }
      print(entry);
      ++shown;
    }
  }

  void head() {
    const Program& program = *summary_.program;
    line("{}", program.binary().string());
    line("  model {}, build id {}", program.identity(),
         program.build_id().empty() ? "none" : program.build_id());
    std::string sources;
    const auto& units = program.units();
    for (size_t i = 0; i < units.size() && i < 3; ++i)
      sources += fmt::format("{}{}", i > 0 ? ", " : "", units[i].source);
    line("  {}: {}{}", counted(units.size(), "source file"), sources, units.size() > 3 ? ", ..." : "");
    if (!program.link_plan()) line("  not linked by heddle cc: no variants can be made of it");
  }

  void counts() {
    const Program& program = *summary_.program;
    uint64_t paths = 0;
    bool many = false;
    for (const FunctionSummary& f : summary_.functions) {
      many |= f.paths_split;
      if (__builtin_add_overflow(paths, f.paths, &paths)) paths = UINT64_MAX;
    }
    line("");
    line("  {:>12} {}", with_commas(program.function_count()), plural(program.function_count(), "function"));
    line("  {:>12} {}", with_commas(program.block_count()), plural(program.block_count(), "block"));
    line("  {:>12} {}", with_commas(program.instruction_count()),
         plural(program.instruction_count(), "instruction"));
    line("  {:>12} {}{}", with_commas(paths), plural(paths, "path"),
         many ? " (some functions have more than 2^63 and are split)" : "");
    line("  {:>12} accesses, of these", with_commas(summary_.access_count()));
    for (size_t i = 0; i < kSharings; ++i)
      if (summary_.accesses[i] > 0 || i == 0)
        line("  {:>16} {}", with_commas(summary_.accesses[i]), sharing_name(static_cast<Sharing>(i)));
    line("  {:>12} calls, of these",
         with_commas(std::accumulate(summary_.calls.begin(), summary_.calls.end(), uint64_t{0})));
    for (size_t i = 0; i < kCallClasses; ++i)
      if (summary_.calls[i] > 0)
        line("  {:>16} {}", with_commas(summary_.calls[i]), call_class_name(static_cast<CallClass>(i)));
  }

  void functions() {
    std::vector<const FunctionSummary*> list;
    for (const FunctionSummary& f : summary_.functions) list.push_back(&f);
    std::sort(list.begin(), list.end(), [](auto* a, auto* b) {
      return std::pair(b->shared_accesses, a->id) < std::pair(a->shared_accesses, b->id);
    });
    line("\nFunctions, most shared accesses first");
    line("  {:>6} {:>6} {:>8}  {}", "shared", "blocks", "paths", "function");
    listed(list, [&](const FunctionSummary* f) {
      line("  {:>6} {:>6} {:>8}  {}  {}", f->shared_accesses, f->blocks,
           f->paths_split ? "> 2^63" : short_count(f->paths), name(f->name),
           f->place.known() ? short_place(f->place) : "");
    });
  }

  std::string name(const std::string& full) const { return options_.all ? full : short_name(full); }

  static std::string short_count(uint64_t n) {
    if (n < 1'000'000) return std::to_string(n);
    return fmt::format("{:.1e}", static_cast<double>(n));
  }

  // Accesses of one source line stand together.
  void shared_accesses() {
    struct Line {
      std::string place, function;
      size_t reads = 0, writes = 0, updates = 0, atomics = 0;
    };
    std::vector<Line> lines;
    std::map<std::string, size_t> index;
    for (const AccessSummary& a : summary_.shared) {
      const std::string place = name(short_place(a.place));
      auto [at, fresh] = index.try_emplace(place, lines.size());
      if (fresh) lines.push_back({place, a.place.function});
      Line& entry = lines[at->second];
      entry.reads += a.access.kind == AccessKind::read;
      entry.writes += a.access.kind == AccessKind::write;
      entry.updates += a.access.kind == AccessKind::read_modify_write;
      entry.atomics += a.access.atomic;
    }
    line("\nPossibly shared accesses by source line ({})", counted(lines.size(), "line"));
    listed(lines, [&](const Line& l) {
      std::string what;
      auto say = [&](size_t n, const char* word) {
        if (n > 0) what += fmt::format("{}{}", what.empty() ? "" : ", ", counted(n, word));
      };
      say(l.reads, "read");
      say(l.writes, "write");
      say(l.updates, "read-modify-write");
      if (l.atomics > 0)
        what +=
            l.atomics == l.reads + l.writes + l.updates ? " (atomic)" : fmt::format(" ({} atomic)", l.atomics);
      line("  {}  {}  in {}", l.place, what, name(l.function));
    });
  }

  std::string places(const std::vector<SourcePlace>& list) const {
    std::string text;
    std::vector<std::string> seen;
    for (const SourcePlace& place : list) {
      const std::string one = short_place(place);
      if (std::find(seen.begin(), seen.end(), one) != seen.end()) continue;
      if (!options_.all && seen.size() == kPlaces) return text + ", ...";
      text += (text.empty() ? "" : ", ") + one;
      seen.push_back(one);
    }
    return text;
  }

  void callees(const char* title, const std::map<std::string, CalleeSummary>& group) {
    if (group.empty()) return;
    line("\n{}", title);
    listed(group, [&](const auto& entry) {
      const CalleeSummary& callee = entry.second;
      line("  {}  [{}]  {}: {}", name(callee.name), callee.known, counted(callee.places.size(), "call"),
           places(callee.places));
    });
  }

  void unknown_callees() {
    if (summary_.unknown.empty()) return;
    line(
        "\nExternal calls of which nothing is known (what they can reach counts as shared; docs/effects.md "
        "tells how");
    line("to describe them)");
    listed(summary_.unknown, [&](const auto& entry) {
      line("  {}  {}: {}", name(entry.second.name), counted(entry.second.places.size(), "call"),
           places(entry.second.places));
    });
  }

  void foreign() {
    line("\nForeign parts (code in the program of which heddle has no model)");
    for (const std::string& object : summary_.link_time_objects)
      line("  {}: compiled at link time (-flto); build without -flto to let heddle see it", object);
    if (!summary_.program->foreign_functions_known()) {
      line("  unknown: the program has no symbol table");
    } else if (summary_.foreign_functions.empty()) {
      line("  none");
    } else {
      listed(summary_.foreign_functions, [&](const std::string& function) { line("  {}", name(function)); });
    }
  }

  const ProgramSummary& summary_;
  const TextOptions& options_;
  std::string out_;
};

}  // namespace

std::string program_text(const ProgramSummary& summary, const TextOptions& options) {
  return Text(summary, options).render();
}

}  // namespace heddle
