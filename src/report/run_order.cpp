#include "report/run_order.h"

#include <algorithm>
#include <deque>

#include "schedule/measures.h"

namespace heddle {
namespace {

bool empties_buffer(const heddle_event& event) {
  return event.kind == HEDDLE_EVENT_update || event.kind >= HEDDLE_EVENT_fence ||
         (event.kind == HEDDLE_EVENT_write && event.order == HEDDLE_ORDER_seq_cst);
}

}  // namespace

RunOrder::RunOrder(const Execution& run) : run_(run) {
  by_thread_.resize(std::max<size_t>(run.schedule.threads.size(), 1));
  moment_of_.assign(all_events(), 0);
  ordinal_.assign(all_events(), 0);
  size_t event = 0;
  for (size_t step = 0; step < run.schedule.steps.size(); ++step) {
    const Step& each = run.schedule.steps[step];
    const uint64_t count = each.kind == StepKind::run || each.kind == StepKind::flush ? each.count : 1;
    for (uint64_t i = 0; i < count; ++i) {
      Moment moment{.kind = each.kind, .thread = each.thread.value, .step = step, .location = each.location};
      if (each.kind == StepKind::run) {
        if (event == event_count()) {
          complete_ = false;
          break;
        }
        moment_of_[event] = moments_.size();
        moment.event = event++;
      }
      moments_.push_back(std::move(moment));
    }
  }
  if (event != event_count()) complete_ = false;
  for (size_t i = 0; i < all_events(); ++i) {
    std::vector<size_t>& own = by_thread_[this->event(i).thread];
    ordinal_[i] = own.size();
    own.push_back(i);
    if (is_pending(i)) moment_of_[i] = moments_.size();
  }
  find_visibility();
}

// Which store a flush is about: the oldest of its thread, or of its thread to this address. What empties a
// buffer without a step of its own (synchronisation, fences) does so when it is performed.
void RunOrder::find_visibility() {
  visible_at_ = moment_of_;
  if (run_.schedule.header.memory_model == MemoryModel::sc) return;
  std::vector<std::deque<size_t>> buffers(by_thread_.size());
  size_t last_step = static_cast<size_t>(-1);
  for (size_t at = 0; at < moments_.size(); ++at) {
    Moment& moment = moments_[at];
    std::deque<size_t>& buffer = buffers[moment.thread];
    if (moment.kind == StepKind::run) {
      const heddle_event& event = run_.kept_events[moment.event];
      if (empties_buffer(event)) {
        for (const size_t store : buffer) visible_at_[store] = at;
        buffer.clear();
      } else if (event.kind == HEDDLE_EVENT_write) {
        buffer.push_back(moment.event);
      }
    } else if (moment.kind == StepKind::flush) {
      auto store = buffer.begin();
      const bool tells = moment.step != last_step && moment.step < run_.step_addresses.size();
      const uint64_t address = moment.step < run_.step_addresses.size() ? run_.step_addresses[moment.step] : 0;
      if (tells || moment.location != nullptr)
        store = std::ranges::find_if(buffer,
                                     [&](size_t each) { return run_.kept_events[each].address == address; });
      last_step = moment.step;
      if (store == buffer.end()) continue;
      // Older ones went without being told, if the buffer is a queue.
      if (moment.location == nullptr) {
        for (auto older = buffer.begin(); older != store; ++older) visible_at_[*older] = moment_of_[*older];
        store = buffer.erase(buffer.begin(), store);
      }
      moment.event = *store;
      visible_at_[*store] = at;
      buffer.erase(store);
    }
  }
  for (const auto& buffer : buffers)
    for (const size_t store : buffer) visible_at_[store] = moments_.size();
}

Schedule schedule_of(const std::vector<Moment>& moments, const Schedule& like) {
  Schedule out{.header = like.header, .threads = like.threads};
  out.header.prefix = true;
  out.header.failure.clear();
  out.header.events.reset();
  out.header.values.clear();
  for (const Moment& moment : moments) {
    Step step{.kind = moment.kind, .thread = ThreadIndex(moment.thread), .location = moment.location};
    if (!out.steps.empty() && same_target(out.steps.back(), step) &&
        (step.kind == StepKind::run || step.kind == StepKind::flush))
      ++out.steps.back().count;
    else
      out.steps.push_back(std::move(step));
  }
  return out;
}

}  // namespace heddle
