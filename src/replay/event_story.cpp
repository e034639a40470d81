#include "replay/event_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

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
        Use& use = found->second;
        if (!first && use.thread != event.thread) use.several = true;
        if (event.kind == HEDDLE_EVENT_read) return false;
        use.written = true;
        if (use.several) any_changes_ = use.changes = true;
        return false;
      });
    }
  }

  // What one thread wrote before any other one came to it, such as a thread's arguments, is told only if there
  // is nothing else.
  bool has(const heddle_event& event, bool all) const {
    return is_access(event) && each_word(event, [&](uint64_t word) {
             const Use& use = words_.at(word);
             return all || !any_changes_ ? use.several && use.written : use.changes;
           });
  }

  // A block that threads other than this one have used.
  bool is_of_others(const heddle_event& block) const {
    constexpr uint64_t kLookedAt = 4096;
    heddle_event part = block;
    part.size = std::min(block.size, kLookedAt);
    return part.size != 0 && each_word(part, [&](uint64_t word) {
             const auto use = words_.find(word);
             return use != words_.end() && (use->second.several || use->second.thread != block.thread);
           });
  }

 private:
  struct Use {
    uint16_t thread = 0;
    bool several = false, written = false, changes = false;  // changes: written when several had used it
  };

  // Until one says so.
  static bool each_word(const heddle_event& event, const auto& visit) {
    for (uint64_t word = event.address / kWord; word <= (event.address + event.size - 1) / kWord; ++word)
      if (visit(word)) return true;
    return false;
  }

  std::unordered_map<uint64_t, Use> words_;
  bool any_changes_ = false;
};

// By word of memory: who wrote it last.
class LastWriters {
 public:
  explicit LastWriters(const Execution& run) : run_(run) {
    for (size_t i = 0; i < run.kept_events.size(); ++i) first_event_.try_emplace(run.kept_events[i].thread, i);
  }

  // Who has written what the event reads, if it is another thread, and not one that made this one later.
  std::optional<uint16_t> other_writer(const heddle_event& event) const {
    if (!is_access(event) || event.kind == HEDDLE_EVENT_write) return std::nullopt;
    const auto write = writes_.find(event.address / kWord);
    if (write == writes_.end() || write->second.thread == event.thread) return std::nullopt;
    const bool handed_over = write->second.event < first_event_.at(event.thread) &&
                             name(event.thread).starts_with(name(write->second.thread) + ":");
    return handed_over ? std::nullopt : std::optional(write->second.thread);
  }

  void see(const heddle_event& event, size_t number) {
    if (!is_access(event) || event.kind == HEDDLE_EVENT_read) return;
    for (uint64_t word = event.address / kWord; word <= (event.address + event.size - 1) / kWord; ++word)
      writes_[word] = {event.thread, number};
  }

  std::string name(uint16_t thread) const {
    return thread < run_.schedule.threads.size() ? run_.schedule.threads[thread].name.text() : "";
  }

 private:
  struct Write {
    uint16_t thread = 0;
    size_t event = 0;
  };
  const Execution& run_;
  std::unordered_map<uint64_t, Write> writes_;
  std::unordered_map<uint16_t, size_t> first_event_;  // by thread
};

// Locks, conditions, semaphores and the like: what a thread waits for, and lets others have.
bool is_told(uint32_t sync) {
  return (sync >= HEDDLE_SYNC_mutex_lock && sync <= HEDDLE_SYNC_mutex_unlock) ||
         (sync >= HEDDLE_SYNC_cond_wait && sync <= HEDDLE_SYNC_cond_wait_cxx) ||
         (sync >= HEDDLE_SYNC_rwlock_rdlock && sync <= HEDDLE_SYNC_rwlock_unlock) ||
         (sync >= HEDDLE_SYNC_spin_lock && sync <= HEDDLE_SYNC_spin_unlock) ||
         sync == HEDDLE_SYNC_barrier_wait || (sync >= HEDDLE_SYNC_sem_wait && sync <= HEDDLE_SYNC_sem_post) ||
         sync == HEDDLE_SYNC_thread_join || sync == HEDDLE_SYNC_thread_join_cxx;
}

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
      if (event.after == event.value) return fmt::format("reads {}: {}, and leaves it so", object, value);
      return fmt::format("changes {} from {} to {}", object, value, value_text(event.after, event.size));
  }
}

