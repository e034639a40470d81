#include "driver/core_match.h"

#include <algorithm>

#include "program/source_place.h"

namespace heddle {
namespace {

bool is_among(std::string_view kind, std::initializer_list<std::string_view> kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

// The function itself by the linker's name, those inlined into it as line tables have them.
std::vector<CoreFunction> functions_at(const CoreCase& core, const IndexFrame& frame) {
  const Program& program = core.regions->program();
  const auto own = FunctionName::of(short_name(readable_name(program.function(frame.function))));
  if (!frame.at) return {{.name = own, .file = {}, .begin = 0}};
  std::vector<CoreFunction> out;
  for (const SourcePlace& place : source_places(program.instruction(*frame.at)))
    out.push_back(
        {.name = FunctionName::of(short_name(place.function)), .file = place.file, .begin = place.begin});
  if (!out.back().name.whole && out.back().name.own == own.own) out.back().name = own;
  return out;
}

}  // namespace

std::string_view text_of(CoreMatch match) {
  constexpr std::string_view kTexts[] = {"none", "loose", "cause", "same"};
  return kTexts[static_cast<size_t>(match)];
}

CoreMatcher::CoreMatcher(const CoreCase& core, const CodeNames& names)
    : core_(core), names_(names), lines_(core.regions->program().module()) {
  for (size_t i = 0; i < core.indexes.size(); ++i) {
    const std::vector<IndexFrame>& frames = core.indexes[i].index.frames;
    if (frames.empty()) continue;
    for (const InstructionId at : core.stands_at(i)) waiting_.insert(place_text(names.place_of_site(at.value)));
    if (!core.hangs() && i != core.failing) continue;
    for (const IndexFrame& frame : frames)
      std::ranges::move(functions_at(core, frame), std::back_inserter(around_));
    if (i == core.failing) innermost_ = functions_at(core, frames.back());
  }
  constexpr std::string_view kAllocator[] = {"malloc", "free",      "calloc",          "realloc",
                                             "cfree",  "_int_free", "malloc_printerr", "_int_malloc"};
  for (const CoreFrame& frame : core.stacks[core.failing].frames) {
    if (frame.in_program) break;
    heap_damaged_ |= std::ranges::find(kAllocator, frame.symbol) != std::end(kAllocator);
  }
}

// Where names do not tell, lines do.
bool CoreMatcher::holds(const std::vector<CoreFunction>& functions, const StackFrame& frame) const {
  const auto is = [&](const CoreFunction& function, const std::string& text) {
    const FunctionName name = FunctionName::of(text);
    if (!may_be_same(function.name, name)) return false;
    if (!frame.place || frame.place->line == 0 || function.begin == 0) return true;
    const std::string file = names_.source_path(frame.place->file);
    const unsigned begin = lines_.begin_of(file, frame.place->line, name.own);
    return begin == 0 || (begin == function.begin && file == function.file);
  };
  return std::ranges::any_of(functions, [&](const CoreFunction& function) {
    return is(function, frame.function) || (frame.place && is(function, frame.place->function));
  });
}

bool CoreMatcher::same_function(const Failure& failure) const {
  constexpr size_t kInlined = 2;  // controlled runs may name the caller of what was inlined
  for (size_t i = 0; i < failure.stack.size() && i < kInlined; ++i)
    if (holds(innermost_, failure.stack[i])) return true;
  return innermost_.empty();
}

bool CoreMatcher::same_place(const Execution& execution) const {
  const Failure& failure = *execution.failure;
  const std::optional<RecordedPlace>& place = core_.failure.place;
  if (!place || place->line == 0 || !failure.place) return true;  // nobody knows
  if (place->line == failure.place->line && place->file == failure.place->file) return true;
  const std::vector<IndexFrame>& frames = core_.indexes[core_.failing].index.frames;
  if (frames.empty() || !frames.back().at) return true;
  // The last access of the thread is the one that it failed at, if that is among what runs tell of at all.
  const std::vector<ThreadName> threads = thread_names(execution.created);
  bool told = false;
  std::optional<uint32_t> last;
  for (const heddle_event& event : execution.kept_events) {
    told |= event.site == frames.back().at->value;
    if (event.thread < threads.size() && threads[event.thread] == failure.thread) last = event.site;
  }
  return !told || last == frames.back().at->value;
}

CoreMatch CoreMatcher::match_hang(const Failure& failure) const {
  if (!is_among(failure.kind, {"deadlock", "lost-wakeup", "livelock"})) return CoreMatch::none;
  const bool here = std::ranges::any_of(
      failure.waits, [&](const WaitingThread& wait) { return waiting_.contains(place_text(wait.place)); });
  return waiting_.empty() || here || is_related(failure) ? CoreMatch::cause : CoreMatch::loose;
}

bool CoreMatcher::is_related(const Failure& failure) const {
  return around_.empty() ||
         std::ranges::any_of(failure.stack,
                             [&](const StackFrame& frame) { return holds(innermost_, frame); }) ||
         (!failure.stack.empty() && holds(around_, failure.stack[0]));
}

CoreMatch CoreMatcher::match(const Execution& execution) const {
  if (execution.outcome != Outcome::failed || !execution.failure) return CoreMatch::none;
  const Failure& failure = *execution.failure;
  if (core_.failure.identity == failure.identity) return CoreMatch::same;
  if (core_.hangs())
    if (const CoreMatch hang = match_hang(failure); hang != CoreMatch::none) return hang;
  if (core_.failure.kind == failure.kind) {
    if (same_function(failure)) return same_place(execution) ? CoreMatch::same : CoreMatch::loose;
    return std::ranges::any_of(failure.stack, [&](const StackFrame& frame) { return holds(innermost_, frame); })
               ? CoreMatch::loose
               : CoreMatch::none;
  }
  if (!is_among(failure.kind, {"use-after-free", "double-free", "invalid-free"})) return CoreMatch::none;
  return heap_damaged_ || is_related(failure) ? CoreMatch::cause : CoreMatch::loose;
}

}  // namespace heddle
