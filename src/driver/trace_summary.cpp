#include "driver/trace_summary.h"

#include "trace/trace_text.h"

namespace heddle {
namespace {

Json place_json(const Trace& trace, uint32_t thread, uint32_t place) {
  Json stack = Json::array();
  const std::vector<TracePlace>& places = trace.threads[thread].places;
  for (uint32_t at = place; at != 0; at = places[at].caller) {
    const auto text = trace.instruction_texts.find(places[at].instruction);
    stack.push_back(text != trace.instruction_texts.end() ? text->second : "?");
  }
  return stack;
}

Json event_json(const Trace& trace, uint32_t thread, uint32_t index) {
  const ThreadTrace& of_thread = trace.threads[thread];
  const Event& event = of_thread.events[index];
  Json out = {{"kind", text_of(event.kind)},
              {"address", event.address},
              {"step", event.step},
              {"stack", place_json(trace, thread, event.place)}};
  if (is_access(event.kind)) {
    out["size"] = event.size;
    out["order"] = text_of(event.order);
  }
  if (event.address_expression) out["address_expression"] = of_thread.pool.text(event.address_expression);
  if (writes_value(event.kind)) out["value"] = of_thread.pool.text(event.value);
  return out;
}

}  // namespace

Json trace_json(const Trace& trace) {
  Json threads = Json::array();
  for (uint32_t i = 0; i < trace.threads.size(); ++i) {
    const ThreadTrace& thread = trace.threads[i];
    Json events = Json::array(), constraints = Json::array();
    for (uint32_t k = 0; k < thread.events.size(); ++k) events.push_back(event_json(trace, i, k));
    for (const Constraint& constraint : thread.constraints)
      constraints.push_back({{"kind", text_of(constraint.kind)},
                             {"after_events", constraint.events},
                             {"condition", thread.pool.text(constraint.condition)},
                             {"stack", place_json(trace, i, constraint.place)}});
    threads.push_back(
        {{"name", thread.name}, {"events", std::move(events)}, {"constraints", std::move(constraints)}});
  }
  Json approximations = Json::array();
  for (const Approximation& approximation : trace.approximations)
    approximations.push_back({{"what", approximation.what},
                              {"thread", trace.threads[approximation.thread].name},
                              {"stack", place_json(trace, approximation.thread, approximation.place)}});
  return {{"program", trace.program},
          {"identity", trace.identity},
          {"policy", trace.policy},
          {"accesses", trace.accesses},
          {"shared_accesses", trace.shared_accesses},
          {"failure", {{"kind", text_of(trace.failure.kind)}, {"text", trace.failure.text}}},
          {"threads", std::move(threads)},
          {"approximations", std::move(approximations)}};
}

}  // namespace heddle
