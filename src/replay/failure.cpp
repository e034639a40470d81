#include "replay/failure.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include "abi/sync_kind.h"
#include "base/library_file.h"
#include "base/safe_text.h"
#include "image/code_symbols.h"

namespace heddle {
namespace {

constexpr std::string_view kStackOverflow = "stack overflow";  // as the runtimes tell it

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\n' || c == '\r' ? ' ' : c;
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string signal_word(int64_t number) {
  switch (number) {
    case SIGSEGV:
      return "segv";
    case SIGFPE:
      return "fpe";
    case SIGILL:
      return "ill";
    case SIGBUS:
      return "bus";
    default:
      return fmt::format("signal:{}", number);
  }
}

std::string kind_word(const heddle_result& result) {
  switch (result.outcome) {
    case HEDDLE_OUTCOME_assertion:
      return "assert";
    case HEDDLE_OUTCOME_abort:
      return "abort";
    case HEDDLE_OUTCOME_exception:
      return "exception";
    case HEDDLE_OUTCOME_signal:
      return signal_word(result.number);
    case HEDDLE_OUTCOME_deadlock:
      return "deadlock";
    case HEDDLE_OUTCOME_lost_wakeup:
      return "lost-wakeup";
    case HEDDLE_OUTCOME_use_after_free:
      return "use-after-free";
    case HEDDLE_OUTCOME_double_free:
      return "double-free";
    case HEDDLE_OUTCOME_invalid_free:
      return "invalid-free";
    case HEDDLE_OUTCOME_exit_code:
      return fmt::format("exit:{}", result.number);
    case HEDDLE_OUTCOME_livelock:
      return "livelock";
    default:
      return "";
  }
}

bool stands_still(const heddle_result& result) {
  return result.outcome == HEDDLE_OUTCOME_deadlock || result.outcome == HEDDLE_OUTCOME_lost_wakeup ||
         result.outcome == HEDDLE_OUTCOME_livelock;
}

bool about_memory(const heddle_result& result) {
  return result.outcome == HEDDLE_OUTCOME_use_after_free || result.outcome == HEDDLE_OUTCOME_double_free ||
         result.outcome == HEDDLE_OUTCOME_invalid_free;
}

// The innermost line that is no library's, or the innermost of all.
std::optional<CodePlace> place_in(const std::vector<StackFrame>& stack) {
  std::optional<CodePlace> any;
  for (const StackFrame& frame : stack) {
    if (!frame.place) continue;
    if (!is_library_file(frame.place->file)) return frame.place;
    if (!any) any = frame.place;
  }
  return any;
}

std::string identity_of(const Failure& failure) {
  std::string out = failure.kind;
  if (!failure.waits.empty()) {
    std::vector<std::string> waits;
    for (const WaitingThread& wait : failure.waits)
      waits.push_back(fmt::format("{} {} {}", wait.thread.text(), wait.kind, place_text(wait.place)));
    std::ranges::sort(waits);
    return fmt::format("{} {}", out, fmt::join(waits, "; "));
  }
  // Which thread's events reached the bound of a livelock first, and where a program exits, is no property of
  // the failure.
  if (failure.kind == "livelock" || failure.kind.starts_with("exit:")) return out;
  if (failure.place)
    out += " " + place_text(failure.place);
  else if (!failure.stack.empty())
    out += " " + failure.stack.front().function;
  if (failure.other_place) out += ", freed at " + place_text(failure.other_place);
  // Texts of other kinds may hold addresses.
  const bool telling = failure.kind == "assert" || failure.kind == "exception";
  if (telling && !failure.text.empty()) out += ": " + one_line(failure.text);
  return out;
}

// The runtime tells the linker's name of an exception's type, then what the exception says.
struct ExceptionText {
  explicit ExceptionText(std::string_view text)
      : type(demangled_type(std::string(text.substr(0, text.find(':'))))),
        what(one_line(text.substr(std::min(text.find(':'), text.size())))) {}
  std::string type, what;  // what: with the colon before it
};

std::string object_text(uint64_t object, uint64_t load_base, const CodeNames& names) {
  std::string name = names.variable_at(object, load_base);
  return name.empty() ? fmt::format("{:#x}", object) : name;
}

std::string headline(const Failure& f) {
  const std::string_view kind = f.kind;
  if (kind == "assert") return fmt::format("assertion failed: {}", f.text);
  if (kind == "abort") return f.text.empty() ? "abort() was called" : "abort() was called: " + f.text;
  if (kind == "exception") return fmt::format("uncaught exception: {}", f.text);
  if (kind == "segv" && f.text == kStackOverflow)
    return fmt::format("stack overflow: access to {}, behind the end of the thread's stack", f.address);
  if (kind == "segv") return fmt::format("segmentation fault: access to {}", f.address);
  if (kind == "bus") return fmt::format("bus error: access to {}", f.address);
  if (kind == "fpe") return "arithmetic fault (SIGFPE): a division by zero, most likely";
  if (kind == "ill") return "illegal instruction (SIGILL)";
  if (kind == "deadlock") return "deadlock: no thread can go on";
  if (kind == "lost-wakeup") return "lost wake-up: a thread waits for a signal that was given before it waited";
  if (kind == "livelock") return "livelock: the threads go on without changing anything";
  if (kind == "use-after-free") return fmt::format("use after free: access to {}", f.address);
  if (kind == "double-free") return fmt::format("double free of {}", f.address);
  if (kind == "invalid-free") return fmt::format("free of {}, which is no block of the heap", f.address);
  if (kind.starts_with("exit:")) return fmt::format("the program ended with exit code {}", kind.substr(5));
  return fmt::format("ended by {}", kind);
}

}  // namespace

std::string sync_name(uint32_t kind) {
  static constexpr auto kNames = std::to_array<std::string_view>({"none",
#define HEDDLE_SYNC_NAME(name, objects) #name,
                                                                  HEDDLE_SYNC_KINDS(HEDDLE_SYNC_NAME)
#undef HEDDLE_SYNC_NAME
  });
  return kind < kNames.size() ? std::string(kNames[kind]) : fmt::format("synchronisation {}", kind);
}

std::string place_text(const std::optional<CodePlace>& place) {
  if (!place) return "?";
  std::string out = place->file;
  if (place->line != 0) out += fmt::format(":{}", place->line);
  if (!place->function.empty()) out += (out.empty() ? "" : " ") + place->function;
  return out;
}

Json place_json(const std::optional<CodePlace>& place) {
  if (!place) return nullptr;
  return {{"file", place->file}, {"line", place->line}, {"function", place->function}};
}

std::string StackFrame::text() const {
  if (!place || place->line == 0) return function;
  return fmt::format("{} at {}:{}", function, place->file, place->line);
}

std::string WaitingThread::text() const {
  std::string out = fmt::format("thread {} waits in {}", thread.text(), kind);
  if (!object.empty()) out += " for " + object;
  if (holder) out += (object.empty() ? " for thread " : ", held by thread ") + holder->text();
  return out + ", at " + place_text(place);
}

std::string Failure::report() const {
  std::string out = headline(*this) + "\n";
  for (const WaitingThread& wait : waits) out += "  " + wait.text() + "\n";
  if (!waits.empty()) return lines_for_terminal(out);
  out += fmt::format("  thread {}", thread.text());
  if (place) out += fmt::format(" at {}", place_text(place));
  out += "\n";
  for (size_t i = 0; i < stack.size(); ++i) out += fmt::format("    #{} {}\n", i, stack[i].text());
  if (other) out += fmt::format("  freed by thread {} at {}\n", other->text(), place_text(other_place));
  return lines_for_terminal(out);
}

Json Failure::to_json() const {
  Json frames = Json::array(), waiting = Json::array();
  for (const StackFrame& frame : stack)
    frames.push_back({{"function", frame.function}, {"place", place_json(frame.place)}});
  for (const WaitingThread& wait : waits)
    waiting.push_back({{"thread", wait.thread.text()},
                       {"operation", wait.kind},
                       {"object", wait.object},
                       {"holder", wait.holder ? Json(wait.holder->text()) : Json()},
                       {"place", place_json(wait.place)}});
  Json json = {{"identity", identity},       {"kind", kind}, {"thread", thread.text()},
               {"place", place_json(place)}, {"text", text}, {"stack", std::move(frames)}};
  if (!waits.empty()) json["waits"] = std::move(waiting);
  if (!address.empty()) json["address"] = address;
  if (other) json["freed_by"] = {{"thread", other->text()}, {"place", place_json(other_place)}};
  return json;
}

std::vector<StackFrame> stack_of(const heddle_result& result, const CodeNames& names) {
  std::vector<StackFrame> stack;
  for (uint32_t i = 0; i < result.stack_size; ++i) {
    const bool exact = i == 0 && result.outcome == HEDDLE_OUTCOME_signal;
    for (StackFrame& frame : names.frames_of(result.stack[i], result.load_base, exact))
      stack.push_back(std::move(frame));
  }
  return stack;
}

std::vector<StackFrame> stack_of(std::span<const uint64_t> addresses, uint64_t load_base,
                                 const CodeNames& names) {
  std::vector<StackFrame> stack;
  for (const uint64_t each : addresses)
    for (StackFrame& frame : names.frames_of(each, load_base, false)) stack.push_back(std::move(frame));
  return stack;
}

std::optional<Failure> failure_of(const Answer& answer, const std::vector<ThreadName>& threads,
                                  const CodeNames& names) {
  const heddle_result& result = answer.result;
  Failure failure{.kind = kind_word(result)};
  if (failure.kind.empty()) return std::nullopt;
  failure.thread = threads[result.thread];
  if (result.outcome == HEDDLE_OUTCOME_exception)
    failure.text = ExceptionText(result.text).type;
  else if (result.outcome != HEDDLE_OUTCOME_exit_code)
    failure.text = result.text;
  failure.stack = stack_of(result, names);
  failure.place = place_in(failure.stack);
  if (!failure.place) failure.place = names.place_of_site(result.site);
  if (stands_still(result) && !answer.waits.empty()) {
    // It is nobody's failure: the stack is that of whoever ran last.
    failure.stack.clear();
    failure.place.reset();
    for (const heddle_wait& wait : answer.waits) {
      WaitingThread waiting{.thread = threads[wait.thread],
                            .kind = sync_name(wait.kind),
                            .place = names.place_of_site(wait.site)};
      if (wait.holder != HEDDLE_NO_SITE) waiting.holder = threads[wait.holder];
      // What stands for a thread has a better name.
      const bool for_thread = waiting.kind.starts_with("thread_") && waiting.holder;
      if (!for_thread && wait.object != 0) waiting.object = object_text(wait.object, result.load_base, names);
      failure.waits.push_back(std::move(waiting));
    }
  }
  const bool faulted =
      result.outcome == HEDDLE_OUTCOME_signal && (result.number == SIGSEGV || result.number == SIGBUS);
  if (about_memory(result) || faulted) failure.address = object_text(result.address, result.load_base, names);
  if (result.outcome == HEDDLE_OUTCOME_use_after_free || result.outcome == HEDDLE_OUTCOME_double_free) {
    if (result.other_thread < threads.size()) failure.other = threads[result.other_thread];
    failure.other_place = names.place_of_site(result.other_site);
  }
  failure.identity = identity_of(failure);
  // What an exception says may hold numbers and addresses: it is no part of the identity.
  if (result.outcome == HEDDLE_OUTCOME_exception) failure.text += ExceptionText(result.text).what;
  return failure;
}

}  // namespace heddle
