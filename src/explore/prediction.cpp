#include "explore/prediction.h"

#include <algorithm>

#include "schedule/schedule_text.h"

namespace heddle {
namespace {

constexpr unsigned kMostAttempts = 3;      // for the same places: runs repeat themselves
constexpr size_t kMostValues = 6;          // of one read
constexpr uint64_t kLargestObject = 4096;  // behind a pointer
constexpr size_t kUsedSoon = 256;          // events of a thread between a pointer's read and its use
constexpr size_t kMostRelevant = 4096;
constexpr unsigned kMostReads = 64;    // of one place
constexpr ptrdiff_t kNearWrites = 16;  // before a read, and behind it
constexpr uint64_t kGranule = 16;

bool is_read(const heddle_event& event) {
  return (event.kind == HEDDLE_EVENT_read || event.kind == HEDDLE_EVENT_update) && event.size != 0 &&
         event.address % 8 + event.size <= 8;
}

// Has the run shown what was predicted, and not something else?
bool is_such(Prediction::Kind kind, const Failure& failure) {
  switch (kind) {
    case Prediction::Kind::race:
      return false;
    case Prediction::Kind::null_dereference:
      return failure.kind == "segv";
    case Prediction::Kind::use_after_free:
      return failure.kind == "use-after-free";
    case Prediction::Kind::assertion:
      return failure.kind == "assert" || failure.kind == "abort" || failure.kind == "exception";
  }
  return false;
}

bool have_lock_in_common(const RaceSide& left, const RaceSide& right) {
  return std::ranges::any_of(
      left.locks, [&](uint64_t lock) { return std::ranges::find(right.locks, lock) != right.locks.end(); });
}

}  // namespace

std::string_view text_of(Prediction::Kind kind) {
  switch (kind) {
    case Prediction::Kind::race:
      return "data race";
    case Prediction::Kind::null_dereference:
      return "null dereference";
    case Prediction::Kind::use_after_free:
      return "use after free";
    case Prediction::Kind::assertion:
      return "assertion";
  }
  return "";
}

Predictor::Predictor(const Execution& run, MemoryModel model, const Means& means, std::vector<Prediction>& out)
    : run_(run), means_(means), out_(out), needs_(run, model), of_thread_(run.schedule.threads.size()) {
  for (uint32_t i = 0; i < run.kept_events.size(); ++i) {
    std::vector<uint32_t>& events = of_thread_[run.kept_events[i].thread];
    place_.push_back(static_cast<uint32_t>(events.size()));
    events.push_back(i);
  }
}

Result<void> Predictor::predict() {
  might_.look_at(run_);
  HEDDLE_TRY(races());
  HEDDLE_TRY(frees());
  return values();
}

RaceSide Predictor::side(uint32_t event) const {
  const heddle_event& at = run_.kept_events[event];
  return {.site = at.site,
          .thread = run_.schedule.threads[at.thread].name,
          .writes = at.kind != HEDDLE_EVENT_read,
          .atomic = at.kind <= HEDDLE_EVENT_update && at.order != HEDDLE_ORDER_plain,
          .event = event};
}

// One for each pair of places; what is confirmed counts more.
void Predictor::note(Prediction prediction) {
  prediction.load_base = run_.load_base;
  const auto same = std::ranges::find_if(out_, [&](const Prediction& each) {
    return each.kind == prediction.kind && each.first.site == prediction.first.site &&
           each.second.site == prediction.second.site && each.failing == prediction.failing;
  });
  if (same == out_.end())
    out_.push_back(std::move(prediction));
  else if (prediction.confirmed && !same->confirmed)
    *same = std::move(prediction);
}

Result<Predictor::Shown> Predictor::show(Prediction candidate, const Schedule& schedule) {
  if (!tried_.insert(std::hash<std::string>()(schedule_text(schedule))).second) return Shown::no;
  const Execution run = HEDDLE_TRY(means_.execute(schedule));
  if (candidate.kind == Prediction::Kind::race)
    candidate.confirmed = means_.has_race(candidate.first.site, candidate.second.site);
  else
    candidate.confirmed = run.outcome == Outcome::failed && is_such(candidate.kind, *run.failure);
  if (run.outcome == Outcome::failed) candidate.failure = run.failure->identity;
  if (candidate.confirmed) {
    note(std::move(candidate));
    return Shown::yes;
  }
  return run.outcome == Outcome::passed || run.outcome == Outcome::failed ? Shown::no : Shown::not_tried;
}

// ---- races

Result<void> Predictor::races() {
  for (const Race& each : might_.found()) {
    if (means_.is_over()) return {};
    if ((each.first.atomic && each.second.atomic) || have_lock_in_common(each.first, each.second)) continue;
    if (means_.has_race(each.first.site, each.second.site)) continue;
    const uint32_t first = needs_.action_of(static_cast<uint32_t>(each.first.event));
    const uint32_t second = needs_.action_of(static_cast<uint32_t>(each.second.event));
    const Prediction candidate{.first = each.first, .second = each.second, .address = each.address};
    Shown shown = Shown::not_tried;
    // As they are; or one of them takes its locks only when the other one is there. At last with other values
    // for what they read, which may not matter to them; that shows something or nothing.
    for (const RunNeeds::Reads reads : {RunNeeds::Reads::same, RunNeeds::Reads::any})
      for (const auto& [early, late, from] :
           {std::tuple(first, second, second), std::tuple(second, first, needs_.outermost_lock(first)),
            std::tuple(first, second, needs_.outermost_lock(second))}) {
        if (from == RunNeeds::kNone || shown != Shown::not_tried) continue;
        const auto part = needs_.smallest(std::array{needs_.before(early), needs_.before(from)},
                                          std::array{early, from}, reads);
        if (!part) continue;
        std::vector<uint32_t> then(runs_between(from, late) + 1, needs_.actions()[late].thread);
        then.push_back(needs_.actions()[early].thread);
        const Shown now = HEDDLE_TRY(show(candidate, needs_.schedule_of(*part, then)));
        if (now == Shown::yes || reads == RunNeeds::Reads::same) shown = now;
      }
    if (shown == Shown::not_tried &&
        needs_.may_be(std::array{needs_.before(first), needs_.before(second)}, std::array{first, second}))
      note(candidate);
  }
  return {};
}

// ---- use after free

Result<void> Predictor::frees() {
  std::unordered_map<uint64_t, std::vector<uint32_t>> users;  // events by what they use: 16 bytes
  for (uint32_t i = 0; i < run_.kept_events.size(); ++i) {
    const heddle_event& freed = run_.kept_events[i];
    const bool frees = freed.kind == HEDDLE_EVENT_call && freed.order == HEDDLE_CALL_frees;
    if (!frees) {
      if (freed.address != 0) users[freed.address / kGranule].push_back(i);
      continue;
    }
    std::vector<uint32_t> uses;
    const uint64_t end_of_block = freed.address + std::min(freed.size, kLargestObject);
    for (uint64_t at = freed.address / kGranule; at * kGranule < end_of_block; ++at)
      if (const auto found = users.find(at); found != users.end()) {
        uses.insert(uses.end(), found->second.begin(), found->second.end());
        users.erase(found);  // what is there later is another block
      }
    for (const uint32_t k : uses) {
      if (means_.is_over()) return {};
      const heddle_event& used = run_.kept_events[k];
      if (used.thread == freed.thread || used.address < freed.address ||
          used.address >= freed.address + freed.size)
        continue;
      if (++attempts_[{used.site, freed.site, UINT64_MAX}] > kMostAttempts) continue;
      const uint32_t access = needs_.action_of(k), end = needs_.action_of(i);
      const Prediction candidate{.kind = Prediction::Kind::use_after_free,
                                 .first = side(k),
                                 .second = side(i),
                                 .address = used.address};
      Shown shown = Shown::not_tried;
      for (const uint32_t from : {access, needs_.outermost_lock(access)}) {
        if (from == RunNeeds::kNone || shown == Shown::yes) continue;
        std::vector<uint32_t> wanted = needs_.releases_behind(end);
        if (from == access) wanted.clear();
        wanted.push_back(needs_.before(from));
        wanted.push_back(end);
        const auto part = needs_.smallest(wanted, std::array{from});
        if (!part) continue;
        const std::vector<uint32_t> then(runs_between(from, access) + 1, used.thread);
        shown = HEDDLE_TRY(show(candidate, needs_.schedule_of(*part, then)));
      }
    }
  }
  return {};
}

// ---- values

// Where the thread uses what it has read as the address of something.
std::optional<uint32_t> Predictor::use_of_pointer(uint32_t event) const {
  const heddle_event& read = run_.kept_events[event];
  if (read.size != 8 || read.value < kLargestObject) return std::nullopt;
  const std::vector<uint32_t>& events = of_thread_[read.thread];
  const size_t end = std::min(events.size(), place_[event] + kUsedSoon);
  for (size_t i = place_[event] + 1; i < end; ++i) {
    const heddle_event& at = run_.kept_events[events[i]];
    if (at.address >= read.value && at.address - read.value < kLargestObject) return at.site;
  }
  return std::nullopt;
}

// Reads that assertions are computed from, and those that what these read was computed from.
void Predictor::note_relevant_reads() {
  if (means_.assertions == nullptr) return;
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < run_.kept_events.size() && relevant_.size() < kMostRelevant; ++i)
    if (is_read(run_.kept_events[i]) && !means_.assertions->decided_by(run_.kept_events[i].site).empty() &&
        relevant_.insert(i).second)
      open.push_back(i);
  while (!open.empty() && relevant_.size() < kMostRelevant) {
    const heddle_event& read = run_.kept_events[open.back()];
    const uint32_t action = needs_.action_of(open.back());
    open.pop_back();
    // The last store that it can have read.
    const std::vector<RunNeeds::Write>& writes = needs_.writes_to_word(read.address);
    const auto source = std::ranges::find_if(writes.rbegin(), writes.rend(), [&](const RunNeeds::Write& each) {
      return each.store < action && each.address <= read.address && read.address < each.address + each.size;
    });
    if (source == writes.rend()) continue;
    const uint32_t stored = needs_.actions()[source->store].event;
    const heddle_event& store = run_.kept_events[stored];
    if (is_read(store) && relevant_.insert(stored).second) open.push_back(stored);
    const std::vector<uint32_t>& events = of_thread_[store.thread];
    for (const uint32_t load : means_.assertions->stored_from(store.site))
      for (size_t i = place_[stored]; i-- > 0 && place_[stored] - i < kUsedSoon;) {
        if (run_.kept_events[events[i]].site != load) continue;
        if (is_read(run_.kept_events[events[i]]) && relevant_.insert(events[i]).second)
          open.push_back(events[i]);
        break;
      }
  }
}

