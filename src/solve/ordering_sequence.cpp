#include "solve/ordering_sequence.h"

namespace heddle {

OrderingSequence::OrderingSequence(const OrderingModel& model, const std::vector<uint32_t>& sources, Next next)
    : model_(model),
      sources_(sources),
      next_(next),
      done_(model.order.chains()),
      unread_initial_(model.cells.size()),
      memory_(model.cells.size(), kInitial),
      visible_(model.writes.size()),
      sync_(*model.problem().trace) {
  for (uint32_t chain = 0; chain < model.order.chains(); ++chain)
    limits_.push_back(model.order.count_before(model.end, chain));
  uint32_t places = 0;
  for (const OrderingWrite& write : model.writes) {
    first_unread_.push_back(places);
    places += write.cells;
  }
  unread_.resize(places);
  for (uint32_t number = 0; number < sources.size(); ++number) {
    const OrderingRead& read = model.reads[number];
    if (sources[number] != UINT32_MAX) ++unread(read.candidates[sources[number]].write, read.cell);
  }
  uint32_t running = 0;
  while (refused_.empty()) {
    std::optional<Moment> chosen = choose(running, true);
    if (!chosen) chosen = choose(running, false);
    if (!chosen) break;
    perform(*chosen);
    if (model.contents[*chosen].flushed == kInitial) running = model.contents[*chosen].thread;
  }
  if (refused_.empty()) note_refused();
}

bool OrderingSequence::is_ready(Moment moment) const {
  for (uint32_t chain = 0; chain < done_.size(); ++chain)
    if (model_.order.count_before(moment, chain) > done_[chain]) return false;
  return true;
}

bool OrderingSequence::overwrites(uint32_t number, Moment moment) const {
  const OrderingWrite& write = model_.writes[number];
  for (uint32_t cell = write.first_cell; cell < write.first_cell + write.cells; ++cell) {
    const uint32_t there = memory_[cell];
    uint32_t left = const_cast<OrderingSequence*>(this)->unread(there, cell);
    // An update reads what it overwrites.
    const uint32_t own = model_.contents[moment].flushed == kInitial && left > 0
                             ? model_.read_event(write.thread, write.event)
                             : kInitial;
    if (own != kInitial) {
      const OrderingReadEvent& event = model_.read_events[own];
      const uint32_t read = event.first + cell - model_.reads[event.first].cell;
      left -= sources_[read] != UINT32_MAX && model_.reads[read].candidates[sources_[read]].write == there;
    }
    if (left > 0) return true;
  }
  return false;
}

bool OrderingSequence::overwrites(Moment moment) const {
  const MomentContent& content = model_.contents[moment];
  if (content.flushed != kInitial) return overwrites(content.flushed, moment);
  for (uint32_t e = content.first_event; e < content.behind; ++e) {
    const uint32_t write = model_.write_number(content.thread, e);
    if (write != kInitial && !model_.writes[write].buffered && overwrites(write, moment)) return true;
  }
  return false;
}

bool OrderingSequence::can_come(uint32_t chain, bool careful) const {
  if (done_[chain] >= limits_[chain]) return false;
  const Moment moment = model_.order.at(chain, done_[chain]);
  if (!is_ready(moment) || (careful && overwrites(moment))) return false;
  const MomentContent& content = model_.contents[moment];
  if (content.flushed != kInitial) return true;
  const Event& event = model_.event(content.thread, content.first_event);
  return is_access(event.kind) || sync_.is_enabled(content.thread, event);
}

std::optional<Moment> OrderingSequence::choose(uint32_t running, bool careful) const {
  const auto threads = static_cast<uint32_t>(model_.problem().trace->threads.size());
  const auto moment = [&](uint32_t chain) { return model_.order.at(chain, done_[chain]); };
  if (next_ != Next::in_time && can_come(running, careful)) return moment(running);
  for (uint32_t chain = threads + 1; chain < done_.size(); ++chain)
    if (can_come(chain, careful)) return moment(chain);
  std::optional<Moment> chosen;
  for (uint32_t i = 0; i < threads; ++i) {
    const uint32_t thread = (running + i) % threads;
    if (!can_come(thread, careful)) continue;
    if (next_ == Next::round) return moment(thread);
    if (!chosen || model_.times[moment(thread)] < model_.times[*chosen]) chosen = moment(thread);
  }
  return chosen;
}

void OrderingSequence::make_visible(uint32_t number) {
  const OrderingWrite& write = model_.writes[number];
  for (uint32_t cell = write.first_cell; cell < write.first_cell + write.cells; ++cell) memory_[cell] = number;
  visible_[number] = true;
}

void OrderingSequence::read(uint32_t number) {
  const OrderingRead& read = model_.reads[number];
  if (sources_[number] == UINT32_MAX) return;
  const uint32_t source = read.candidates[sources_[number]].write;
  --unread(source, read.cell);
  const bool is_own_buffered = read.own != kInitial && !visible_[read.own];
  const uint32_t found = is_own_buffered ? read.own : memory_[read.cell];
  if (found != source) wrong_.push_back({.read = number, .write = found});
}

void OrderingSequence::perform(Moment moment) {
  moments_.push_back(moment);
  ++done_[model_.order.chain_of(moment)];
  const MomentContent& content = model_.contents[moment];
  if (content.flushed != kInitial) return make_visible(content.flushed);
  for (uint32_t e = content.first_event; e < content.behind; ++e) {
    const Event& event = model_.event(content.thread, e);
    if (const uint32_t reads = model_.read_event(content.thread, e); reads != kInitial)
      for (uint32_t i = 0; i < model_.read_events[reads].count; ++i) read(model_.read_events[reads].first + i);
    if (const uint32_t write = model_.write_number(content.thread, e); write != kInitial) {
      if (!model_.writes[write].buffered) make_visible(write);
    } else if (!is_access(event.kind) && event.kind != EventKind::fence) {
      if (!sync_.is_enabled(content.thread, event)) {
        refused_.push_back({content.thread, e});
        return;
      }
      if (event.kind == EventKind::semaphore_value)
        counts_.push_back({{content.thread, e}, sync_.semaphore(event.address) & low_bits(event.size * 8)});
      sync_.perform(content.thread, event);
    }
  }
}

void OrderingSequence::note_refused() {
  const auto threads = static_cast<uint32_t>(model_.problem().trace->threads.size());
  for (uint32_t thread = 0; thread < threads; ++thread) {
    if (done_[thread] >= limits_[thread]) continue;
    const Moment moment = model_.order.at(thread, done_[thread]);
    if (is_ready(moment)) refused_.push_back({thread, model_.contents[moment].first_event});
  }
}

std::vector<OrderItem> OrderingSequence::items() const {
  std::vector<OrderItem> items;
  const bool buffers = model_.problem().model != MemoryModel::sc;
  for (const Moment moment : moments_) {
    const MomentContent& content = model_.contents[moment];
    if (content.flushed != kInitial) {
      items.push_back({.thread = content.thread, .event = model_.writes[content.flushed].event, .flush = true});
      continue;
    }
    // Writes that become visible inside of their step, before what needs an empty buffer.
    std::vector<uint32_t> buffered;
    for (uint32_t e = content.first_event; e < content.behind; ++e) {
      const Event& event = model_.event(content.thread, e);
      if (buffers && OrderingModel::needs_empty_buffer(event)) {
        for (const uint32_t write : buffered)
          items.push_back({.thread = content.thread, .event = write, .flush = true});
        buffered.clear();
      }
      items.push_back({.thread = content.thread, .event = e});
      const uint32_t write = model_.write_number(content.thread, e);
      if (buffers && write != kInitial && !model_.writes[write].buffered &&
          !OrderingModel::needs_empty_buffer(event))
        buffered.push_back(e);
    }
  }
  return items;
}

}  // namespace heddle
