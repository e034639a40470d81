#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/safe_text.h"
#include "report/forms.h"
#include "report/narrative.h"
#include "report/sources.h"

namespace heddle {
namespace {

constexpr size_t kMostPairsTold = 4;
constexpr size_t kLinesPerStretch = 6;
constexpr size_t kMostStretches = 12;
constexpr size_t kWrap = 110;

// Sentences in lines of a screen's width.
std::string wrapped(std::string_view text, std::string_view indent) {
  std::string out, line(indent);
  bool first = true;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!first && line.size() + 1 + word.size() > kWrap) {
      out += line + "\n";
      line = indent;
      first = true;
    }
    if (!first) line += ' ';
    line += word;
    first = false;
    at = end + 1;
  }
  return out + line + "\n";
}

std::string number_of(uint64_t count, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

class TextForm {
 public:
  explicit TextForm(const FailureFinding& finding) : f_(finding) {
    for (size_t i = 0; i < f_.decisive.size(); ++i) {
      labels_[f_.decisive[i].first] += fmt::format(" {}a", i + 1);
      labels_[f_.decisive[i].second] += fmt::format(" {}b", i + 1);
    }
    for (const auto& [event, label] : labels_)
      if (f_.events[event].variable) variables_.insert(*f_.events[event].variable);
  }

  std::string text() {
    out_ = fmt::format("{}\n", for_terminal(f_.headline));
    out_ += f_.failure.report();
    out_ += "\n";
    for (const std::string& sentence : f_.explanation) out_ += wrapped(for_terminal(sentence), "  ");
    if (f_.pattern == Pattern::deadlock)
      for (const std::string& line : f_.cycle) out_ += wrapped(for_terminal(line), "    ");
    if (!f_.advice.empty()) out_ += wrapped("What would help: " + for_terminal(f_.advice), "  ");
    add_pairs();
    add_story();
    add_trust();
    return out_;
  }

 private:
  void add_pairs() {
    if (f_.decisive.empty()) return;
    out_ += "\nWhat decided it\n";
    for (size_t i = 0; i < f_.decisive.size() && i < kMostPairsTold; ++i) {
      const FindingPair& pair = f_.decisive[i];
      out_ += wrapped(fmt::format("{}. {}", i + 1, for_terminal(pair.text)), "  ");
      if (pair.visibility)
        out_ += "     with the store visible at once the run passes\n";
      else
        out_ += fmt::format("     the other way round {} of {} runs passed; in this order {} of {} failed so\n",
                            pair.flipped_passed, pair.flipped_runs, pair.kept_failed, pair.kept_runs);
    }
    if (f_.decisive.size() > kMostPairsTold)
      out_ += fmt::format("  and {} more\n", f_.decisive.size() - kMostPairsTold);
  }

  bool is_told(size_t i) const {
    const FindingEvent& event = f_.events[i];
    return labels_.contains(i) || (event.variable && variables_.contains(*event.variable)) || event.pending;
  }

  // Stretches of one thread with the events that matter.
  void add_story() {
    struct Stretch {
      uint32_t thread = 0;
      std::vector<size_t> told;
      size_t events = 0;
    };
    std::vector<Stretch> stretches;
    for (size_t i = 0; i < f_.events.size(); ++i) {
      if (f_.events[i].pending && !labels_.contains(i)) continue;
      if (stretches.empty() || stretches.back().thread != f_.events[i].thread)
        stretches.push_back({.thread = f_.events[i].thread});
      ++stretches.back().events;
      if (is_told(i)) stretches.back().told.push_back(i);
    }
    std::erase_if(stretches, [](const Stretch& stretch) { return stretch.told.empty(); });
    if (stretches.empty()) return;
    out_ += "\nWhat happened (of what matters)\n";
    const size_t from = stretches.size() > kMostStretches ? stretches.size() - kMostStretches : 0;
    if (from != 0) out_ += fmt::format("  ... {} stretches before\n", from);
    for (size_t i = from; i < stretches.size(); ++i) {
      out_ += fmt::format("  {}\n", for_terminal(who(f_, stretches[i].thread)));
      add_events(stretches[i].told);
    }
  }

  void add_events(const std::vector<size_t>& told) {
    size_t skipped = 0, lines = 0, before = told.front();
    for (const size_t event : told) {
      if (before < f_.gap_at && event >= f_.gap_at) skipped += f_.gap;
      before = event;
      const bool decisive = labels_.contains(event);
      if (!decisive && lines >= kLinesPerStretch) {
        ++skipped;
        continue;
      }
      ++lines;
      if (skipped != 0) out_ += fmt::format("        ... {} more\n", std::exchange(skipped, 0));
      const FindingEvent& each = f_.events[event];
      const std::string place = each.place ? fmt::format("{}:{}", each.place->file, each.place->line) : "";
      out_ += fmt::format("    {:>4} {:<26} {}\n", decisive ? labels_.at(event).substr(1) : "",
                          for_terminal(place), for_terminal(each.text));
    }
    if (skipped != 0) out_ += fmt::format("        ... {} more\n", skipped);
  }

  void add_trust() {
    out_ += fmt::format(
        "\n{} flips of {} pairs by {} controlled runs ({} not possible in the program){}; {}.\n", f_.flips,
        f_.pairs, f_.runs, f_.impossible, f_.finished ? "" : ", stopped early",
        f_.replays == 0
            ? std::string("not replayed in fresh processes")
            : fmt::format("replayed {} times, {} times the same failure", f_.replays, f_.reproduced));
    out_ += fmt::format("Memory model {}; {}, {}, {}.\n", text_of(f_.header.memory_model),
                        number_of(f_.measures.preemptions, "preemption", "preemptions"),
                        number_of(f_.measures.switches, "switch", "switches"),
                        number_of(f_.measures.events, "event", "events"));
    for (const FindingSource& source : f_.sources)
      if (!source.missing.empty())
        out_ +=
            fmt::format("No source text of {}: {}\n", for_terminal(source.path), for_terminal(source.missing));
    for (const std::string& each : f_.assumptions) out_ += wrapped(for_terminal(each), "");
  }

  const FailureFinding& f_;
  std::map<size_t, std::string> labels_;
  std::set<size_t> variables_;
  std::string out_;
};

}  // namespace

std::string text_form(const FailureFinding& finding) {
  return TextForm(finding).text();
}

}  // namespace heddle
