#include "replay/control_memory.h"

#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

namespace heddle {
namespace {

constexpr uint64_t kPage = 4096;

template <class T>
uint64_t place_array(uint64_t& end, uint64_t count) {
  const uint64_t at = end;
  end = (end + count * sizeof(T) + kPage - 1) / kPage * kPage;
  return at;
}

heddle_control_layout lay_out(const ControlCapacity& capacity) {
  heddle_control_layout layout{};
  uint64_t end = (sizeof(heddle_control_block) + kPage - 1) / kPage * kPage;
  layout.steps_in_capacity = capacity.steps_in;
  layout.steps_in = place_array<heddle_step>(end, capacity.steps_in);
  layout.threads_in = place_array<heddle_thread_entry>(end, HEDDLE_CONTROL_MAX_THREADS);
  layout.steps_out_capacity = capacity.steps_out;
  layout.steps_out = place_array<heddle_step>(end, capacity.steps_out);
  layout.threads_capacity = HEDDLE_CONTROL_MAX_THREADS;
  layout.threads = place_array<heddle_thread_entry>(end, HEDDLE_CONTROL_MAX_THREADS);
  layout.waits_capacity = HEDDLE_CONTROL_MAX_THREADS;
  layout.waits = place_array<heddle_wait>(end, HEDDLE_CONTROL_MAX_THREADS);
  layout.events_capacity = capacity.events;
  layout.events = place_array<heddle_event>(end, capacity.events);
  layout.moves_capacity = capacity.moves;
  layout.moves = place_array<heddle_move>(end, capacity.moves);
  layout.size = end;
  return layout;
}

template <class T>
std::vector<T> copied(const T* from, uint64_t count) {
  return std::vector<T>(from, from + count);
}

}  // namespace

Result<ControlMemory> ControlMemory::create(const ControlCapacity& capacity) {
  const heddle_control_layout layout = lay_out(capacity);
  const int file = ::memfd_create("heddle-control", MFD_CLOEXEC);
  if (file < 0) return system_error("cannot make a memory file", "");
  if (::ftruncate(file, static_cast<off_t>(layout.size)) != 0) {
    Error error = system_error(fmt::format("cannot make a memory file of {} bytes", layout.size), "");
    ::close(file);
    return error;
  }
  void* base = ::mmap(nullptr, layout.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (base == MAP_FAILED) {
    Error error = system_error(fmt::format("cannot map {} bytes", layout.size), "");
    ::close(file);
    return error;
  }
  return ControlMemory(file, static_cast<char*>(base), capacity, layout);
}

ControlMemory::ControlMemory(int file, char* base, const ControlCapacity& capacity,
                             const heddle_control_layout& layout)
    : file_(file),
      base_(base),
      block_(reinterpret_cast<heddle_control_block*>(base)),
      capacity_(capacity),
      layout_(layout) {
  std::memcpy(block_->magic, "HEDCTRL", 8);
  block_->format = HEDDLE_CONTROL_FORMAT;
  block_->layout = layout_;
}

ControlMemory::ControlMemory(ControlMemory&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      base_(std::exchange(other.base_, nullptr)),
      block_(other.block_),
      capacity_(other.capacity_),
      layout_(other.layout_),
      request_(other.request_) {}

ControlMemory::~ControlMemory() {
  if (base_ != nullptr) ::munmap(base_, layout_.size);
  if (file_ >= 0) ::close(file_);
}

void ControlMemory::ask(heddle_plan plan, const GivenSteps* given, uint32_t server) {
  HEDDLE_CHECK(server < HEDDLE_CONTROL_SNAPSHOTS);
  plan.steps = given != nullptr ? given->steps.size() : 0;
  layout_.threads_in_count = given != nullptr ? given->threads.size() : 0;
  HEDDLE_CHECK(plan.steps <= layout_.steps_in_capacity);
  if (given != nullptr) {
    std::ranges::copy(given->steps, at<heddle_step>(layout_.steps_in));
    std::ranges::copy(given->threads, at<heddle_thread_entry>(layout_.threads_in));
  }
  std::memcpy(block_->magic, "HEDCTRL", 8);
  block_->layout = layout_;
  block_->plan = plan;
  block_->result = {};
  block_->progress = 0;
  block_->event_progress = 0;
  block_->running_call = 0;
  block_->quit = 0;
  request_ = (request_ / HEDDLE_CONTROL_SNAPSHOTS + 1) * HEDDLE_CONTROL_SNAPSHOTS + server;
  __atomic_store_n(&block_->request, request_, __ATOMIC_SEQ_CST);
}

bool ControlMemory::answered() const {
  return __atomic_load_n(&block_->answer, __ATOMIC_SEQ_CST) == request_;
}

void ControlMemory::wait(uint32_t milliseconds) const {
  const uint32_t seen = __atomic_load_n(&block_->answer, __ATOMIC_SEQ_CST);
  if (seen == request_) return;
  const timespec time{.tv_sec = milliseconds / 1000, .tv_nsec = (milliseconds % 1000) * 1'000'000l};
  ::syscall(SYS_futex, &block_->answer, FUTEX_WAIT, seen, &time, nullptr, 0);
}

void ControlMemory::wake() const {
  ::syscall(SYS_futex, &block_->request, FUTEX_WAKE, 0x7fffffff, nullptr, nullptr, 0);
}

Result<Answer> ControlMemory::read(Detail detail) const {
  Answer answer;
  answer.result = block_->result;
  heddle_result& result = answer.result;
  result.text[HEDDLE_CONTROL_TEXT - 1] = '\0';
  result.stack_size = std::min<uint32_t>(result.stack_size, HEDDLE_CONTROL_MAX_STACK);
  for (heddle_stack& stack : result.marked) stack.size = std::min<uint32_t>(stack.size, HEDDLE_CONTROL_MAX_STACK);
  if (detail == Detail::counts) return answer;
  if (result.steps > layout_.steps_out_capacity || result.threads > HEDDLE_CONTROL_MAX_THREADS ||
      result.waits > HEDDLE_CONTROL_MAX_THREADS || result.kept_events > layout_.events_capacity ||
      result.pending_events > layout_.events_capacity - result.kept_events)
    return damaged_answer("sizes of the result");
  answer.steps = copied(at<heddle_step>(layout_.steps_out), result.steps);
  answer.threads = copied(at<heddle_thread_entry>(layout_.threads), result.threads);
  answer.waits = copied(at<heddle_wait>(layout_.waits), result.waits);
  answer.events = copied(at<heddle_event>(layout_.events), result.kept_events + result.pending_events);
  answer.moves = copied(at<heddle_move>(layout_.moves), std::min(result.moves, layout_.moves_capacity));
  HEDDLE_TRY(check_answer(answer));
  return answer;
}

}  // namespace heddle
