#include "report/finding.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "abi/sync_kind.h"
#include "base/library_file.h"
#include "replay/event_story.h"
#include "report/narrative.h"
#include "report/sources.h"

namespace heddle {
namespace {

constexpr size_t kMostEvents = 20000;
constexpr size_t kMostVariables = 500;
constexpr size_t kMostStacks = 16;
constexpr std::chrono::seconds kTimeForStacks(5);  // one run for each
constexpr uint64_t kWordBytes = 8;

std::string kind_text(const heddle_event& event) {
  switch (event.kind) {
    case HEDDLE_EVENT_read:
      return "read";
    case HEDDLE_EVENT_write:
      return "write";
    case HEDDLE_EVENT_update:
      return "update";
    case HEDDLE_EVENT_fence:
      return "fence";
    case HEDDLE_EVENT_call:
      return frees(event) ? "free" : "call";
    default:
      return sync_name(sync_of(event));
  }
}

class FindingMaker {
 public:
  FindingMaker(const Execution& run, const Why& why, const FindingContext& context)
      : run_(run), why_(why), context_(context), order_(run), locks_(order_) {}

  Result<FailureFinding> make() {
    out_.origin = context_.origin;
    out_.schedule_file = context_.schedule_file;
    out_.header = run_.schedule.header;
    out_.threads = run_.schedule.threads;
    out_.steps = run_.schedule.steps;
    out_.measures = measure(run_.schedule);
    out_.failure = *run_.failure;
    out_.replays = context_.replays;
    out_.reproduced = context_.reproduced;
    out_.assumptions = context_.assumptions;
    out_.pattern = why_.pattern;
    out_.unprotected = why_.unprotected;
    out_.pairs = why_.pairs;
    out_.flips = why_.flips;
    out_.impossible = why_.impossible;
    out_.runs = why_.runs;
    out_.finished = why_.finished;
    number_events();
    find_variables();
    add_events();
    add_spans();
    HEDDLE_TRY(add_stacks());
    add_pairs();
    add_sources();
    tell(out_);
    return std::move(out_);
  }

 private:
  void number_events() {
    std::set<size_t> wanted;  // events that must be shown
    for (const DecisivePair& pair : why_.decisive) {
      wanted.insert(pair.first);
      wanted.insert(pair.second);
    }
    const size_t count = order_.moments().size();
    size_t from = count > kMostEvents ? count - kMostEvents : 0;
    for (const size_t event : wanted)
      if (!order_.is_pending(event)) from = std::min(from, order_.moment_of(event));
    out_.left_out = from;
    choose_gap(wanted, from, count);
    for (size_t at = from; at < count; ++at)
      if (!in_gap(at)) shown_.push_back(at);
    for (uint32_t thread = 0; thread < out_.threads.size(); ++thread) {
      bool first = true;
      for (const size_t event : order_.events_of(thread)) {
        if (!order_.is_pending(event)) continue;
        if (first || wanted.contains(event)) pending_[event] = shown_.size() + pending_.size();
        first = false;
      }
    }
  }

  // What was decided early may show very late (a livelock): the long way between is left out.
  void choose_gap(const std::set<size_t>& wanted, size_t from, size_t count) {
    if (count - from <= kMostEvents) return;
    size_t head = from + kMostEvents / 2, tail = count - kMostEvents / 2;
    std::set<size_t> moments;
    for (const size_t event : wanted)
      if (!order_.is_pending(event)) moments.insert(order_.moment_of(event));
    for (const size_t at : moments)
      if (at >= head && at < tail) (at - head <= tail - at ? head = at + 1 : tail = at);
    out_.gap_at = head - from;
    out_.gap = tail - head;
  }

  bool in_gap(size_t at) const {
    const size_t begin = out_.left_out + out_.gap_at;
    return at >= begin && at < begin + out_.gap;
  }
  bool is_shown(size_t at) const { return at >= out_.left_out && !in_gap(at); }

  size_t number_of(size_t event) const {
    return order_.is_pending(event) ? pending_.at(event) : number_of_moment(order_.moment_of(event));
  }
  // A position in the order, or the next one that is shown.
  size_t number_of_moment(size_t at) const {
    if (at < out_.left_out) return 0;
    const size_t number = at - out_.left_out;
    return number < out_.gap_at ? number : number - std::min(out_.gap, number - out_.gap_at);
  }

