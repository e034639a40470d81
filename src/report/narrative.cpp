#include "report/narrative.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/conflicts.h"

namespace heddle {
namespace {

std::string at_place(const std::optional<CodePlace>& place) {
  return place && place->line != 0 ? fmt::format("{}:{}", place->file, place->line) : "an unknown place";
}

// "reads balance: 100" without what it would not come to.
std::string deed(const FindingEvent& event) {
  constexpr std::string_view kNot = "does not come to this: ";
  return event.text.starts_with(kNot) ? event.text.substr(kNot.size()) : event.text;
}

class Teller {
 public:
  explicit Teller(FailureFinding& finding) : f_(finding) {}

  void tell() {
    for (FindingPair& pair : f_.decisive) pair.text = pair_text(pair);
    tell_cycle();
    f_.headline = std::string(pattern_name(f_.pattern)) + about();
    switch (f_.pattern) {
      case Pattern::atomicity:
      case Pattern::race:
        tell_unit();
        break;
      case Pattern::order:
        tell_order();
        break;
      case Pattern::deadlock:
        say("Each of these threads waits for another one of them, so none can go on.");
        f_.advice = "Take these locks in the same order everywhere, or wait for nobody while a lock is held.";
        break;
      case Pattern::lost_wakeup:
        tell_lost_wakeup();
        break;
      case Pattern::store_buffer:
        tell_late_store();
        break;
      case Pattern::unknown:
        say(f_.finished ? "No single pair of events was found whose order alone decides; several may have to "
                          "come together."
                        : "The time was over before the pairs of events whose order decides were found.");
        f_.advice = f_.finished ? "" : "Give it more time: --time 1m.";
    }
    if (f_.unprotected && f_.pattern != Pattern::race)
      say("The accesses are plain and no lock protects them all: they are also a data race.");
  }

 private:
  const FindingEvent& event(size_t number) const { return f_.events[number]; }
  void say(std::string sentence) { f_.explanation.push_back(std::move(sentence)); }

  std::string deed_of(size_t number) const {
    return fmt::format("{} {} at {}", who(f_, event(number).thread), deed(event(number)), where(event(number)));
  }

  std::string pair_text(const FindingPair& pair) const {
    const FindingEvent &first = event(pair.first), &second = event(pair.second);
    if (pair.visibility)
      return fmt::format("{} {} at {} before the store of {} by {} at {} has become visible",
                         who(f_, first.thread), deed(first), where(first), second.value, who(f_, second.thread),
                         where(second));
    return fmt::format("{}, before {}{}", deed_of(pair.first), deed_of(pair.second),
                       second.pending ? " (in this run it does not come to that)" : "");
  }

