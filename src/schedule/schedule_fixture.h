// Schedules for the tests of this folder: one that is small and readable, and random ones that pass the check.
#pragma once

#include <random>
#include <set>

#include "schedule/schedule.h"

namespace heddle {

inline Schedule small_schedule() {
  Schedule schedule;
  schedule.header = {.program = "account",
                     .identity = "00112233445566778899aabbccddeeff",
                     .memory_model = MemoryModel::tso,
                     .folder = "/tmp",
                     .command = {"./account", "two words"}};
  schedule.threads = {
      {.name = ThreadName(), .start = "main"},
      {.name = ThreadName().child(0), .start = "deposit", .created = CodePlace{"account.c", 40, "main"}},
      {.name = ThreadName().child(1), .start = "deposit", .created = CodePlace{"account.c", 41, "main"}}};
  return schedule;
}

class RandomSchedules {
 public:
  explicit RandomSchedules(uint32_t seed) : random_(seed) {}

  Schedule next() {
    schedule_ = {};
    header();
    threads();
    state_.assign(schedule_.threads.size(), {});
    for (size_t i = below(40); i > 0; --i) step();
    if (below(3) == 0) schedule_.header.events = total() + (schedule_.header.prefix ? below(5) : 0);
    return schedule_;
  }

  size_t below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }

  // Mostly harmless, sometimes any bytes at all (but NUL), sometimes words that mean something to the format.
  std::string text(bool may_be_empty) {
    static const std::vector<std::string> kWords = {
        "@",        "#",    "end", "0:1", "a b", "it's", "$HOME", "\n",  "\xff",     "\u00e4", "\\",
        "\u202eab", "\xc3", "*",   "\"",  "''",  "\r\n", "\t",    "a#b", "::f(int)", "x+1",    "heap:0/1+2"};
    std::string out;
    if (may_be_empty && below(8) == 0) return out;
    do {
      if (below(3) == 0) {
        out += kWords[below(kWords.size())];
      } else if (below(4) == 0) {
        out += static_cast<char>(1 + below(255));
      } else {
        out += static_cast<char>('a' + below(26));
      }
    } while (below(4) != 0);
    return out;
  }

 private:
  struct State {
    uint64_t events = 0, flushed = 0;
    bool exited = false;
  };

  std::string hex(size_t digits) {
    std::string out;
    while (out.size() < digits) out += "0123456789abcdef"[below(16)];
    return out;
  }

  std::string one_line() {
    std::string out = text(true);
    std::erase_if(out, [](char c) { return c == '\n' || c == '\r'; });
    return out;
  }

  void header() {
    ScheduleHeader& header = schedule_.header;
    header = {.program = text(false), .identity = hex(32), .folder = "/" + text(true), .strategy = text(true)};
    if (below(2) == 0) header.build_id = hex(40);
    header.memory_model = static_cast<MemoryModel>(below(3));
    for (size_t i = below(4) + 1; i > 0; --i) header.command.push_back(text(true));
    for (size_t i = 0, n = below(3); i < n; ++i)
      header.environment.push_back("V" + std::to_string(i) + "=" + text(true));
    if (below(2) == 0) header.input = "/" + text(true);
    if (below(2) == 0) header.seed = random_();
    header.prefix = below(2) == 0;
    header.failure = one_line();
    if (below(2) == 0) header.values = hex(16);
  }

  std::optional<CodePlace> place() {
    if (below(2) == 0) return std::nullopt;
    return CodePlace{text(false), static_cast<uint32_t>(below(1000)), text(true)};
  }

  void threads() {
    std::set<ThreadName> used;
    for (size_t i = 0, n = below(6) + 1; i < n; ++i) {
      ThreadName name;
      if (i > 0)
        name = schedule_.threads[below(schedule_.threads.size())].name.child(static_cast<uint32_t>(below(4)));
      if (!used.insert(name).second) continue;
      schedule_.threads.push_back({name, text(true), place()});
    }
  }

  Location location() {
    const ThreadName owner = schedule_.threads[below(schedule_.threads.size())].name;
    const uint64_t offset = below(2) == 0 ? below(64) : random_() * uint64_t{0x123456789};
    switch (below(6)) {
      case 0:
        return Location::global(text(false), offset);
      case 1:
        return Location::tls(owner, text(false), offset);
      case 2:
        return Location::heap(owner, below(100), offset);
      case 3:
        return Location::map(owner, below(100), offset);
      case 4:
        return Location::stack(owner, below(20), below(9), offset);
      default:
        return Location::address(offset);
    }
  }

  bool exists(size_t thread) {
    const ThreadName& name = schedule_.threads[thread].name;
    if (name.is_main()) return true;
    return state_[schedule_.find(name.parent())->index()].events > name.index_in_parent();
  }

  void step() {
    const size_t index = below(state_.size());
    State& state = state_[index];
    const ThreadIndex thread(index);
    if (!exists(index)) return;
    const MemoryModel model = schedule_.header.memory_model;
    Step step = Step::run(thread, 1 + below(below(4) == 0 ? 300 : 5),
                          static_cast<SegmentEnd>(below(40) == 0 ? 2 : below(2) * 3));
    const size_t kind = below(8);
    const uint64_t buffered = state.events - state.flushed;
    if (kind < 2 && model != MemoryModel::sc && buffered > 0) {
      const uint64_t count = 1 + below(std::min<uint64_t>(buffered, 3));
      step = model == MemoryModel::tso ? Step::flush(thread, count) : Step::flush(thread, location(), count);
      state.flushed += count;
    } else if (state.exited) {
      return;
    } else if (kind == 2 && state.events > 0) {
      step = below(2) == 0 ? Step::wake(thread) : Step::timeout(thread);
    } else {
      state.events += step.count;
      state.exited = step.end == SegmentEnd::exited;
    }
    if (auto where = place()) step.place = std::make_shared<const CodePlace>(*std::move(where));
    schedule_.steps.push_back(std::move(step));
  }

  uint64_t total() const {
    uint64_t sum = 0;
    for (const State& state : state_) sum += state.events;
    return sum;
  }

  std::mt19937 random_;
  Schedule schedule_;
  std::vector<State> state_;
};

}  // namespace heddle