  void find_variables() {
    struct Use {
      uint16_t thread = 0;
      bool several = false, written = false;
    };
    std::unordered_map<uint64_t, Use> words;
    for (size_t i = 0; i < order_.event_count(); ++i) {
      const heddle_event& event = order_.event(i);
      if (!is_access(event) || frees(event)) continue;
      Use& use = words.try_emplace(event.address / kWordBytes, Use{.thread = event.thread}).first->second;
      if (use.thread != event.thread) use.several = true;
      if (is_write(event)) use.written = true;
    }
    for (size_t i = 0; i < order_.event_count(); ++i) {
      const heddle_event& event = order_.event(i);
      if (!is_access(event) || frees(event) || event.kind == HEDDLE_EVENT_call) continue;
      const Use& use = words.at(event.address / kWordBytes);
      if (!use.several || !use.written) continue;
      const auto [found, is_new] = variables_.try_emplace(event.address, out_.variables.size());
      if (!is_new || out_.variables.size() == kMostVariables) continue;
      FindingVariable variable{.name = object_name(event.address, run_, context_.names)};
      if (event.kind != HEDDLE_EVENT_write) variable.initial = value_text(event.value, event.size);
      out_.variables.push_back(std::move(variable));
    }
  }

  std::optional<CodePlace> place_of(uint32_t site) {
    auto [found, is_new] = places_.try_emplace(site);
    if (is_new) {
      found->second = context_.names.place_of_site(site);
      if (found->second && found->second->line == 0) found->second.reset();
    }
    return found->second;
  }

  FindingEvent event_of(size_t number) {
    const heddle_event& event = order_.event(number);
    FindingEvent out{.thread = event.thread,
                     .kind = kind_text(event),
                     .place = place_of(event.site),
                     .pending = order_.is_pending(number)};
    if (!out.pending) out.step = order_.moments()[order_.moment_of(number)].step;
    if (event.address != 0) out.object = object_name(event.address, run_, context_.names);
    if (event.kind <= HEDDLE_EVENT_update) {
      out.value = value_text(event.value, event.size);
      if (event.kind == HEDDLE_EVENT_update) out.after = value_text(event.after, event.size);
      out.text = access_text(event, run_, context_.names);
      const auto variable = variables_.find(event.address);
      if (variable != variables_.end() && variable->second < out_.variables.size())
        out.variable = variable->second;
    } else {
      out.text = operation_text(event, out.object, threads_of(event));
    }
    if (out.pending) out.text = "does not come to this: " + out.text;
    return out;
  }

  // Of who joins, cancels and so on: the other thread.
  std::string threads_of(const heddle_event& event) const {
    const uint32_t sync = sync_of(event);
    const bool about_thread = sync > HEDDLE_SYNC_thread_start_cxx && sync <= HEDDLE_SYNC_thread_join_cxx;
    return about_thread && event.second < out_.threads.size() ? out_.threads[event.second].name.text() : "";
  }

  void add_events() {
    for (const size_t at : shown_) {
      const Moment& moment = order_.moments()[at];
      if (moment.kind == StepKind::run) {
        out_.events.push_back(event_of(moment.event));
        continue;
      }
      FindingEvent event{.thread = moment.thread, .step = moment.step};
      if (moment.kind == StepKind::flush) {
        event.kind = "visible";
        event.text = "a buffered store becomes visible";
        if (moment.event != kNoEvent) {
          const FindingEvent store = event_of(moment.event);
          event.object = store.object;
          event.value = store.value;
          event.place = store.place;
          event.variable = store.variable;
          event.text = "its store to " + store.object + " becomes visible: " + store.value;
          if (is_shown(order_.moment_of(moment.event))) event.store = number_of(moment.event);
        }
      } else {
        event.kind = moment.kind == StepKind::wake ? "wake" : "timeout";
        event.text = moment.kind == StepKind::wake ? "is woken without a signal" : "its time is over";
      }
      out_.events.push_back(std::move(event));
    }
    std::vector<std::pair<size_t, size_t>> pending;
    for (const auto& [event, number] : pending_) pending.emplace_back(number, event);
    std::ranges::sort(pending);
    for (const auto& [number, event] : pending) out_.events.push_back(event_of(event));
  }

