// Variables of a satisfiability solver that have no value, the most active one first (as in MiniSat).
#pragma once

#include <cstdint>
#include <vector>

namespace heddle {

class ActivityHeap {
 public:
  void add_variable() {  // the next number
    activities_.push_back(0);
    places_.push_back(kNowhere);
    insert(static_cast<uint32_t>(places_.size() - 1));
  }
  bool empty() const { return heap_.empty(); }
  double activity(uint32_t variable) const { return activities_[variable]; }

  void insert(uint32_t variable) {  // nothing if it is there
    if (places_[variable] != kNowhere) return;
    heap_.push_back(variable);
    move_up(static_cast<uint32_t>(heap_.size() - 1));
  }

  uint32_t pop() {
    const uint32_t top = heap_[0], last = heap_.back();
    heap_.pop_back();
    places_[top] = kNowhere;
    if (!heap_.empty()) {
      heap_[0] = last;
      move_down(0);
    }
    return top;
  }

  // It was part of a conflict. Later conflicts count more.
  void raise(uint32_t variable) {
    if ((activities_[variable] += step_) > 1e100) {
      for (double& activity : activities_) activity *= 1e-100;
      step_ *= 1e-100;
    }
    if (places_[variable] != kNowhere) move_up(places_[variable]);
  }
  void next_round() { step_ /= 0.95; }

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;

  void put(uint32_t place, uint32_t variable) {
    heap_[place] = variable;
    places_[variable] = place;
  }

  void move_up(uint32_t place) {
    const uint32_t variable = heap_[place];
    for (; place > 0; place = (place - 1) / 2) {
      const uint32_t parent = heap_[(place - 1) / 2];
      if (activities_[parent] >= activities_[variable]) break;
      put(place, parent);
    }
    put(place, variable);
  }

  void move_down(uint32_t place) {
    const uint32_t variable = heap_[place];
    while (2 * place + 1 < heap_.size()) {
      uint32_t child = 2 * place + 1;
      if (child + 1 < heap_.size() && activities_[heap_[child + 1]] > activities_[heap_[child]]) ++child;
      if (activities_[heap_[child]] <= activities_[variable]) break;
      put(place, heap_[child]);
      place = child;
    }
    put(place, variable);
  }

  std::vector<double> activities_;  // by variable
  double step_ = 1;
  std::vector<uint32_t> heap_, places_;
};

}  // namespace heddle
