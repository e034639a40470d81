#include "trace/trace_text.h"

#include <fmt/format.h>

#include <iterator>

namespace heddle {
namespace {

constexpr size_t kLongest = 120;  // of an expression
constexpr unsigned kMostCallers = 6;

// " @ bank.c:12 deposit < bank.c:30 main", or nothing.
std::string place_text(const Trace& trace, const ThreadTrace& thread, uint32_t place) {
  std::string out;
  for (unsigned level = 0; place != 0; place = thread.places[place].caller) {
    if (++level > kMostCallers) return out + " < ...";
    const auto text = trace.instruction_texts.find(thread.places[place].instruction);
    const std::string name = text != trace.instruction_texts.end()
                                 ? text->second
                                 : fmt::format("instruction {}", thread.places[place].instruction);
    out += fmt::format("{} {}", out.empty() ? " @" : " <", name);
  }
  return out;
}

std::string address_text(const ThreadTrace& thread, const Event& event) {
  if (!event.address_expression) return fmt::format("{:#x}", event.address);
  return fmt::format("[{}] in {:#x}+{}", thread.pool.text(event.address_expression, kLongest), event.object,
                     event.object_size);
}

std::string operation_text(const Trace& trace, const ThreadTrace& thread, const Event& event) {
  std::string out(text_of(event.kind));
  if (event.order != AccessOrder::plain) out += fmt::format(" {}", text_of(event.order));
  switch (event.kind) {
    case EventKind::read:
    case EventKind::write:
    case EventKind::update:
    case EventKind::allocate:
      out += fmt::format(" {} bytes at {}", event.size, address_text(thread, event));
      break;
    case EventKind::create:
    case EventKind::join:
      out += fmt::format(" {}", trace.threads[event.address].name);
      break;
    case EventKind::fence:
    case EventKind::start:
    case EventKind::exit:
      break;
    case EventKind::wait_begin:
    case EventKind::wait_end:
    case EventKind::wait_timeout:
      out += fmt::format(" {:#x}, mutex {:#x}", event.address, event.second);
      break;
    case EventKind::init:
      out += fmt::format(" {:#x}, {}", event.address, event.second);
      break;
    default:
      out += fmt::format(" {:#x}", event.address);
  }
  if (event.value) out += fmt::format(": {}", thread.pool.text(event.value, kLongest));
  return out;
}

void append_failure(std::string& out, const Trace& trace) {
  const FailurePredicate& failure = trace.failure;
  if (failure.kind == FailurePredicate::Kind::none) return;
  fmt::format_to(std::back_inserter(out), "failure: {}", text_of(failure.kind));
  if (failure.kind != FailurePredicate::Kind::deadlock)
    out += fmt::format(", thread {}", trace.threads[failure.thread].name);
  if (failure.condition)
    out += fmt::format(": {}", trace.threads[failure.thread].pool.text(failure.condition, kLongest));
  if (failure.kind == FailurePredicate::Kind::freed) out += fmt::format(": {:#x}", failure.address);
  if (!failure.text.empty()) out += fmt::format(" ({})", failure.text);
  out += '\n';
  for (const FailurePredicate::Waiting& waiting : failure.waiting) {
    const ThreadTrace& thread = trace.threads[waiting.thread];
    out += fmt::format("  {} waits: {}{}\n", thread.name, operation_text(trace, thread, waiting.operation),
                       place_text(trace, thread, waiting.operation.place));
  }
}

// " = 0x64", of up to eight bytes; of more the first.
std::string value_text(std::span<const uint64_t> read, std::span<const uint64_t> written, bool certain) {
  if (!certain) return " = unknown";
  std::string out;
  if (!read.empty()) out += fmt::format(" = {:#x}", read[0]);
  if (!written.empty()) out += fmt::format("{} {:#x}", read.empty() ? " :=" : ", then", written[0]);
  return out;
}

}  // namespace

std::string event_text(const Trace& trace, uint32_t thread, uint32_t event) {
  const ThreadTrace& of = trace.threads[thread];
  return fmt::format("{:>5} {}{}", event, operation_text(trace, of, of.events[event]),
                     place_text(trace, of, of.events[event].place));
}

std::string constraint_text(const Trace& trace, uint32_t thread, uint32_t constraint) {
  const ThreadTrace& of = trace.threads[thread];
  const Constraint& c = of.constraints[constraint];
  return fmt::format("{}: {}{}", text_of(c.kind), of.pool.text(c.condition, kLongest),
                     place_text(trace, of, c.place));
}

std::string order_text(const Trace& trace, MemoryModel model, std::span<const OrderItem> order, size_t most) {
  std::map<std::pair<uint32_t, uint32_t>, std::string> values;
  evaluate(
      trace, model, order,
      [&](uint32_t thread, uint32_t event, std::span<const uint64_t> read, std::span<const uint64_t> written,
          bool certain) { values[{thread, event}] = value_text(read, written, certain); });
  const size_t first = order.size() > most ? order.size() - most : 0;
  std::string out = first == 0 ? "" : fmt::format("... {} events before\n", first);
  for (size_t i = first; i < order.size(); ++i) {
    const OrderItem& item = order[i];
    const ThreadTrace& thread = trace.threads[item.thread];
    const Event& event = thread.events[item.event];
    if (i == first || order[i - 1].thread != item.thread) out += fmt::format("thread {}\n", thread.name);
    if (item.flush)
      out += fmt::format("{:>5} becomes visible: {:#x}{}\n", item.event, event.address,
                         place_text(trace, thread, event.place));
    else
      out += fmt::format("{:>5} {}{}{}\n", item.event, operation_text(trace, thread, event),
                         values[{item.thread, item.event}], place_text(trace, thread, event.place));
  }
  return out;
}

std::string trace_text(const Trace& trace) {
  std::string out = fmt::format("trace of {} ({}), policy {}\n", trace.program, trace.identity, trace.policy);
  out += fmt::format("{} of {} accesses are shared\n", trace.shared_accesses, trace.accesses);
  append_failure(out, trace);
  for (const Approximation& approximation : trace.approximations)
    out += fmt::format("not known: {}{}\n", approximation.what,
                       place_text(trace, trace.threads[approximation.thread], approximation.place));
  for (uint32_t t = 0; t < trace.threads.size(); ++t) {
    const ThreadTrace& thread = trace.threads[t];
    out += fmt::format("\nthread {}: {} events, {} constraints{}{}\n", thread.name, thread.events.size(),
                       thread.constraints.size(), thread.end.empty() ? "" : ", ", thread.end);
    uint32_t constraint = 0;
    for (uint32_t event = 0; event <= thread.events.size(); ++event) {
      for (; constraint < thread.constraints.size() && thread.constraints[constraint].events == event;
           ++constraint)
        out += fmt::format("        {}\n", constraint_text(trace, t, constraint));
      if (event < thread.events.size()) out += event_text(trace, t, event) + '\n';
    }
  }
  return out;
}

}  // namespace heddle