  void add_spans() {
    const size_t end = shown_.size();
    for (const HeldLock& lock : locks_.spans()) {
      const size_t released = lock.released == kNoEvent ? end : number_of(lock.released);
      if (lock.released != kNoEvent && order_.moment_of(lock.released) < out_.left_out) continue;
      if (lock.released != kNoEvent && in_gap(order_.moment_of(lock.taken)) &&
          in_gap(order_.moment_of(lock.released)))
        continue;
      out_.locks.push_back({.thread = order_.event(lock.taken).thread,
                            .object = object_name(lock.object, run_, context_.names),
                            .begin = number_of_moment(order_.moment_of(lock.taken)),
                            .end = released,
                            .shared = lock.shared});
    }
    if (out_.header.memory_model == MemoryModel::sc) return;
    for (size_t i = 0; i < order_.event_count(); ++i) {
      if (order_.event(i).kind != HEDDLE_EVENT_write || !order_.was_buffered(i)) continue;
      if (!is_shown(order_.moment_of(i))) continue;
      out_.buffered.push_back({.thread = order_.event(i).thread,
                               .object = object_name(order_.event(i).address, run_, context_.names),
                               .begin = number_of(i),
                               .end = std::min(number_of_moment(order_.visible_at(i)), end)});
    }
  }

  // Where a thread stands is known when it stops there: a run that ends with the event.
  Result<void> add_stacks() {
    size_t done = 0;
    const auto deadline = std::chrono::steady_clock::now() + kTimeForStacks;
    for (const DecisivePair& pair : why_.decisive)
      for (const size_t event : {pair.first, pair.second}) {
        FindingEvent& known = out_.events[number_of(event)];
        if (order_.is_pending(event) || event == 0 || !known.stack.empty() || done == kMostStacks ||
            std::chrono::steady_clock::now() >= deadline)
          continue;
        ++done;
        const Schedule schedule = schedule_of(order_.moments(), run_.schedule);
        RunRules rules = context_.rules;
        rules.max_events = event;
        const Execution stopped = HEDDLE_TRY(
            context_.executor.execute({.schedule = &schedule, .rules = rules, .deadline = deadline}));
        if (stopped.outcome != Outcome::limit) continue;
        known.stack = stopped.stack;
        if (known.place && !is_library_file(known.place->file)) continue;
        // Their own line is what people look for.
        const auto own = std::ranges::find_if(known.stack, [](const StackFrame& frame) {
          return frame.place && !is_library_file(frame.place->file);
        });
        if (own != known.stack.end()) known.place = own->place;
      }
    return {};
  }

  void add_pairs() {
    for (const DecisivePair& pair : why_.decisive)
      out_.decisive.push_back({.first = number_of(pair.first),
                               .second = number_of(pair.second),
                               .visibility = pair.visibility,
                               .flipped_passed = pair.flipped_passed,
                               .flipped_runs = pair.flipped_runs,
                               .kept_failed = pair.kept_failed,
                               .kept_runs = pair.kept_runs});
    const bool shown =
        why_.local_first != kNoEvent && std::ranges::any_of(why_.decisive, [&](const DecisivePair& pair) {
          return pair.first == why_.local_first;
        });
    if (shown) out_.unit = std::pair(number_of(why_.local_first), number_of(why_.local_second));
  }

  void add_sources() {
    std::map<std::string, std::set<uint32_t>> lines;
    const auto add = [&](const std::optional<CodePlace>& place) {
      if (place && !place->file.empty() && place->line != 0) lines[place->file].insert(place->line);
    };
    for (const FindingEvent& event : out_.events)
      if (event.place && !is_library_file(event.place->file)) add(event.place);
    add(out_.failure.place);
    add(out_.failure.other_place);
    for (const WaitingThread& wait : out_.failure.waits) add(wait.place);
    for (const FindingPair& pair : out_.decisive)
      for (const size_t event : {pair.first, pair.second}) {
        add(out_.events[event].place);
        for (const StackFrame& frame : out_.events[event].stack)
          if (frame.place && !is_library_file(frame.place->file)) add(frame.place);
      }
    out_.sources = source_texts(lines, context_.names);
  }

  const Execution& run_;
  const Why& why_;
  const FindingContext& context_;
  const RunOrder order_;
  const HeldLocks locks_;
  FailureFinding out_;
  std::vector<size_t> shown_;         // moments
  std::map<size_t, size_t> pending_;  // event -> number
  std::unordered_map<uint64_t, size_t> variables_;
  std::unordered_map<uint32_t, std::optional<CodePlace>> places_;
};

}  // namespace

Result<FailureFinding> make_finding(const Execution& run, const Why& why, const FindingContext& context) {
  return FindingMaker(run, why, context).make();
}

}  // namespace heddle
