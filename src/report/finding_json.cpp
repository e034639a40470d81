// The JSON form of a finding: docs/report.md describes it.
#include "base/safe_text.h"
#include "report/finding.h"
#include "report/narrative.h"
#include "schedule/schedule_text.h"

namespace heddle {
namespace {

Json stack_json(const std::vector<StackFrame>& stack) {
  Json out = Json::array();
  for (const StackFrame& frame : stack)
    out.push_back({{"function", frame.function}, {"place", place_json(frame.place)}});
  return out;
}

Json event_json(const FindingEvent& event) {
  Json out = {{"thread", event.thread}, {"step", event.step}, {"kind", event.kind}, {"text", event.text}};
  if (!event.object.empty()) out["object"] = event.object;
  if (!event.value.empty()) out["value"] = event.value;
  if (!event.after.empty()) out["after"] = event.after;
  if (event.variable) out["variable"] = *event.variable;
  if (event.place) {
    out["file"] = event.place->file;
    out["line"] = event.place->line;
    out["function"] = event.place->function;
  }
  if (event.store) out["store"] = *event.store;
  if (event.pending) out["pending"] = true;
  if (!event.stack.empty()) out["stack"] = stack_json(event.stack);
  return out;
}

Json spans_json(const std::vector<FindingSpan>& spans) {
  Json out = Json::array();
  for (const FindingSpan& span : spans)
    out.push_back({{"thread", span.thread},
                   {"object", span.object},
                   {"begin", span.begin},
                   {"end", span.end},
                   {"shared", span.shared}});
  return out;
}

Json why_json(const FailureFinding& finding) {
  Json pairs = Json::array();
  for (const FindingPair& pair : finding.decisive)
    pairs.push_back({{"first", pair.first},
                     {"second", pair.second},
                     {"visibility", pair.visibility},
                     {"text", pair.text},
                     {"flipped", {{"runs", pair.flipped_runs}, {"passed", pair.flipped_passed}}},
                     {"kept", {{"runs", pair.kept_runs}, {"failed", pair.kept_failed}}}});
  return {{"pattern", text_of(finding.pattern)},
          {"name", pattern_name(finding.pattern)},
          {"headline", finding.headline},
          {"explanation", finding.explanation},
          {"advice", finding.advice},
          {"data_race", finding.unprotected},
          {"decisive", std::move(pairs)},
          {"unit", finding.unit ? Json::array({finding.unit->first, finding.unit->second}) : Json()},
          {"cycle", finding.cycle},
          {"pairs", finding.pairs},
          {"flips", finding.flips},
          {"impossible", finding.impossible},
          {"runs", finding.runs},
          {"finished", finding.finished}};
}

Json schedule_json(const FailureFinding& finding) {
  Json steps = Json::array();
  for (const Step& step : finding.steps)
    steps.push_back({{"kind", text_of(step.kind)},
                     {"thread", step.thread.value},
                     {"count", step.count},
                     {"end", step.kind == StepKind::run ? Json(text_of(step.end)) : Json()}});
  return {{"file", finding.schedule_file},
          {"preemptions", finding.measures.preemptions},
          {"switches", finding.measures.switches},
          {"events", finding.measures.events},
          {"flushed_stores", finding.measures.flushed_stores},
          {"steps", std::move(steps)}};
}

}  // namespace

Json to_json(const FailureFinding& finding) {
  Json threads = Json::array(), events = Json::array(), variables = Json::array(), sources = Json::array();
  for (const ScheduleThread& thread : finding.threads)
    threads.push_back(
        {{"name", thread.name.text()}, {"start", thread.start}, {"created", place_json(thread.created)}});
  for (const FindingEvent& event : finding.events) events.push_back(event_json(event));
  for (const FindingVariable& variable : finding.variables)
    variables.push_back({{"name", variable.name}, {"initial", variable.initial}});
  for (const FindingSource& source : finding.sources)
    sources.push_back({{"file", source.file},
                       {"path", source.path},
                       {"missing", source.missing},
                       {"first_line", source.first_line},
                       {"lines", source.lines}});
  return {{"format", 1},
          {"program", finding.header.program},
          {"command", finding.header.command},
          {"folder", finding.header.folder},
          {"identity", finding.header.identity},
          {"memory_model", text_of(finding.header.memory_model)},
          {"origin", finding.origin},
          {"failure", finding.failure.to_json()},
          {"replays", {{"runs", finding.replays}, {"reproduced", finding.reproduced}}},
          {"why", why_json(finding)},
          {"schedule", schedule_json(finding)},
          {"threads", std::move(threads)},
          {"variables", std::move(variables)},
          {"events", std::move(events)},
          {"left_out", finding.left_out},
          {"gap", {{"events", finding.gap}, {"at", finding.gap_at}}},
          {"locks", spans_json(finding.locks)},
          {"buffered", spans_json(finding.buffered)},
          {"sources", std::move(sources)},
          {"assumptions", finding.assumptions}};
}

}  // namespace heddle