Result<void> Predictor::values() {
  note_relevant_reads();
  for (uint32_t i = 0; i < run_.kept_events.size() && !means_.is_over(); ++i) {
    const heddle_event& event = run_.kept_events[i];
    if (!is_read(event) || needs_.writes_to_word(event.address).empty()) continue;
    if (const std::optional<uint32_t> use = use_of_pointer(i))
      HEDDLE_TRY(value(i, {.kind = Prediction::Kind::null_dereference, .failing = *use}));
    if (!relevant_.contains(i)) continue;
    const std::vector<uint32_t>& assertions = means_.assertions->decided_by(event.site);
    const uint32_t assertion = assertions.empty() ? UINT32_MAX : assertions.front();
    HEDDLE_TRY(
        value(i, {.kind = Prediction::Kind::assertion,
                  .failing = assertions.empty() ? HEDDLE_NO_SITE : means_.assertions->failing_call(assertion),
                  .assertion = assertion}));
  }
  return {};
}

// The other values that the read might return: of each write of another thread, and what was there before all
// of them.
Result<void> Predictor::value(uint32_t event, const Target& target) {
  const heddle_event& read = run_.kept_events[event];
  const uint32_t action = needs_.action_of(event);
  if (++reads_of_[{read.site, target.kind}] > kMostReads) return {};
  const std::vector<RunNeeds::Write>& all = needs_.writes_to_word(read.address);
  const auto here = std::ranges::lower_bound(all, action, {}, &RunNeeds::Write::visible) - all.begin();
  const ptrdiff_t first = std::max<ptrdiff_t>(0, here - kNearWrites);
  std::vector<const RunNeeds::Write*> writes;
  if (first == 0) writes.push_back(nullptr);
  for (ptrdiff_t i = first; i < std::min(std::ssize(all), here + kNearWrites); ++i)
    if (all[i].address < read.address + read.size && read.address < all[i].address + all[i].size)
      writes.push_back(&all[i]);
  size_t values = 0;
  for (size_t i = 0; i < writes.size() && values < kMostValues; ++i) {
    if (means_.is_over()) return {};
    const RunNeeds::Write* write = writes[i];
    if (write != nullptr && (write->address != read.address || write->size != read.size)) continue;
    if (write != nullptr && needs_.actions()[write->store].thread == read.thread) continue;
    const std::optional<uint64_t> found =
        write != nullptr ? std::optional(write->value) : needs_.first_value(read.address, read.size);
    if (found == read.value) continue;
    if (target.kind == Prediction::Kind::null_dereference && found.value_or(0) != 0) continue;
    const uint32_t writer =
        write != nullptr ? run_.kept_events[needs_.actions()[write->store].event].site : HEDDLE_NO_SITE;
    if (++attempts_[{read.site, writer, found.value_or(UINT64_MAX)}] > kMostAttempts) continue;
    ++values;
    Prediction candidate{.kind = target.kind,
                         .first = side(event),
                         .failing = target.failing,
                         .address = read.address,
                         .value = found.value_or(0)};
    if (write != nullptr) candidate.second = side(needs_.actions()[write->store].event);
    const Shown shown =
        HEDDLE_TRY(try_value(candidate, action, write, i + 1 < writes.size() ? writes[i + 1] : nullptr));
    if (shown != Shown::not_tried || write == nullptr || !would_fail(target, event, write->value) ||
        !might_.has(read.site, candidate.second.site))
      continue;
    const std::array wanted{needs_.before(action), write->visible};
    const std::array never{action};
    if (needs_.may_be(wanted, never)) note(std::move(candidate));
  }
  return {};
}

