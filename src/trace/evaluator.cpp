#include "trace/evaluator.h"

#include <fmt/format.h>

#include "trace/execution.h"
#include "trace/trace_text.h"

namespace heddle {

std::string_view text_of(Evaluation::Kind kind) {
  constexpr std::string_view kTexts[] = {
      "holds",     "not an order", "not possible here", "outside of its object", "constraint does not hold",
      "no failure"};
  return kTexts[static_cast<unsigned>(kind)];
}

std::string Evaluation::text(const Trace& trace) const {
  const std::string note =
      undecided == 0 ? "" : fmt::format(" ({} constraints could not be decided)", undecided);
  if (kind == Kind::holds) return fmt::format("the order holds, and the failure happens{}", note);
  if (kind == Kind::no_failure) return fmt::format("the order holds, but there is no failure{}", note);
  if (thread >= trace.threads.size())
    return fmt::format("item {}: {}: there is no thread {}", item, text_of(kind), thread);
  const ThreadTrace& of = trace.threads[thread];
  const std::string where = fmt::format("item {}, thread {}", item, of.name);
  if (kind == Kind::constraint)
    return fmt::format("{}: {}: {}", where, text_of(kind), constraint_text(trace, thread, constraint));
  if (event >= of.events.size()) return fmt::format("{}: {}: it has no event {}", where, text_of(kind), event);
  return fmt::format("{}: {}: {}", where, text_of(kind), event_text(trace, thread, event));
}

Evaluation evaluate(const Trace& trace, MemoryModel model, std::span<const OrderItem> order,
                    const ValueWatcher& watcher) {
  TraceExecution execution(trace, model, watcher);
  for (const OrderItem& item : order)
    if (const std::optional<Evaluation> failed = execution.perform(item)) return *failed;
  return execution.finish();
}

}  // namespace heddle
