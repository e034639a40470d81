#include "cli/check_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/duration.h"
#include "cli/control_options.h"
#include "cli/schedule_output.h"

namespace heddle {
namespace {

// Of the whole, as far as that can be foreseen; two digits of it, since it is no better.
std::string of_whole(const ExploreProgress& progress, bool has_passes) {
  if (progress.expected == 0 || (progress.passes != 0) != has_passes) return "";
  uint64_t unit = 1;
  while (progress.expected / unit >= 100) unit *= 10;
  return fmt::format(" of about {}", (progress.expected + unit / 2) / unit * unit);
}

std::string_view verdict(const ExploreResult& result) {
  switch (result.end) {
    case ExploreResult::End::all:
      return "safe";
    case ExploreResult::End::failure:
      return "failure";
    case ExploreResult::End::limit:
      return "limit";
    case ExploreResult::End::interrupted:
      return "interrupted";
    case ExploreResult::End::not_covered:
      return "not-covered";
    case ExploreResult::End::stopped:
      return verdict_word(result.last.outcome);
    case ExploreResult::End::predicted:
      return "predicted";
  }
  return "";
}

std::string name_of_memory(uint64_t address, uint64_t load_base, const CodeNames& names) {
  const std::string variable = names.variable_at(address, load_base);
  return variable.empty() ? fmt::format("{:#x}", address) : variable;
}

std::string access_text(const RaceSide& side, const CodeNames& names) {
  return fmt::format("{}{} at {} by thread {}", side.atomic ? "atomic " : "", side.writes ? "write" : "read",
                     place_text(names.place_of_site(side.site)), side.thread.text());
}

std::string side_text(const RaceSide& side, uint64_t load_base, const CodeNames& names) {
  std::string out = access_text(side, names);
  for (size_t i = 0; i < side.locks.size(); ++i)
    out += (i == 0 ? ", holds " : ", ") + name_of_memory(side.locks[i], load_base, names);
  if (side.locks.empty()) out += ", holds no lock";
  out += '\n';
  for (size_t i = 0; i < side.stack.size(); ++i) out += fmt::format("    #{} {}\n", i, side.stack[i].text());
  return out;
}

Json side_json(const RaceSide& side, uint64_t load_base, const CodeNames& names) {
  Json locks = Json::array(), stack = Json::array();
  for (const uint64_t lock : side.locks) locks.push_back(name_of_memory(lock, load_base, names));
  for (const StackFrame& frame : side.stack)
    stack.push_back({{"function", frame.function}, {"place", place_json(frame.place)}});
  return {{"place", place_json(names.place_of_site(side.site))},
          {"thread", side.thread.text()},
          {"writes", side.writes},
          {"atomic", side.atomic},
          {"locks", std::move(locks)},
          {"stack", std::move(stack)}};
}

Json races_json(const std::vector<Race>& races, const CodeNames& names) {
  Json out = Json::array();
  for (const Race& race : races)
    out.push_back(
        {{"memory", name_of_memory(race.address, race.load_base, names)},
         {"confirmed", true},
         {"sides",
          {side_json(race.first, race.load_base, names), side_json(race.second, race.load_base, names)}}});
  return out;
}

void print_races(const std::vector<Race>& races, const CodeNames& names) {
  for (const Race& race : races)
    fmt::print(stderr, "heddle: data race on {}\n  {}  {}", name_of_memory(race.address, race.load_base, names),
               side_text(race.first, race.load_base, names), side_text(race.second, race.load_base, names));
}

bool has_other_side(const Prediction& prediction) {
  return prediction.second.site != HEDDLE_NO_SITE;
}

Json predictions_json(const std::vector<Prediction>& predictions, const CodeNames& names) {
  Json out = Json::array();
  for (const Prediction& each : predictions) {
    Json sides = Json::array({side_json(each.first, each.load_base, names)});
    if (has_other_side(each)) sides.push_back(side_json(each.second, each.load_base, names));
    Json json = {{"kind", text_of(each.kind)},
                 {"confirmed", each.confirmed},
                 {"memory", name_of_memory(each.address, each.load_base, names)},
                 {"sides", std::move(sides)},
                 {"failure", each.failure}};
    if (each.kind == Prediction::Kind::null_dereference || each.kind == Prediction::Kind::assertion) {
      json["value"] = each.value;
      if (!each.confirmed) json["fails_at"] = place_json(names.place_of_site(each.failing));
    }
    out.push_back(std::move(json));
  }
  return out;
}

// Of what is confirmed the failure, or the race, is told by itself.
void print_predictions(const std::vector<Prediction>& predictions, const CodeNames& names) {
  for (const Prediction& each : predictions) {
    const std::string memory = name_of_memory(each.address, each.load_base, names);
    const std::string first = access_text(each.first, names);
    const std::string second = has_other_side(each) ? access_text(each.second, names) : "before all writes";
    if (each.confirmed && each.kind == Prediction::Kind::race) continue;
    const std::string_view how = each.confirmed ? "predicted and confirmed" : "predicted, not confirmed";
    switch (each.kind) {
      case Prediction::Kind::race:
        fmt::print(stderr, "heddle: {}: data race on {}\n  {}  {}", how, memory,
                   side_text(each.first, each.load_base, names), side_text(each.second, each.load_base, names));
        break;
      case Prediction::Kind::use_after_free:
        fmt::print(stderr,
                   "heddle: {}: use after free\n  {}\n  could come behind the free at {} by thread {}\n", how,
                   first, place_text(names.place_of_site(each.second.site)), each.second.thread.text());
        break;
      case Prediction::Kind::null_dereference:
      case Prediction::Kind::assertion:
        fmt::print(stderr, "heddle: {}: {}{}\n  {} of {} could return {}: {}\n", how, text_of(each.kind),
                   each.confirmed || each.failing == HEDDLE_NO_SITE
                       ? ""
                       : fmt::format(" at {}", place_text(names.place_of_site(each.failing))),
                   first, memory, each.value, second);
        break;
    }
    if (!each.failure.empty()) fmt::print(stderr, "  shown by: {}\n", each.failure);
  }
}

void print_found(const FoundFailure& found) {
  const Execution& best = found.confirmation.best;
  fmt::print(stderr, "heddle: {}", best.failure->report());
  fmt::print(stderr, "heddle: failure {}\n", best.failure->identity);
  const ScheduleMeasures measures = measure(best.schedule);
  fmt::print(stderr, "  {} and {}; replayed in fresh processes: the same failure {} of {} times\n",
             counted(measures.preemptions, "preemption"), counted(measures.segments, "segment"),
             found.confirmation.confirmed, kCheckConfirmations);
  fmt::print(stderr, "{}", schedule_next_text(found.schedule));
}

std::string site_text(const ExploreResult& result, const CodeNames& names) {
  const std::optional<CodePlace> place = names.place_of_site(result.site);
  return place ? " at " + place_text(place) : "";
}

}  // namespace

std::string check_progress_text(const ExploreProgress& progress, bool by_seeds) {
  const double seconds = std::max(1e-3, static_cast<double>(progress.elapsed.count()) / 1000);
  if (by_seeds)
    return fmt::format("checking: {}{} ({:.0f} per second), {}, {} to be explored, {}",
                       counted(progress.executions, "execution"), of_whole(progress, false),
                       static_cast<double>(progress.executions) / seconds, counted(progress.ends, "outcome"),
                       counted(progress.frontier, "seed"), duration_text(progress.elapsed));
  if (progress.passes == 0)
    return fmt::format("checking: at random first, {}, {}", counted(progress.executions, "execution"),
                       duration_text(progress.elapsed));
  return fmt::format("checking: pass {}, {}, {}{} ({:.0f} per second), {}, {}", progress.passes,
                     counted(progress.executions, "execution"), counted(progress.states, "state"),
                     of_whole(progress, true), static_cast<double>(progress.states) / seconds,
                     progress.merged ? "outcomes not counted" : counted(progress.ends, "outcome"),
                     duration_text(progress.elapsed));
}

Json check_json(const ExploreResult& result, const std::vector<FoundFailure>& found,
                const std::vector<std::string>& assumed, std::string_view algorithm, const CodeNames& names) {
  Json failures = Json::array();
  for (const FoundFailure& each : found)
    failures.push_back({{"failure", each.confirmation.best.failure->to_json()},
                        {"confirmed", each.confirmation.confirmed},
                        {"confirmations", kCheckConfirmations},
                        {"measures", measures_json(measure(each.confirmation.best.schedule))},
                        {"schedule", each.schedule}});
  return {{"verdict", verdict(result)},
          {"algorithm", algorithm},
          {"why", result.why},
          {"where", place_json(names.place_of_site(result.site))},
          {"assumed", assumed},
          {"executions", result.progress.executions},
          {"outcomes_executed", result.progress.samples},
          {"states", result.progress.states},
          {"outcomes", result.progress.ends},
          {"outcomes_counted", !result.progress.merged},
          {"passes", result.progress.passes},
          {"redundant", result.progress.redundant},
          {"frontier", result.progress.frontier},
          {"expected", result.progress.expected},
          {"workers_replaced", result.progress.replaced},
          {"solving_seconds", result.progress.solving},
          {"seed_runs", result.progress.expanded},
          {"seed_runs_without_search", result.progress.decided},
          {"seed_questions", result.progress.asked},
          {"seed_questions_refuted", result.progress.refuted},
          {"races", races_json(result.races, names)},
          {"predictions", predictions_json(result.predictions, names)},
          {"predictions_tried", result.tried},
          {"seconds", static_cast<double>(result.progress.elapsed.count()) / 1000},
          {"failures", std::move(failures)}};
}

void print_check(const ExploreResult& result, const std::vector<FoundFailure>& found,
                 const std::vector<std::string>& assumed, const CommonOptions& common, const CodeNames& names) {
  print_races(result.races, names);
  print_predictions(result.predictions, names);
  for (const FoundFailure& each : found) print_found(each);
  const ExploreProgress& progress = result.progress;
  const bool is_cut = result.end == ExploreResult::End::limit || result.end == ExploreResult::End::interrupted;
  const std::string counts =
      fmt::format("{}{}, {}{}, {}", counted(progress.executions, "execution"),
                  is_cut ? of_whole(progress, false) : "", counted(progress.states, "state"),
                  is_cut ? of_whole(progress, true) : "", duration_text(progress.elapsed));
  switch (result.end) {
    case ExploreResult::End::all:
      fmt::print(stderr, "heddle: safe: no interleaving fails ({}; {})\n",
                 progress.merged ? "too many outcomes to be counted"
                                 : counted(progress.ends, "outcome") + " for the reads",
                 counts);
      for (const std::string& each : assumed) fmt::print(stderr, "  assumed: {}\n", each);
      return;
    case ExploreResult::End::failure:
      if (!common.quiet) fmt::print(stderr, "  found after {}\n", counts);
      return;
    case ExploreResult::End::limit:
      fmt::print(stderr, "heddle: undecided: limit of {} reached ({}; {} tried)\n", result.why, counts,
                 counted(result.tried, "prediction"));
      return;
    case ExploreResult::End::interrupted:
      fmt::print(stderr, "heddle: undecided: interrupted ({})\n", counts);
      return;
    case ExploreResult::End::not_covered:
      fmt::print(
          stderr,
          "heddle: undecided: this program cannot be explored as a whole: {}{} ({})\n  next: heddle hunt, "
          "which tries interleavings of any program\n",
          result.why, site_text(result, names), counts);
      return;
    case ExploreResult::End::stopped:
      fmt::print(stderr, "heddle: {}\n", unfinished_text(result.last));
      return;
    case ExploreResult::End::predicted:
      fmt::print(
          stderr,
          "heddle: undecided: nothing but single runs and what follows from them was looked at ({} tried; {})\n"
          "  next: heddle check without --predict, which explores all interleavings\n",
          counted(result.tried, "prediction"), counts);
      return;
  }
}

}  // namespace heddle