Result<Predictor::Shown> Predictor::try_value(const Prediction& candidate, uint32_t action,
                                              const RunNeeds::Write* write, const RunNeeds::Write* next) {
  const heddle_event& read = run_.kept_events[needs_.actions()[action].event];
  const auto all = static_cast<uint32_t>(needs_.actions().size());
  const uint32_t visible = write != nullptr ? write->visible : RunNeeds::kNone;
  Shown shown = Shown::not_tried;
  // The thread goes on from the action `from` to the read behind the part.
  const auto try_part = [&](const Part& part, uint32_t from) -> Result<bool> {
    const auto found = needs_.found_behind(part, read.address, read.size);
    if (!found || found->none != (write == nullptr) || (write != nullptr && found->value != write->value))
      return false;
    const std::vector<uint32_t> then(runs_between(from, action) + 1, read.thread);
    const Shown now = HEDDLE_TRY(show(candidate, needs_.schedule_of(part, then)));
    if (now != Shown::not_tried) shown = now;
    return now == Shown::yes;
  };
  const auto has = [](const Part& part, uint32_t each) { return each == RunNeeds::kNone || part[each]; };
  const uint32_t locked = needs_.outermost_lock(action);
  for (const uint32_t from : {action, locked}) {
    if (from == RunNeeds::kNone) continue;
    std::vector<uint32_t> wanted = {needs_.before(from), visible};
    if (from == locked && write != nullptr)
      for (const uint32_t each : needs_.releases_behind(visible)) wanted.push_back(each);
    // Whoever wrote next stands before that, or before its lock, which the thread may need.
    const uint32_t stop = next != nullptr ? next->visible : RunNeeds::kNone;
    for (const uint32_t each : {stop, next != nullptr ? needs_.outermost_lock(next->store) : stop}) {
      const Part most = needs_.largest(std::array{from, each == RunNeeds::kNone ? stop : each}, all);
      if (std::ranges::all_of(wanted, [&](uint32_t one) { return has(most, one); }) &&
          HEDDLE_TRY(try_part(most, from)))
        return shown;
    }
    const std::optional<Part> least = needs_.smallest(wanted, std::array{from});
    if (least && HEDDLE_TRY(try_part(*least, from))) return shown;
  }
  return shown;
}

// What its thread does from one action to another.
uint32_t Predictor::runs_between(uint32_t from, uint32_t to) const {
  return place_[needs_.actions()[to].event] - place_[needs_.actions()[from].event];
}

bool Predictor::would_fail(const Target& target, uint32_t event, uint64_t value) const {
  if (target.kind == Prediction::Kind::null_dereference) return true;
  if (target.assertion == UINT32_MAX) return false;
  const uint32_t site = run_.kept_events[event].site;
  const std::vector<uint32_t>& events = of_thread_[run_.kept_events[event].thread];
  // Of other loads the first one behind the read, or the last before it.
  const auto value_of = [&](uint32_t load) -> std::optional<uint64_t> {
    if (load == site) return value;
    for (size_t i = place_[event] + 1; i < events.size() && run_.kept_events[events[i]].site != site; ++i)
      if (run_.kept_events[events[i]].site == load) return run_.kept_events[events[i]].value;
    for (size_t i = place_[event]; i-- > 0;)
      if (run_.kept_events[events[i]].site == load) return run_.kept_events[events[i]].value;
    return std::nullopt;
  };
  return means_.assertions->fails(target.assertion, value_of).value_or(false);
}

}  // namespace heddle
