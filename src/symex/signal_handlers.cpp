#include "symex/signal_handlers.h"

#include "symex/thread_interpreter.h"

namespace heddle {
namespace {

void add_written(const AccessNotes& notes, SharedBytes& to) {
  for (const auto& [number, page] : notes.pages())
    for (size_t i = 0; i < page->size(); ++i)
      for (unsigned bit = 0; bit < 8; ++bit)
        if (((*page)[i].written >> bit & 1) != 0) to.add(number * AccessNotes::kPage + i * 8 + bit, 1);
}

bool is_semaphore(EventKind kind) {
  return kind == EventKind::semaphore_wait || kind == EventKind::semaphore_failed ||
         kind == EventKind::semaphore_post;
}

}  // namespace

HandlerEffects effects_of_handlers(const SymbolicInput& input, CodeCache& code) {
  HandlerEffects out;
  const SymbolicMachine::Known nothing;
  for (const RecordedThreadLog& each : input.handlers) {
    // What they read is not what it was when they ran: only the places where they write matter. Addresses that
    // come from memory are in the log.
    ApproximationList approximations;
    SymbolicMachine machine(code, SymbolicMemory([&](uint64_t page, auto bytes, auto known) {
                              input.image.fill(page, bytes, known);
                            }),
                            nothing, approximations, 0);
    machine.thread_pointer = each.log.head().tls;
    machine.stack_high = each.log.head().stack_high;
    ThreadInterpreter interpreter(machine,
                                  {.read_file = input.read_file, .made = [](NewThread) {}, .joined = {{}, {}}});
    if (each.source != nullptr)
      each.source->run(interpreter, &interpreter);
    else
      ThreadDecoder(input.program, input.plan, each.log, interpreter, each.jumps).run();
    add_written(machine.notes, out.written);
    out.anywhere |= interpreter.lost() || !approximations.take().empty();
    for (const Event& event : machine.trace.events)
      if (event.kind == EventKind::semaphore_post) out.posted.insert(event.address);
  }
  return out;
}

void forget_posts_of_handlers(const HandlerEffects& handlers, Trace& trace) {
  if (handlers.anywhere)
    trace.approximations.push_back({.what = "a signal handler that writes where nobody knows"});
  if (handlers.posted.empty()) return;
  for (uint32_t t = 0; t < trace.threads.size(); ++t) {
    std::set<uint32_t> places;  // that were named
    for (Event& event : trace.threads[t].events) {
      if (!is_semaphore(event.kind) || !handlers.posted.contains(event.address)) continue;
      event.kind = EventKind::sync;
      if (places.insert(event.place).second)
        trace.approximations.push_back(
            {.what = "a semaphore that a signal handler posts", .thread = t, .place = event.place});
    }
  }
}

}  // namespace heddle
