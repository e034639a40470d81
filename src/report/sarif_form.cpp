#include <fmt/format.h>

#include "base/safe_text.h"
#include "base/version.h"
#include "report/forms.h"
#include "report/narrative.h"
#include "report/sources.h"

namespace heddle {
namespace {

constexpr size_t kMostFlow = 1000;  // locations of a code flow

struct SarifRule {
  Pattern pattern;
  std::string_view id, text;
};
constexpr SarifRule kSarifRules[] = {
    {Pattern::unknown, "heddle/failure", "A failure that a schedule reproduces."},
    {Pattern::atomicity, "heddle/atomicity",
     "Two accesses that belong together are interrupted by another thread."},
    {Pattern::order, "heddle/order", "Something happens before what it needs."},
    {Pattern::deadlock, "heddle/deadlock", "Threads wait for each other."},
    {Pattern::lost_wakeup, "heddle/lost-wakeup", "A signal comes before anybody waits for it."},
    {Pattern::store_buffer, "heddle/store-buffer",
     "A store becomes visible after a later access of its thread."},
    {Pattern::race, "heddle/race", "Data without protection is used by several threads."},
};

// Characters that a URI may not hold as %NN.
std::string uri_of(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= '0' && byte <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

Json location_json(const FailureFinding& finding, const CodePlace& place, const std::string& message) {
  Json artifact = place.file.starts_with('/') ? Json{{"uri", "file://" + uri_of(place.file)}}
                                              : Json{{"uri", uri_of(place.file)}, {"uriBaseId", "SOURCES"}};
  Json region = {{"startLine", place.line == 0 ? 1 : place.line}};
  if (const std::string text = line_text(finding.sources, place); !text.empty())
    region["snippet"] = {{"text", text}};
  Json out = {{"physicalLocation", {{"artifactLocation", std::move(artifact)}, {"region", std::move(region)}}}};
  if (!place.function.empty())
    out["logicalLocations"] = Json::array({{{"fullyQualifiedName", place.function}, {"kind", "function"}}});
  if (!message.empty()) out["message"] = {{"text", message}};
  return out;
}

Json flows_json(const FailureFinding& finding) {
  Json flows = Json::array();
  for (uint32_t thread = 0; thread < finding.threads.size(); ++thread) {
    Json locations = Json::array();
    for (size_t i = finding.events.size() > kMostFlow ? finding.events.size() - kMostFlow : 0;
         i < finding.events.size(); ++i) {
      const FindingEvent& event = finding.events[i];
      if (event.thread != thread || !event.place || event.pending) continue;
      locations.push_back(
          {{"location", location_json(finding, *event.place, event.text)}, {"executionOrder", i + 1}});
    }
    if (!locations.empty())
      flows.push_back({{"id", finding.threads[thread].name.text()},
                       {"message", {{"text", who(finding, thread)}}},
                       {"locations", std::move(locations)}});
  }
  return flows;
}

}  // namespace

Json sarif_form(const FailureFinding& finding) {
  Json rules = Json::array();
  size_t rule = 0;
  for (const SarifRule& each : kSarifRules) {
    if (each.pattern == finding.pattern) rule = rules.size();
    rules.push_back({{"id", each.id},
                     {"name", pattern_name(each.pattern)},
                     {"shortDescription", {{"text", each.text}}},
                     {"defaultConfiguration", {{"level", "error"}}}});
  }
  std::string message = fmt::format("{}. {}", finding.headline, finding.failure.identity);
  for (const std::string& sentence : finding.explanation) message += "\n" + sentence;
  if (!finding.advice.empty()) message += "\n" + finding.advice;

  Json locations = Json::array(), related = Json::array();
  std::optional<CodePlace> place = finding.failure.place;
  if (!finding.decisive.empty() && finding.events[finding.decisive[0].second].place)
    place = finding.events[finding.decisive[0].second].place;
  if (!place && !finding.failure.waits.empty()) place = finding.failure.waits[0].place;
  if (place) locations.push_back(location_json(finding, *place, ""));
  const auto relate = [&](const std::optional<CodePlace>& where_to, const std::string& text) {
    if (!where_to || where_to->line == 0) return;
    Json each = location_json(finding, *where_to, text);
    each["id"] = related.size();
    related.push_back(std::move(each));
  };
  relate(finding.failure.place, "it fails here: " + finding.failure.kind);
  for (const FindingPair& pair : finding.decisive) {
    relate(finding.events[pair.first].place, finding.events[pair.first].text);
    relate(finding.events[pair.second].place, finding.events[pair.second].text);
  }
  for (const WaitingThread& wait : finding.failure.waits) relate(wait.place, wait.text());

  Json result = {{"ruleId", kSarifRules[rule].id},
                 {"ruleIndex", rule},
                 {"level", "error"},
                 {"message", {{"text", message}}},
                 {"locations", std::move(locations)},
                 {"relatedLocations", std::move(related)},
                 {"partialFingerprints", {{"heddleFailure/v1", finding.failure.identity}}}};
  if (Json flows = flows_json(finding); !flows.empty())
    result["codeFlows"] =
        Json::array({{{"message", {{"text", "the failing schedule"}}}, {"threadFlows", std::move(flows)}}});
  std::string base = finding.header.folder;
  for (const FindingSource& source : finding.sources)
    if (source.path.ends_with("/" + source.file))
      base = source.path.substr(0, source.path.size() - source.file.size() - 1);
  return {
      {"$schema",
       "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/main/sarif-2.1/schema/sarif-schema-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       Json::array(
           {{{"tool",
              {{"driver", {{"name", "heddle"}, {"version", HEDDLE_VERSION}, {"rules", std::move(rules)}}}}},
             {"originalUriBaseIds", {{"SOURCES", {{"uri", "file://" + uri_of(base) + "/"}}}}},
             {"columnKind", "utf16CodeUnits"},
             {"results", Json::array({std::move(result)})}}})}};
}

}  // namespace heddle