  std::string about() const {
    if (f_.decisive.empty()) return "";
    std::vector<std::string> names;
    for (const FindingPair& pair : f_.decisive) {
      const std::string& name = event(pair.second).object;
      if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    if (f_.pattern == Pattern::deadlock || names.empty()) return "";
    return names.size() == 1
               ? " on " + names[0]
               : fmt::format(" on {} and {}{}", names[0], names[1], names.size() > 2 ? ", ..." : "");
  }

  void tell_cycle() {
    for (const WaitingThread& wait : f_.failure.waits) {
      std::string text = fmt::format("thread {} waits: {}{} at {}", wait.thread.text(), wait.kind,
                                     wait.object.empty() ? "" : " " + wait.object, at_place(wait.place));
      if (wait.holder) text += fmt::format(", for thread {}", wait.holder->text());
      if (const FindingSpan* span = held(wait))
        text += fmt::format(", which took it at {}", where(event(span->begin)));
      f_.cycle.push_back(std::move(text));
    }
  }

  const FindingSpan* held(const WaitingThread& wait) const {
    for (const FindingSpan& span : f_.locks)
      if (wait.holder && span.object == wait.object && f_.threads[span.thread].name == *wait.holder &&
          span.end + 1 > event_end())
        return &span;
    return nullptr;
  }
  size_t event_end() const {
    size_t performed = f_.events.size();
    while (performed > 0 && f_.events[performed - 1].pending) --performed;
    return performed;
  }

  void tell_unit() {
    if (!f_.unit) return;
    const auto [first, second] = *f_.unit;
    const FindingEvent &from = event(first), &to = event(second);
    const bool one_line =
        from.place && to.place && from.place->file == to.place->file && from.place->line == to.place->line;
    if (one_line)
      say(fmt::format("{} works on it at {}; it {} and then {}, and another thread comes between.",
                      who(f_, from.thread), where(from), deed(from), deed(to)));
    else
      say(fmt::format("{} {} at {}, and later {} at {}: the two belong together.", who(f_, from.thread),
                      deed(from), where(from), deed(to), where(to)));
    for (const FindingPair& pair : f_.decisive)
      if (pair.first == first || pair.second == second) {
        const size_t remote = pair.first == first ? pair.second : pair.first;
        const std::string text = fmt::format("In between, {}.", deed_of(remote));
        if (std::ranges::find(f_.explanation, text) == f_.explanation.end()) say(text);
      }
    f_.advice = f_.pattern == Pattern::race
                    ? "Protect this data with one lock wherever it is used, make it atomic, or give each "
                      "thread its own."
                    : fmt::format("Make {} and {} one critical section or one atomic operation.", where(from),
                                  where(to));
  }

  void tell_order() {
    const FindingPair& pair = f_.decisive.front();
    const FindingEvent &first = event(pair.first), &second = event(pair.second);
    say(fmt::format("{}, and only then {}.", deed_of(pair.first), deed_of(pair.second)));
    say("Nothing in the program keeps them in the other order, in which it does not fail.");
    f_.advice =
        fmt::format("Let {} wait until {} is done with {} (join it, a condition variable, a semaphore).",
                    who(f_, first.thread), who(f_, second.thread), where(second));
  }

  void tell_lost_wakeup() {
    for (const FindingPair& pair : f_.decisive) say(pair.text + ".");
    f_.advice =
        "Change what is waited for, and signal, while holding the mutex under which the waiter tests it, and "
        "wait in a loop "
        "that tests again.";
  }

  void tell_late_store() {
    for (const FindingPair& pair : f_.decisive) {
      if (!pair.visibility) continue;
      const FindingEvent& store = event(pair.second);
      say(pair.text + ".");
      if (!f_.advice.empty()) continue;
      const FindingEvent* next = after_store(pair.second);
      f_.advice =
          fmt::format("Put a fence behind {}{}: {}.", where(store),
                      next != nullptr ? fmt::format(", before {}", where(*next)) : "",
                      f_.header.memory_model == MemoryModel::pso
                          ? "atomic_thread_fence(memory_order_release), or make the later store a release store"
                          : "atomic_thread_fence(memory_order_seq_cst), or make both sequentially consistent");
    }
  }

  // What overtook it: under TSO the thread's next load, under PSO also its next store.
  const FindingEvent* after_store(size_t store) const {
    for (size_t i = store + 1; i < f_.events.size(); ++i) {
      const FindingEvent& each = f_.events[i];
      if (each.thread != event(store).thread || each.pending) continue;
      if (each.object == event(store).object) continue;
      if (each.kind == "read" || (each.kind == "write" && f_.header.memory_model == MemoryModel::pso))
        return &each;
    }
    return nullptr;
  }

  FailureFinding& f_;
};

}  // namespace

void tell(FailureFinding& finding) {
  Teller(finding).tell();
}

std::string_view pattern_name(Pattern pattern) {
  switch (pattern) {
    case Pattern::unknown:
      return "Cause not found";
    case Pattern::atomicity:
      return "Atomicity violation";
    case Pattern::order:
      return "Order violation";
    case Pattern::deadlock:
      return "Deadlock";
    case Pattern::lost_wakeup:
      return "Lost wake-up";
    case Pattern::store_buffer:
      return "Store-buffer reordering";
    case Pattern::race:
      return "Race on unprotected data";
  }
  return "";
}

std::string who(const FailureFinding& finding, uint32_t thread) {
  const ScheduleThread& each = finding.threads[thread];
  return each.start.empty() ? fmt::format("thread {}", each.name.text())
                            : fmt::format("thread {} ({})", each.name.text(), each.start);
}

std::string where(const FindingEvent& event) {
  std::string out = at_place(event.place);
  // The line that calls a small function says more than the function.
  size_t frame = 0;
  while (frame < event.stack.size() && event.stack[frame].place != event.place) ++frame;
  if (frame + 1 < event.stack.size() && event.stack[frame + 1].place &&
      event.stack[frame + 1].place->file == (event.place ? event.place->file : ""))
    out += fmt::format(" (called at {}:{})", event.stack[frame + 1].place->file,
                       event.stack[frame + 1].place->line);
  return out;
}

}  // namespace heddle