std::string operation_text(const heddle_event& event, const std::string& object, const std::string& thread) {
  const std::string name = object.empty() ? "" : " " + object;
  if (event.kind == HEDDLE_EVENT_call) {
    if (event.order == HEDDLE_CALL_frees) return fmt::format("frees the {} bytes at{}", event.size, name);
    return fmt::format("{}{} ({} bytes, by a library function)",
                       event.order == HEDDLE_CALL_reads ? "reads" : "writes", name, event.size);
  }
  if (event.kind < HEDDLE_EVENT_sync) return "fence";
  const std::string kind = sync_name(event.kind - HEDDLE_EVENT_sync);
  static const std::vector<std::pair<std::string_view, std::string_view>> kWords = {
      {"mutex_lock", "locks"},
      {"mutex_unlock", "unlocks"},
      {"mutex_trylock", "tries to lock"},
      {"mutex_timedlock", "tries to lock"},
      {"cond_wait", "waits for"},
      {"cond_timedwait", "waits for"},
      {"cond_wait_cxx", "waits for"},
      {"cond_signal", "signals"},
      {"cond_broadcast", "signals all of"},
      {"sem_wait", "waits for semaphore"},
      {"sem_post", "posts semaphore"},
      {"rwlock_rdlock", "locks for reading"},
      {"rwlock_wrlock", "locks for writing"},
      {"rwlock_unlock", "unlocks"},
      {"spin_lock", "locks"},
      {"spin_unlock", "unlocks"},
      {"barrier_wait", "waits at barrier"},
      {"thread_create", "creates a thread"},
      {"thread_start_cxx", "creates a thread"},
      {"thread_join", "joins"},
      {"thread_join_cxx", "joins"},
      {"thread_begin", "begins"},
      {"thread_end", "ends"},
      {"thread_cancel", "cancels"},
      {"process_exit", "ends the process"}};
  const auto word = std::ranges::find(kWords, kind, &std::pair<std::string_view, std::string_view>::first);
  const std::string_view verb = word == kWords.end() ? std::string_view(kind) : word->second;
  if (!thread.empty()) return fmt::format("{} thread {}", verb, thread);
  if (kind.starts_with("thread_") || kind == "process_exit") return std::string(verb);
  const bool tried = kind.find("try") != std::string::npos || kind.find("timed") != std::string::npos;
  return fmt::format("{}{}{}", verb, name, tried && event.after != 0 ? ", in vain" : "");
}

std::vector<StoryEvent> event_story(const Execution& run, const CodeNames& names) {
  std::vector<StoryEvent> out;
  const SharedWords shared(run.kept_events);
  // With store buffers a write may come long before others see it.
  const bool all =
      std::ranges::any_of(run.schedule.steps, [](const Step& step) { return step.kind == StepKind::flush; });
  const auto text_of = [&](const heddle_event& event) -> std::string {
    if (shared.has(event, all)) return access_text(event, run, names);
    if (event.kind == HEDDLE_EVENT_call && event.order == HEDDLE_CALL_frees && shared.is_of_others(event))
      return operation_text(event, object_name(event.address, run, names), "");
    if (event.kind < HEDDLE_EVENT_sync || !is_told(event.kind - HEDDLE_EVENT_sync)) return "";
    const uint32_t sync = event.kind - HEDDLE_EVENT_sync;
    const bool joins = sync == HEDDLE_SYNC_thread_join || sync == HEDDLE_SYNC_thread_join_cxx;
    const std::string thread = joins && event.second < run.schedule.threads.size()
                                   ? run.schedule.threads[event.second].name.text()
                                   : "";
    return operation_text(event, object_name(event.address, run, names), thread);
  };
  LastWriters writers(run);
  size_t event = 0;
  for (size_t step = 0; step < run.schedule.steps.size(); ++step) {
    if (run.schedule.steps[step].kind != StepKind::run) continue;
    const uint64_t count = run.schedule.steps[step].count;
    for (uint64_t i = 0; i < count && event < run.kept_events.size(); ++i, ++event) {
      const heddle_event& each = run.kept_events[event];
      const std::optional<uint16_t> writer = all ? std::nullopt : writers.other_writer(each);
      writers.see(each, event);
      std::string text = text_of(each);
      if (text.empty()) continue;
      if (writer && each.kind == HEDDLE_EVENT_read)
        text += fmt::format(" (written by thread {})", writers.name(*writer));
      out.push_back({.step = step,
                     .event = event,
                     .place = names.place_of_site(each.site),
                     .what = std::move(text),
                     .is_sync = each.kind >= HEDDLE_EVENT_sync,
                     .of_another = writer.has_value()});
    }
  }
  return out;
}

}  // namespace heddle
