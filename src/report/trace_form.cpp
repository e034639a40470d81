#include <fmt/format.h>

#include "report/forms.h"
#include "report/narrative.h"

namespace heddle {
namespace {

constexpr int kProcess = 1;

Json trace_event(std::string_view phase, std::string name, size_t at, uint32_t thread) {
  return {{"ph", phase},     {"name", std::move(name)}, {"cat", "heddle"},
          {"pid", kProcess}, {"tid", thread + 1},       {"ts", at}};
}

}  // namespace

Json trace_form(const FailureFinding& finding) {
  Json out = Json::array();
  out.push_back({{"ph", "M"},
                 {"name", "process_name"},
                 {"pid", kProcess},
                 {"tid", 0},
                 {"args", {{"name", finding.header.program}}}});
  for (uint32_t i = 0; i < finding.threads.size(); ++i) {
    out.push_back({{"ph", "M"},
                   {"name", "thread_name"},
                   {"pid", kProcess},
                   {"tid", i + 1},
                   {"args", {{"name", who(finding, i)}}}});
    out.push_back({{"ph", "M"},
                   {"name", "thread_sort_index"},
                   {"pid", kProcess},
                   {"tid", i + 1},
                   {"args", {{"sort_index", i}}}});
  }
  size_t performed = finding.events.size();
  while (performed > 0 && finding.events[performed - 1].pending) --performed;
  // Stretches of one thread, and in them the events.
  for (size_t i = 0; i < performed;) {
    size_t end = i;
    while (end < performed && finding.events[end].thread == finding.events[i].thread) ++end;
    Json run = trace_event("X", "runs", i, finding.events[i].thread);
    run["dur"] = end - i;
    out.push_back(std::move(run));
    i = end;
  }
  for (size_t i = 0; i < performed; ++i) {
    const FindingEvent& event = finding.events[i];
    Json each = trace_event("X", event.text, i, event.thread);
    each["dur"] = 1;
    Json& args = each["args"] = Json::object();
    if (event.place) args["place"] = place_text(event.place);
    if (!event.object.empty()) args["object"] = event.object;
    if (!event.value.empty()) args["value"] = event.value;
    if (!event.after.empty()) args["after"] = event.after;
    out.push_back(std::move(each));
  }
  // Locks and buffered stores overlap what runs: asynchronous spans.
  size_t id = 1;
  const auto add_spans = [&](const std::vector<FindingSpan>& spans, std::string_view what) {
    for (const FindingSpan& span : spans) {
      for (const auto& [phase, at] :
           {std::pair("b", span.begin), std::pair("e", std::max(span.end, span.begin))}) {
        Json each = trace_event(phase, fmt::format("{} {}", what, span.object), at, span.thread);
        each["id"] = id;
        out.push_back(std::move(each));
      }
      ++id;
    }
  };
  add_spans(finding.locks, "holds");
  add_spans(finding.buffered, "buffered store to");
  for (const FindingPair& pair : finding.decisive) {
    if (pair.second >= performed) continue;
    const auto [first, second] = std::minmax(pair.first, pair.second);
    Json from = trace_event("s", "decisive order", first, finding.events[first].thread);
    Json to = trace_event("f", "decisive order", second, finding.events[second].thread);
    from["id"] = to["id"] = id++;
    to["bp"] = "e";
    out.push_back(std::move(from));
    out.push_back(std::move(to));
  }
  if (performed > 0) {
    Json end = trace_event("i", finding.failure.identity, performed, finding.events[performed - 1].thread);
    end["s"] = "g";
    out.push_back(std::move(end));
  }
  return {{"displayTimeUnit", "ns"},
          {"otherData",
           {{"failure", finding.failure.identity}, {"memory_model", text_of(finding.header.memory_model)}}},
          {"traceEvents", std::move(out)}};
}

}  // namespace heddle
