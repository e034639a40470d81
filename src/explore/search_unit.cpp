#include "explore/search_unit.h"

#include <fmt/format.h>

#include <charconv>

namespace heddle {
namespace {

// Words of a line, one after the other.
class Words {
 public:
  explicit Words(std::string_view line, char separator = ' ') : rest_(line), separator_(separator) {}
  bool at_end() const { return rest_.empty(); }
  std::string_view next() {
    const size_t end = std::min(rest_.find(separator_), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return word;
  }
  uint64_t number(int base = 10) {
    const std::string_view word = next();
    uint64_t out = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out, base);
    good_ &= error == std::errc() && end == word.data() + word.size();
    return out;
  }
  Hash128 hash() {
    const uint64_t low = number(16);
    return {.low = low, .high = number(16)};
  }
  bool good() const { return good_; }

 private:
  std::string_view rest_;
  char separator_;
  bool good_ = true;
};

Error not_a_line(std::string_view line) {
  return Error{.what = fmt::format("a line of the journal cannot be read: {}", line.substr(0, 80)),
               .why = "the file was changed, or is of another version",
               .next = "start again without --resume",
               .exit = ExitCode::environment};
}

std::string hash_text(const Hash128& hash) {
  return fmt::format("{:x} {:x}", hash.low, hash.high);
}

}  // namespace

std::string path_text(const std::vector<Action>& path, const Behaviour& behaviour) {
  std::string out;
  for (size_t i = 0; i < path.size();) {
    if (!out.empty()) out += ',';
    const Action& action = path[i];
    out += behaviour.name(action.thread).text();
    size_t same = 1;
    if (action.flush) {
      out += fmt::format("!{:x}", *action.flush);
    } else if (action.timeout) {
      out += '~';
    } else {
      while (i + same < path.size() && path[i + same] == action) ++same;
      out += fmt::format("*{}", same);
    }
    i += same;
  }
  return out.empty() ? "-" : out;
}

Result<std::vector<Action>> parse_path(std::string_view text, Behaviour& behaviour) {
  std::vector<Action> out;
  if (text == "-") return out;
  for (Words steps(text, ','); !steps.at_end();) {
    const std::string_view step = steps.next();
    const size_t mark = step.find_first_of("!~*");
    if (mark == std::string_view::npos) return not_a_line(text);
    Action action{.thread = behaviour.thread(HEDDLE_TRY(ThreadName::parse(step.substr(0, mark))))};
    action.timeout = step[mark] == '~';
    uint64_t number = 1;
    if (!action.timeout) {
      Words rest(step.substr(mark + 1));
      number = rest.number(step[mark] == '!' ? 16 : 10);
      if (!rest.good()) return not_a_line(text);
    }
    if (step[mark] == '!') action.flush = std::exchange(number, 1);
    out.insert(out.end(), number, action);
  }
  return out;
}

std::string unit_line(const SearchUnit& unit, const Behaviour& behaviour) {
  return fmt::format("u {} {} {} {} {}\n", unit.id, unit.parent, unit.cost, hash_text(unit.key),
                     path_text(unit.path, behaviour));
}

Result<SearchUnit> parse_unit(std::string_view line, Behaviour& behaviour) {
  Words words(line);
  if (words.next() != "u") return not_a_line(line);
  SearchUnit unit;
  unit.id = words.number();
  unit.parent = words.number();
  unit.cost = words.number();
  unit.key = words.hash();
  const std::string_view path = words.next();
  if (!words.good() || !words.at_end()) return not_a_line(line);
  unit.path = HEDDLE_TRY(parse_path(path, behaviour));
  return unit;
}

std::string report_block(const UnitReport& report, const Behaviour& behaviour) {
  std::string out;
  for (const SearchUnit& unit : report.found) out += unit_line(unit, behaviour);
  for (const Hash128& end : report.ends) out += fmt::format("e {}\n", hash_text(end));
  for (const Lesson& lesson : report.lessons)
    out += fmt::format("{} {}\n", lesson.loops ? 'w' : 'r', path_text(lesson.path, behaviour));
  return out + fmt::format("d {} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", report.id, report.executions,
                           report.states, static_cast<uint64_t>(report.solving * 1e6), report.expanded,
                           report.decided, report.asked, report.refuted, report.awaits ? 1 : 0,
                           report.library_spins ? 1 : 0, report.special ? 1 : 0, report.again ? 1 : 0,
                           report.stale ? 1 : 0, report.cut_by.empty() ? "-" : report.cut_by);
}

Result<bool> parse_report_line(std::string_view line, UnitReport& report, Behaviour& behaviour) {
  Words words(line);
  const std::string_view kind = words.next();
  if (kind == "u") {
    report.found.push_back(HEDDLE_TRY(parse_unit(line, behaviour)));
    return false;
  }
  if (kind == "r" || kind == "w") {
    report.lessons.push_back({.loops = kind == "w", .path = HEDDLE_TRY(parse_path(words.next(), behaviour))});
  } else if (kind == "e") {
    report.ends.push_back(words.hash());
  } else if (kind == "d") {
    report.id = words.number();
    report.executions = words.number();
    report.states = words.number();
    report.solving = static_cast<double>(words.number()) / 1e6;
    report.expanded = words.number();
    report.decided = words.number();
    report.asked = words.number();
    report.refuted = words.number();
    report.awaits = words.number() != 0;
    report.library_spins = words.number() != 0;
    report.special = words.number() != 0;
    report.again = words.number() != 0;
    report.stale = words.number() != 0;
    report.cut_by = words.next();
    if (report.cut_by == "-") report.cut_by.clear();
  } else {
    return not_a_line(line);
  }
  if (!words.good() || !words.at_end()) return not_a_line(line);
  return kind == "d";
}

Result<UnitReport> parse_block(std::string_view text, Behaviour& behaviour) {
  UnitReport report;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    HEDDLE_TRY(parse_report_line(line, report, behaviour));
  }
  return report;
}

}  // namespace heddle
