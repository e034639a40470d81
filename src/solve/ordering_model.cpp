#include "solve/ordering_model.h"

#include <algorithm>
#include <map>

#include "base/result.h"
#include "solve/order_needs.h"

namespace heddle {

OrderingModel::OrderingModel(const Problem& problem, const OrderingCase& of,
                             const std::function<bool()>& stopped)
    : problem_(&problem), cut_(of.cut) {
  make_cells();
  make_moments();
  make_order();
  start_order();
  if (of.window > 0 && !impossible) add_window(of.window);
  if (impossible) return;
  add_accesses();
  add_candidates(stopped);
}

// As TraceExecution has it.
bool OrderingModel::needs_empty_buffer(const Event& event) {
  if (event.kind == EventKind::read) return false;
  if (event.kind == EventKind::write) return event.direct || event.order == AccessOrder::seq_cst;
  return event.kind != EventKind::fence || event.order == AccessOrder::seq_cst;
}

// ---- cells

void OrderingModel::make_cells() {
  std::map<uint64_t, int> borders;  // how many accesses begin less how many end
  for (const ThreadTrace& thread : problem_->trace->threads)
    for (const Event& event : thread.events)
      if (is_access(event.kind)) {
        ++borders[event.address];
        --borders[event.address + event.size];
      }
  int inside = 0;
  for (auto border = borders.begin(); border != borders.end(); ++border) {
    inside += border->second;
    if (inside > 0)
      cells.push_back({.address = border->first,
                       .size = static_cast<uint32_t>(std::next(border)->first - border->first),
                       .chains = {}});
  }
}

std::pair<uint32_t, uint32_t> OrderingModel::cells_of(const Event& event) const {
  const auto place = [&](uint64_t address) {
    return static_cast<uint32_t>(std::ranges::lower_bound(cells, address, {}, &OrderingCell::address) -
                                 cells.begin());
  };
  return {place(event.address), place(event.address + event.size)};
}

// ---- moments

void OrderingModel::make_moments() {
  const std::vector<ThreadTrace>& threads = problem_->trace->threads;
  moments_.resize(threads.size());
  read_event_of_.resize(threads.size());
  write_of_.resize(threads.size());
  Moment next = 0;
  for (uint32_t t = 0; t < threads.size(); ++t) {
    const std::vector<Event>& events = threads[t].events;
    read_event_of_[t].assign(events.size(), kInitial);
    write_of_[t].assign(events.size(), kInitial);
    const Moment first = next;
    for (uint32_t e = 0; e < events.size(); ++e) {
      if (e == 0 || events[e].step != events[e - 1].step || cut_ == EventRef{t, e}) {
        contents.push_back({.thread = t, .first_event = e, .behind = e});
        ++next;
      }
      ++contents.back().behind;
      moments_[t].push_back(next - 1);
    }
    order.add_chain(next - first);
  }
  end = next++;
  contents.emplace_back();
  order.add_chain(1);
  for (uint32_t t = 0; t < threads.size(); ++t) {
    std::vector<std::vector<uint32_t>> chains;
    make_flushes(t, chains);
    for (const std::vector<uint32_t>& chain : chains) {
      order.add_chain(static_cast<uint32_t>(chain.size()));
      for (const uint32_t write : chain) {
        writes[write].visible = next++;
        contents.push_back({.thread = t, .flushed = write});
      }
    }
  }
}

// The thread's writes; those that go through a buffer by chains: TSO has one, PSO one for each range of memory.
void OrderingModel::make_flushes(uint32_t thread, std::vector<std::vector<uint32_t>>& chains) {
  const std::vector<Event>& events = problem_->trace->threads[thread].events;
  std::map<std::pair<uint64_t, uint32_t>, size_t> chain_of;
  // Where the buffer must be empty again before the step ends, nobody sees that it was not.
  std::vector<bool> emptied(events.size());
  for (size_t e = events.size(); e-- > 1;)
    emptied[e - 1] = events[e - 1].step == events[e].step && (emptied[e] || needs_empty_buffer(events[e]));
  for (uint32_t e = 0; e < events.size(); ++e) {
    const Event& event = events[e];
    if (!writes_value(event.kind)) continue;
    const auto number = static_cast<uint32_t>(writes.size());
    write_of_[thread][e] = number;
    const auto [first, behind] = cells_of(event);
    writes.push_back({.thread = thread,
                      .event = e,
                      .first_cell = first,
                      .cells = behind - first,
                      .visible = moments_[thread][e]});
    if (problem_->model == MemoryModel::sc || needs_empty_buffer(event) || emptied[e]) continue;
    writes.back().buffered = true;
    const auto key = problem_->model == MemoryModel::tso ? std::pair<uint64_t, uint32_t>{}
                                                         : std::pair{event.address, event.size};
    const auto chain = chain_of.emplace(key, chains.size()).first->second;
    if (chain == chains.size()) chains.emplace_back();
    chains[chain].push_back(number);
  }
}

// ---- the order that holds in any case

// What can never come, comes after the end.
void OrderingModel::start_order() {
  const ChainOrder chains = order;
  const std::vector<Moment> never_come = order.start(edges_);
  if (never_come.empty()) return;
  std::vector<bool> never_comes(order.moments());
  for (const Moment moment : never_come) never_comes[moment] = true;
  impossible = never_comes[end];
  std::erase_if(edges_, [&](const ChainOrder::MomentPair& edge) { return never_comes[edge.second]; });
  for (const Moment moment : never_come)
    if (order.place_of(moment) == 0 || !never_comes[moment - 1]) edges_.push_back({end, moment});
  order = chains;
  order.start(edges_);
}

// Buffered writes: behind their step, in their order, and before what needs an empty buffer (store_buffer.h).
void OrderingModel::order_flushes(uint32_t thread) {
  const std::vector<Event>& events = problem_->trace->threads[thread].events;
  std::map<uint32_t, Moment> last_of_chain;  // of all that were buffered
  std::vector<Moment> fenced;                // must be visible before later ones
  std::map<uint32_t, Moment> last_of_cell;
  for (uint32_t e = 0; e < events.size(); ++e) {
    const Event& event = events[e];
    const uint32_t write = write_of_[thread][e];
    if (write != kInitial && writes[write].buffered) {
      const Moment flush = writes[write].visible;
      add_edge(moments_[thread][e], flush);
      for (const Moment before : fenced) add_edge(before, flush);
      if (event.order == AccessOrder::release || event.order == AccessOrder::acq_rel)
        for (const auto& [chain, before] : last_of_chain)
          if (before != flush) add_edge(before, flush);
      const auto [first, behind] = cells_of(event);
      for (uint32_t cell = first; cell < behind; ++cell) {
        const auto [last, is_new] = last_of_cell.emplace(cell, flush);
        if (!is_new && last->second != flush) add_edge(last->second, flush);
        last->second = flush;
      }
      last_of_chain[order.chain_of(flush)] = flush;
    } else if (event.kind == EventKind::fence &&
               (event.order == AccessOrder::release || event.order == AccessOrder::acq_rel)) {
      fenced.clear();
      for (const auto& [chain, flush] : last_of_chain) fenced.push_back(flush);
    }
    if (needs_empty_buffer(event)) {
      for (const auto& [chain, flush] : last_of_chain) add_edge(flush, moments_[thread][e]);
      last_of_chain.clear();
      last_of_cell.clear();
      fenced.clear();
    }
  }
}

void OrderingModel::make_order() {
  const std::vector<ThreadTrace>& threads = problem_->trace->threads;
  const auto all_of = [&](uint32_t thread) {
    if (!moments_[thread].empty()) add_edge(moments_[thread].back(), end);
  };
  const FailurePredicate& failure = problem_->trace->failure;
  if (failure.kind == FailurePredicate::Kind::deadlock)
    for (const FailurePredicate::Waiting& waiting : failure.waiting) all_of(waiting.thread);
  else if (failure.kind != FailurePredicate::Kind::none)
    all_of(failure.thread);

  if (cut_) {
    last_moment = moments_[cut_->thread][cut_->event - 1];
    add_edge(*last_moment, end);
    never(moments_[cut_->thread][cut_->event]);
  }
  const OrderNeeds needs(*problem_);
  for (uint32_t t = 0; t < threads.size(); ++t) {
    const std::vector<Event>& events = threads[t].events;
    for (uint32_t e = 0; e < events.size(); ++e) {
      const Moment here = moments_[t][e];
      for (const OrderNeed& need : needs.of({t, e})) {
        if (need.thread != t)
          add_edge(moments_[need.thread][need.events - 1], here);
        else if (need.events > e)
          never(here);
      }
      if (events[e].kind == EventKind::create && !threads[events[e].address].events.empty())
        add_edge(here, moments_[events[e].address][0]);
      if (events[e].kind != EventKind::join) continue;
      const std::vector<Event>& joined = threads[events[e].address].events;
      const auto exit = std::ranges::find(joined, EventKind::exit, &Event::kind);
      if (exit == joined.end()) {
        never(here);
      } else if (events[e].address != t || exit - joined.begin() >= e) {
        add_edge(moments_[events[e].address][static_cast<size_t>(exit - joined.begin())], here);
      }
    }
    if (problem_->model != MemoryModel::sc) order_flushes(t);
  }
}

}  // namespace heddle
