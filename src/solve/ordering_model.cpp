#include "solve/ordering_model.h"

#include <algorithm>
#include <map>

#include "base/result.h"
#include "solve/order_needs.h"
#include "solve/ordering_sequence.h"

namespace heddle {

namespace {

constexpr size_t kMostCandidates = 4'000'000;

}  // namespace

OrderingModel::OrderingModel(const Problem& problem, const OrderingCase& of)
    : problem_(&problem), cut_(of.cut) {
  make_cells();
  make_moments();
  make_order();
  start_order();
  if (of.window > 0 && !impossible) add_window(of.window);
  if (!impossible) add_accesses();
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

// By moment: the thread has a lock when it comes.
std::vector<bool> OrderingModel::find_locks() const {
  std::vector<bool> has_lock(order.moments());
  for (uint32_t t = 0; t < moments_.size(); ++t) {
    int64_t locks = 0;
    for (uint32_t e = 0; e < moments_[t].size(); ++e) {
      if (e == 0 || moments_[t][e] != moments_[t][e - 1]) has_lock[moments_[t][e]] = locks > 0;
      switch (event(t, e).kind) {
        case EventKind::lock:
        case EventKind::read_lock:
        case EventKind::write_lock:
        case EventKind::wait_end:
        case EventKind::wait_timeout:
          ++locks;
          break;
        case EventKind::unlock:
        case EventKind::read_unlock:
        case EventKind::write_unlock:
        case EventKind::wait_begin:
          --locks;
          break;
        default:
          break;
      }
    }
  }
  return has_lock;
}

// Where a moment lies in the run, from 0 to 1: by how many moments come before it in any case, and after. This
// grows along the order.
void OrderingModel::add_window(uint32_t window) {
  const auto threads = static_cast<uint32_t>(moments_.size());
  std::vector<double> places;
  uint32_t longest = 0;
  for (Moment moment = 0; moment < end; ++moment) {
    double before = 0, after = 0;
    for (uint32_t chain = 0; chain < threads; ++chain) {
      before += order.count_before(moment, chain);
      after += order.length(chain) - order.first_after(moment, chain);
    }
    places.push_back((before + 0.5) / (before + after + 1));
    longest = std::max(longest, order.length(order.chain_of(moment)));
  }
  const std::vector<bool> has_lock = find_locks();
  const double width = static_cast<double>(window) / longest;
  const uint32_t stride = std::max(window / 4, 1U);
  for (uint32_t left = 0; left < threads; ++left)
    for (uint32_t right = 0; right < threads; ++right) {
      if (left == right) continue;
      uint32_t to = 0;
      for (uint32_t from = 0; from < order.length(left); from += stride) {
        const double limit = places[order.at(left, from)] + width;
        while (to < order.length(right) && places[order.at(right, to)] <= limit) ++to;
        // Who waits for it is not to have a lock that is needed until then.
        while (to < order.length(right) && has_lock[order.at(right, to)]) ++to;
        if (to == order.length(right)) break;
        add_edge(order.at(left, from), order.at(right, to));
      }
    }
  ChainOrder chains;
  for (uint32_t chain = 0; chain < order.chains(); ++chain) chains.add_chain(order.length(chain));
  order = std::move(chains);
  start_order();
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

// ---- accesses

void OrderingModel::add_accesses() {
  const std::vector<ThreadTrace>& threads = problem_->trace->threads;
  for (uint32_t t = 0; t < threads.size(); ++t) {
    std::map<uint32_t, uint32_t> last;  // by cell: the thread's last write
    for (uint32_t e = 0; e < threads[t].events.size(); ++e) {
      const Event& event = threads[t].events[e];
      if (!is_access(event.kind) && event.kind != EventKind::semaphore_value) continue;
      const auto [first, behind] = is_access(event.kind) ? cells_of(event) : std::pair(0U, 0U);
      if (reads_value(event.kind)) {
        read_event_of_[t][e] = static_cast<uint32_t>(read_events.size());
        read_events.push_back({.thread = t,
                               .event = e,
                               .moment = moments_[t][e],
                               .first = static_cast<uint32_t>(reads.size()),
                               .count = behind - first});
        for (uint32_t cell = first; cell < behind; ++cell) {
          const auto own = last.find(cell);
          reads.push_back({.event = read_event_of_[t][e],
                           .cell = cell,
                           .own = own == last.end() ? kInitial : own->second,
                           .candidates = {}});
        }
      }
      if (!writes_value(event.kind)) continue;
      const uint32_t write = write_of_[t][e];
      const uint32_t chain = order.chain_of(writes[write].visible);
      const uint32_t place = order.place_of(writes[write].visible);
      for (uint32_t cell = first; cell < behind; ++cell) {
        last[cell] = write;
        std::vector<OrderingCell::Chain>& chains = cells[cell].chains;
        auto of = std::ranges::find(chains, chain, &OrderingCell::Chain::chain);
        if (of == chains.end()) of = chains.insert(of, {.chain = chain, .places = {}, .writes = {}});
        if (!of->places.empty() && of->places.back() == place) {
          of->writes.back() = write;  // of one step only the last is ever seen
        } else {
          of->places.push_back(place);
          of->writes.push_back(write);
        }
      }
    }
  }
  find_times();
  for (OrderingRead& read : reads) {
    find_candidates(read);
    candidates += read.candidates.size();
    if (candidates > kMostCandidates) {
      not_covered = "there are too many writes that reads may read from";
      return;
    }
  }
}

// What such an order does not have comes behind.
void OrderingModel::find_times() {
  times.assign(order.moments(), 0);
  uint64_t time = 0;
  const std::vector<uint32_t> no_sources(reads.size(), UINT32_MAX);
  const OrderingSequence sequence(*this, no_sources, OrderingSequence::Next::round);
  for (const Moment moment : sequence.moments()) times[moment] = ++time;
  for (Moment moment = 0; moment < order.moments(); ++moment) {
    if (times[moment] != 0) continue;
    times[moment] = time + 1;
    for (uint32_t chain = 0; chain < order.chains(); ++chain)
      times[moment] += order.count_before(moment, chain);
  }
}

uint64_t OrderingModel::distance(const OrderingRead& read, uint32_t write) const {
  constexpr uint64_t kFuture = uint64_t{1} << 40;  // later than all
  const uint64_t now = times[read_events[read.event].moment];
  const uint64_t then = write == kInitial ? 0 : times[writes[write].visible];
  return then <= now ? now - then : kFuture + then;
}

void OrderingModel::find_candidates(OrderingRead& read) {
  const OrderingReadEvent& event = read_events[read.event];
  const OrderingWrite* own = write_of(read.own);
  if (own != nullptr && moments_[own->thread][own->event] == event.moment) {
    read.candidates.push_back({.write = read.own});
    return;
  }
  // What is certainly overwritten when it reads.
  const std::vector<OrderingCell::Chain>& chains = cells[read.cell].chains;
  std::vector<Moment> overwriters;  // the last of each chain that certainly come before
  for (const OrderingCell::Chain& chain : chains) {
    const auto behind = std::ranges::lower_bound(chain.places, order.count_before(event.moment, chain.chain));
    if (behind != chain.places.begin()) overwriters.push_back(order.at(chain.chain, *std::prev(behind)));
  }
  const auto is_overwritten = [&](Moment visible) {
    return std::ranges::any_of(overwriters, [&](Moment by) { return order.is_before(visible, by); });
  };
  if (own == nullptr && overwriters.empty()) read.candidates.push_back({});
  for (const OrderingCell::Chain& chain : chains)
    for (const uint32_t number : chain.writes) {
      const OrderingWrite& write = writes[number];
      if (is_overwritten(write.visible)) continue;
      if (write.thread == event.thread) {
        if (number == read.own) read.candidates.push_back({.write = number});
        continue;
      }
      if (write.visible == event.moment || order.is_before(event.moment, write.visible)) continue;
      if (own != nullptr && order.is_before(write.visible, own->visible)) continue;
      if (order.is_before(end, write.visible)) continue;
      read.candidates.push_back({.write = number});
    }
}

}  // namespace heddle
