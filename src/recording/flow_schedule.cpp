#include "recording/flow_schedule.h"

#include <fmt/core.h>

namespace heddle {
namespace {

constexpr size_t kNone = SIZE_MAX;

class Linearisation {
 public:
  explicit Linearisation(const std::vector<FlowThread>& threads)
      : threads_(threads), next_edge_(threads.size()) {
    for (const FlowThread& thread : threads) done_.push_back(thread.first);
  }

  Result<std::vector<FlowStep>> run() {
    size_t current = 0, without_progress = 0, first_unfinished = 0;
    while (true) {
      while (first_unfinished < threads_.size() && is_done(first_unfinished)) ++first_unfinished;
      if (first_unfinished == threads_.size()) return std::move(steps_);
      if (is_done(current)) current = first_unfinished;
      const uint64_t before = done_[current];
      const FlowEdge* waits_for = run_on(current);
      if (done_[current] > before) {
        add_step(current, done_[current] - before);
        without_progress = 0;
      } else if (++without_progress > threads_.size() + 1) {
        return circle(current);
      }
      if (waits_for == nullptr) continue;
      const size_t other = index_of(*waits_for);
      if (other == kNone || threads_[other].events < waits_for->after) return unknown(current, *waits_for);
      current = other;
    }
  }

 private:
  bool is_done(size_t i) const { return done_[i] == threads_[i].events; }

  size_t index_of(const FlowEdge& edge) const {
    const FlowThread* thread = flow_thread_of(threads_, edge.slot, edge.after);
    return thread == nullptr ? kNone : static_cast<size_t>(thread - threads_.data());
  }

  // As far as it can go; what it waits for then.
  const FlowEdge* run_on(size_t i) {
    const uint32_t slot = threads_[i].slot;
    if (i > 0 && threads_[i - 1].slot == slot && !is_done(i - 1)) {
      begin_ = {.number = threads_[i].first + 1, .slot = slot, .after = threads_[i].first};
      return &begin_;
    }
    const std::vector<FlowEdge>& edges = threads_[i].edges;
    for (size_t& next = next_edge_[i]; next < edges.size(); ++next) {
      const FlowEdge& edge = edges[next];
      if (edge.number > threads_[i].events) break;
      if (edge.number > done_[i] + 1) done_[i] = edge.number - 1;
      const size_t other = index_of(edge);
      if (other != i && (other == kNone || done_[other] < edge.after)) return &edge;
    }
    done_[i] = threads_[i].events;
    return nullptr;
  }

  void add_step(size_t i, uint64_t count) {
    if (!steps_.empty() && last_ == i)
      steps_.back().count += count;
    else
      steps_.push_back({.slot = threads_[i].slot, .count = count});
    last_ = i;
  }

  Error circle(size_t i) const {
    return Error{.what = fmt::format("the recorded order of events is a circle (thread {}, event {})",
                                     threads_[i].name, done_[i] + 1),
                 .why = "the recording is damaged, or this is a bug in heddle"};
  }

  Error unknown(size_t i, const FlowEdge& edge) const {
    return Error{
        .what = fmt::format("event {} of thread {} came after event {} of thread number {}, which is not there",
                            edge.number, threads_[i].name, edge.after, edge.slot),
        .why = "the recording is damaged"};
  }

  const std::vector<FlowThread>& threads_;
  std::vector<uint64_t> done_;
  std::vector<size_t> next_edge_;
  std::vector<FlowStep> steps_;
  size_t last_ = kNone;  // thread of the last step
  FlowEdge begin_;       // what a thread waits for whose slot another one has
};

}  // namespace

Result<std::vector<FlowStep>> flow_schedule(const std::vector<FlowThread>& threads) {
  return Linearisation(threads).run();
}

}  // namespace heddle
