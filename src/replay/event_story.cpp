#include "replay/event_story.h"

#include <fmt/format.h>

#include <unordered_map>

namespace heddle {
namespace {

constexpr uint64_t kWord = 8;

bool is_access(const heddle_event& event) {
  return event.kind <= HEDDLE_EVENT_update && event.size != 0;
}

// By word of memory: who accesses it.
class SharedWords {
 public:
  explicit SharedWords(const std::vector<heddle_event>& events) {
    for (const heddle_event& event : events) {
      if (!is_access(event)) continue;
      each_word(event, [&](uint64_t word) {
        const auto [found, first] = words_.try_emplace(word, Use{.thread = event.thread});
        if (!first && found->second.thread != event.thread) found->second.several = true;
        if (event.kind != HEDDLE_EVENT_read) found->second.written = true;
        return false;
      });
    }
  }

  bool has(const heddle_event& event) const {
    return is_access(event) && each_word(event, [&](uint64_t word) {
             const Use& use = words_.at(word);
             return use.several && use.written;
           });
  }

 private:
  struct Use {
    uint16_t thread = 0;
    bool several = false, written = false;
  };

  // Until one says so.
  static bool each_word(const heddle_event& event, const auto& visit) {
    for (uint64_t word = event.address / kWord; word <= (event.address + event.size - 1) / kWord; ++word)
      if (visit(word)) return true;
    return false;
  }

  std::unordered_map<uint64_t, Use> words_;
};

}  // namespace

std::string object_name(uint64_t address, const Execution& run, const CodeNames& names) {
  std::string object = names.variable_at(address, run.load_base);
  return object.empty() ? fmt::format("{:#x}", address) : object;
}

std::string value_text(uint64_t value, uint64_t size) {
  constexpr int64_t kSmall = 1'000'000;
  if (size > sizeof value) return "...";  // what is kept of those is a hash
  if (size == 0) return "0";
  const unsigned unused = static_cast<unsigned>(sizeof value - size) * 8;
  const auto number = static_cast<int64_t>(value << unused) >> unused;
  return number > -kSmall && number < kSmall ? fmt::format("{}", number) : fmt::format("{:#x}", value);
}

std::string access_text(const heddle_event& event, const Execution& run, const CodeNames& names) {
  const std::string object = object_name(event.address, run, names);
  const std::string value = value_text(event.value, event.size);
  switch (event.kind) {
    case HEDDLE_EVENT_read:
      return fmt::format("reads {}: {}", object, value);
    case HEDDLE_EVENT_write:
      return fmt::format("writes {}: {}", object, value);
    default:
      return fmt::format("changes {} from {} to {}", object, value, value_text(event.after, event.size));
  }
}

std::vector<StoryEvent> event_story(const Execution& run, const CodeNames& names) {
  std::vector<StoryEvent> out;
  const SharedWords shared(run.kept_events);
  size_t event = 0;
  for (size_t step = 0; step < run.schedule.steps.size(); ++step) {
    if (run.schedule.steps[step].kind != StepKind::run) continue;
    const uint64_t count = run.schedule.steps[step].count;
    for (uint64_t i = 0; i < count && event < run.kept_events.size(); ++i, ++event) {
      const heddle_event& each = run.kept_events[event];
      if (shared.has(each))
        out.push_back(
            {.step = step, .place = names.place_of_site(each.site), .what = access_text(each, run, names)});
    }
  }
  return out;
}

}  // namespace heddle
