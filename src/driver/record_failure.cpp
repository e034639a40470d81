#include "driver/record_failure.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <set>

#include "base/duration.h"
#include "base/library_file.h"

namespace heddle {
namespace {

constexpr size_t kFrames = 32;  // that a report needs: of a stack that overflowed there are thousands
constexpr size_t kHangPlaces = 8;

void set_text(heddle_result& result, std::string_view text) {
  const size_t size = std::min(text.size(), sizeof result.text - 1);
  std::memcpy(result.text, text.data(), size);
}

// As the control runtime would tell it.
heddle_result told_result(const heddle_record_process& told, const ProcessStatus& status) {
  heddle_result result{.outcome = HEDDLE_OUTCOME_passed, .site = HEDDLE_NO_SITE};
  // A program that lives on after its failure (a handler that jumps away) has not failed by it.
  const bool died = status.signal || status.exit_code.value_or(0) != 0;
  if (told.failed != 0 && died) {
    result.number = told.signal;
    result.address = told.address;
    if (told.failure == HEDDLE_RECORD_assert_failure) {
      result.outcome = HEDDLE_OUTCOME_assertion;
      set_text(result, told.text);
      return result;
    }
    if (told.failure == HEDDLE_RECORD_exception_failure) {
      result.outcome = HEDDLE_OUTCOME_exception;
      set_text(result,
               told.text2[0] == 0 ? std::string(told.text) : fmt::format("{}: {}", told.text, told.text2));
      return result;
    }
    if (told.failure == HEDDLE_RECORD_signal_failure) {
      result.outcome = told.signal == SIGABRT ? HEDDLE_OUTCOME_abort : HEDDLE_OUTCOME_signal;
      if (told.signal == SIGSEGV || told.signal == SIGBUS) set_text(result, told.text);
      return result;
    }
  }
  if (status.signal) {
    result.outcome = *status.signal == SIGABRT ? HEDDLE_OUTCOME_abort : HEDDLE_OUTCOME_signal;
    result.number = *status.signal;
  } else if (status.exit_code.value_or(0) != 0) {
    result.outcome = HEDDLE_OUTCOME_exit_code;
    result.number = *status.exit_code;
  }
  return result;
}

// Where a thread of the program waits: its innermost line that is no library's, or the innermost of all.
const RecordedFrame* place_in(const std::vector<RecordedFrame>& stack) {
  const RecordedFrame* any = nullptr;
  for (const RecordedFrame& frame : stack) {
    if (!frame.library.empty()) continue;
    if (!is_library_file(frame.file)) return &frame;
    if (any == nullptr) any = &frame;
  }
  return any;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::optional<RecordedFailure> recorded_failure(const heddle_record_process& told, const ProcessStatus& status,
                                                const std::vector<ProcessFrame>& stack,
                                                const CodeNames& names) {
  Answer answer;
  answer.result = told_result(told, status);
  heddle_result& result = answer.result;
  result.load_base = stack.empty() ? told.load_base : stack.front().module_base;
  for (const ProcessFrame& frame : stack) {
    if (result.stack_size == std::min<size_t>(kFrames, HEDDLE_CONTROL_MAX_STACK)) break;
    if (names.frames_of(frame.pc, result.load_base, frame.exact).empty()) continue;
    // Of a signal the first address is taken as it is; a call of a library that failed is before its return
    // address.
    const bool before = result.outcome == HEDDLE_OUTCOME_signal && result.stack_size == 0 && !frame.exact;
    result.stack[result.stack_size++] = frame.pc - (before ? 1 : 0);
  }
  const std::optional<Failure> failure = failure_of(answer, {ThreadName()}, names);
  if (!failure) return std::nullopt;
  RecordedFailure out{.kind = failure->kind,
                      .identity = failure->identity,
                      .thread = told.failed != 0 ? told.thread : "",
                      .text = failure->text,
                      .address = failure->address,
                      .headline = first_line(failure->report())};
  if (failure->place)
    out.place = RecordedPlace{
        .file = failure->place->file, .line = failure->place->line, .function = failure->place->function};
  return out;
}

RecordedFailure recorded_hang(std::optional<std::chrono::milliseconds> limit,
                              const std::vector<RecordedThread>& threads) {
  std::set<std::string> places;
  for (const RecordedThread& thread : threads)
    if (const RecordedFrame* own = place_in(thread.stack))
      places.insert(RecordedPlace{.file = own->file, .line = own->line, .function = own->function}.text());
  std::vector<std::string> shown(places.begin(), places.end());
  if (shown.size() > kHangPlaces) {
    shown.resize(kHangPlaces);
    shown.emplace_back("...");
  }
  RecordedFailure out{
      .kind = "hang",
      .identity = "hang",
      .headline = limit ? fmt::format("hang: the program has not ended within {}", duration_text(*limit))
                        : "hang: all threads wait for each other"};
  if (!shown.empty()) out.identity += fmt::format(" {}", fmt::join(shown, "; "));
  return out;
}

std::vector<ProcessFrame> frames_from(const std::vector<ProcessFrame>& stack, uint64_t pc) {
  const auto at =
      std::ranges::find_if(stack, [&](const ProcessFrame& frame) { return frame.exact && frame.pc == pc; });
  return at == stack.end() ? stack : std::vector<ProcessFrame>(at, stack.end());
}

}  // namespace heddle
