#include "replay/program_executor.h"

#include <fmt/core.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "replay/guide.h"
#include "replay/interrupt.h"
#include "schedule/measures.h"

namespace heddle {
namespace {

static_assert(static_cast<int>(Strategy::Kind::nonpreemptive) == HEDDLE_STRATEGY_nonpreemptive &&
              static_cast<int>(Strategy::Kind::random) == HEDDLE_STRATEGY_random &&
              static_cast<int>(Strategy::Kind::pct) == HEDDLE_STRATEGY_pct &&
              static_cast<int>(Strategy::Kind::pos) == HEDDLE_STRATEGY_pos &&
              static_cast<int>(Strategy::Kind::hold) == HEDDLE_STRATEGY_hold);
static_assert(static_cast<int>(Lenience::never) == HEDDLE_LENIENT_never &&
              static_cast<int>(Lenience::leave_out) == HEDDLE_LENIENT_leave_out &&
              static_cast<int>(Lenience::put_off) == HEDDLE_LENIENT_put_off);
static_assert(static_cast<int>(Successor::elder) == HEDDLE_SUCCESSOR_elder &&
              static_cast<int>(Successor::younger) == HEDDLE_SUCCESSOR_younger &&
              static_cast<int>(Successor::preempted) == HEDDLE_SUCCESSOR_preempted);

constexpr uint64_t kKeptEvents = 1 << 20;
constexpr uint64_t kKeptMoves = 1 << 25;

// The control runtime says this when threads are created before main().
constexpr std::string_view kEarlyThreads = "early";

ControlCapacity capacity_for(const ExecutionPlan& plan) {
  ControlCapacity capacity;
  if (plan.schedule != nullptr) {
    capacity.steps_in = std::max<uint64_t>(capacity.steps_in, plan.schedule->steps.size());
    // A whole schedule may be cut into more steps than it was given in, hardly into many more.
    capacity.steps_out = std::max<uint64_t>(capacity.steps_out, 2 * plan.schedule->steps.size());
  }
  if (plan.guide != nullptr)
    capacity.steps_in = std::max<uint64_t>(capacity.steps_in, plan.guide->steps.size());
  if (plan.keep_events) capacity.events = kKeptEvents;
  if (plan.keep_moves) capacity.moves = kKeptMoves;
  return capacity;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("the process was ended by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  return fmt::format("the process ended with exit code {}", WEXITSTATUS(status));
}

// The server of forks saw a child die that could not say anything.
bool died_silently(const Answer& answer) {
  return answer.result.outcome == HEDDLE_OUTCOME_signal && answer.threads.empty();
}

// A run that is endless by its length alone (livelock_bound) is judged by the runs before it, which a replay
// does not have: there the program that still goes on at the end of the schedule shows the same.
bool goes_on_behind_livelock(const heddle_result& result, const ExecutionPlan& plan) {
  return result.outcome == HEDDLE_OUTCOME_diverged && plan.schedule != nullptr &&
         !plan.schedule->header.prefix && plan.schedule->header.failure == "livelock" &&
         result.events >= measure(*plan.schedule).events;
}

std::string system_call_name(int64_t number) {
  static const std::map<int64_t, std::string_view> kNames = {
      {SYS_read, "read"},       {SYS_write, "write"},
      {SYS_open, "open"},       {SYS_openat, "openat"},
      {SYS_pread64, "pread"},   {SYS_pwrite64, "pwrite"},
      {SYS_readv, "readv"},     {SYS_writev, "writev"},
      {SYS_lseek, "lseek"},     {SYS_pipe, "pipe"},
      {SYS_pipe2, "pipe2"},     {SYS_socket, "socket"},
      {SYS_connect, "connect"}, {SYS_bind, "bind"},
      {SYS_fork, "fork"},       {SYS_vfork, "vfork"},
      {SYS_clone, "clone"},     {SYS_clone3, "clone3"},
      {SYS_execve, "execve"},   {SYS_kill, "kill"},
      {SYS_unlink, "unlink"},   {SYS_rename, "rename"},
      {SYS_mkdir, "mkdir"},     {SYS_ftruncate, "ftruncate"},
      {SYS_mmap, "mmap"},       {SYS_munmap, "munmap"},
      {SYS_ioctl, "ioctl"},     {SYS_memfd_create, "memfd_create"},
      {SYS_dup2, "dup2"},       {SYS_close, "close"},
      {SYS_eventfd2, "eventfd"}};
  const auto found = kNames.find(number);
  return found != kNames.end() ? std::string(found->second) : fmt::format("number {}", number);
}

std::string renewal_reason_for(const heddle_result& result) {
  return fmt::format("the program makes a system call that reaches outside its memory ({})",
                     result.text[0] != '\0' ? result.text : system_call_name(result.number));
}

}  // namespace

std::string_view text_of(Renewal renewal) {
  return renewal == Renewal::reset ? "reset" : renewal == Renewal::fork ? "fork" : "start";
}

TargetSpec target_spec(const ControlledProgram& program, const LaunchOptions& options) {
  return {.executable = program.variant(),
          .argv = options.command,
          .environment = controlled_environment(options.environment),
          .folder = options.folder,
          .input = options.input_name};
}

heddle_plan runtime_plan(const ExecutionPlan& plan, Substrate substrate, Renewal renewal) {
  heddle_plan out{};
  out.strategy = static_cast<uint32_t>(plan.strategy.kind);
  out.depth = plan.strategy.depth;
  out.memory_model = static_cast<uint32_t>(plan.rules.memory_model);
  out.substrate = substrate == Substrate::fibres ? HEDDLE_SUBSTRATE_fibres : HEDDLE_SUBSTRATE_threads;
  out.renewal = renewal == Renewal::reset  ? HEDDLE_RENEWAL_reset
                : renewal == Renewal::fork ? HEDDLE_RENEWAL_fork
                                           : HEDDLE_RENEWAL_once;
  out.seed = plan.seed;
  out.runs = renewal == Renewal::start ? 1 : plan.runs;
  out.keep_events = plan.keep_events ? 1 : 0;
  std::ranges::copy(plan.marked, out.marked);
  out.keep_moves = plan.keep_moves ? 1 : 0;
  out.held_count = static_cast<uint32_t>(std::min<size_t>(plan.held.size(), HEDDLE_CONTROL_HELD));
  std::copy_n(plan.held.begin(), out.held_count, out.held);
  out.successor = static_cast<uint32_t>(plan.successor);
  if (plan.delay) {
    out.delayed = plan.delay->thread + 1;
    out.awaited = plan.delay->awaited;
    out.awaited_address = plan.delay->address;
    out.awaited_behind = plan.delay->behind;
    out.awaited_writes = plan.delay->writes ? 1 : 0;
  }
  out.spurious_wakeups = plan.rules.spurious_wakeups ? 1 : 0;
  out.max_events = plan.rules.max_events;
  out.livelock_bound = plan.rules.livelock_bound;
  std::copy(plan.rules.failing_codes.begin(), plan.rules.failing_codes.end(), out.failing_codes);
  out.guided = plan.guide != nullptr ? 1 : 0;
  out.prefix = plan.guide != nullptr || (plan.schedule != nullptr && plan.schedule->header.prefix) ? 1 : 0;
  out.lenient = static_cast<uint32_t>(plan.lenience);
  out.full_flushes = plan.full_flushes ? 1 : 0;
  return out;
}

ProgramExecutor::ProgramExecutor(const ControlledProgram& program, LaunchOptions options)
    : program_(program),
      options_(std::move(options)),
      renewal_(options_.renewal),
      snapshots_(options_.snapshots) {
  // Memory can be put back in one process of fibres only.
  if (options_.substrate == Substrate::threads) renewal_ = std::max(renewal_, Renewal::fork);
}

void ProgramExecutor::renew_by(Renewal renewal, std::string reason) {
  if (renewal <= renewal_) return;
  renewal_ = renewal;
  reason_ = std::move(reason);
  resetting_.reset();
}

std::optional<Renewal> ProgramExecutor::better_renewal(const SessionAnswer& answer, Renewal used,
                                                       std::string& reason) const {
  const heddle_result& result = answer.answer.result;
  if (answer.end == SessionAnswer::End::died && used == Renewal::reset) {
    reason = how_it_ended(answer.status);
    return Renewal::fork;
  }
  if (answer.end != SessionAnswer::End::answered) return std::nullopt;
  if (result.outcome == HEDDLE_OUTCOME_not_resettable) {
    reason = renewal_reason_for(result);
    return used == Renewal::reset ? Renewal::fork : Renewal::start;
  }
  if (result.outcome == HEDDLE_OUTCOME_unsupported && result.text == kEarlyThreads &&
      (used != Renewal::start || options_.substrate != Substrate::threads)) {
    reason = "the program creates threads before main()";
    return Renewal::start;
  }
  return std::nullopt;
}

Result<SessionAnswer> ProgramExecutor::ask(const ExecutionPlan& plan, Renewal renewal, From from,
                                           const GivenSteps* given) {
  const ControlCapacity capacity = capacity_for(plan);
  std::unique_ptr<ControlSession>& session = renewal == Renewal::reset ? resetting_ : forking_;
  if (renewal == Renewal::start || (session && (!session->alive() || !session->capacity().holds(capacity))))
    session.reset();
  if (!session) {
    if (renewal != Renewal::reset) snapshots_.session_ended();
    SessionOptions options{.capacity = capacity, .patience = options_.patience};
    options.streams.output = options_.output;
    options.streams.input = options_.inherit_input ? 0 : options_.input;
    options.streams.own_group = !(options_.inherit_input && ::isatty(0) != 0);
    session = std::make_unique<ControlSession>(
        HEDDLE_TRY(ControlSession::start(target_spec(program_, options_), options)));
  }
  // The position in the file is shared with the program and all its forks.
  if (options_.input >= 0) ::lseek(options_.input, 0, SEEK_SET);
  heddle_plan wanted = runtime_plan(plan, options_.substrate, renewal);
  if (renewal == Renewal::start) wanted.expected_events = longest_;
  const auto detail = plan.keep_schedule ? ControlMemory::Detail::all : ControlMemory::Detail::counts;
  SnapshotRequest snapshots{.kept = renewal == Renewal::fork ? snapshots_.kept() : 0};
  if (from == From::snapshot) snapshots = snapshots_.request(wanted, *given);
  SessionAnswer answer = HEDDLE_TRY(session->request(wanted, given, plan.deadline, detail, snapshots));
  longest_ = std::max(longest_, answer.answer.result.events);
  if (renewal == Renewal::start) session->finish();
  if (answer.end != SessionAnswer::End::answered || renewal == Renewal::start) session.reset();
  return answer;
}

Result<Execution> ProgramExecutor::execute(const ExecutionPlan& plan) {
  std::optional<GivenSteps> given;
  if (plan.schedule != nullptr) given = HEDDLE_TRY(given_steps(*plan.schedule, program_.memory()));
  if (plan.guide != nullptr) given = given_steps(*plan.guide);
  uint64_t runs = 0, events = 0;
  std::array<uint64_t, 256> exit_codes{};
  ExecutionPlan rest = plan;
  while (true) {
    Renewal renewal = plan.fresh ? std::max(renewal_, Renewal::fork) : renewal_;
    rest.seed = plan.seed + runs;
    rest.runs = plan.runs - runs;
    if (renewal == Renewal::fork && options_.input >= 0) rest.runs = 1;  // each reads from the start
    const From from =
        options_.substrate == Substrate::fibres && renewal != Renewal::start && snapshots_.wanted(plan)
            ? From::snapshot
            : From::start;
    if (from == From::snapshot) renewal = Renewal::fork;
    const SessionAnswer answer = HEDDLE_TRY(ask(rest, renewal, from, given ? &*given : nullptr));
    if (from == From::snapshot && !snapshots_.performed(answer)) continue;
    if (from == From::start) snapshots_.note_run(answer.answer.result);
    for (size_t i = 0; i < exit_codes.size(); ++i) exit_codes[i] += answer.exit_codes[i];
    std::string reason;
    if (const auto better = better_renewal(answer, renewal, reason)) {
      // The run that was given up is repeated; those before it count.
      const bool counted = answer.end == SessionAnswer::End::answered && answer.executions > 0;
      runs += answer.executions - (counted ? 1 : 0);
      events += answer.answer.result.total_events;
      if (*better == Renewal::start && reason.find("before main") != std::string::npos)
        options_.substrate = Substrate::threads;
      renew_by(*better, std::move(reason));
      continue;
    }
    Execution execution = HEDDLE_TRY(execution_of(answer, rest));
    runs += execution.runs;
    events += execution.total_events;
    execution.runs = runs;
    execution.total_events = events;
    execution.exit_codes = exit_codes;
    if (execution.outcome != Outcome::passed || runs >= plan.runs) return execution;
    if (interrupted()) execution.outcome = Outcome::interrupted;
    if (plan.deadline && std::chrono::steady_clock::now() >= *plan.deadline)
      execution.outcome = Outcome::out_of_time;
    if (execution.outcome != Outcome::passed) return execution;
  }
}

ScheduleHeader ProgramExecutor::header_of(const ExecutionPlan& plan, uint64_t seed) const {
  ScheduleHeader header{.program = program_.executable().filename(),
                        .identity = program_.program().identity(),
                        .build_id = program_.program().build_id(),
                        .memory_model = plan.rules.memory_model,
                        .folder = options_.folder,
                        .command = options_.command,
                        .environment = options_.environment,
                        .input = options_.input_name};
  if (plan.schedule != nullptr) {
    header.strategy = plan.schedule->header.strategy;
    header.seed = plan.schedule->header.seed;
  } else if (plan.guide == nullptr) {
    header.strategy = plan.strategy.text();
    header.seed = seed;
  }
  return header;
}

Result<Execution> ProgramExecutor::execution_of(SessionAnswer session, const ExecutionPlan& plan) const {
  if (goes_on_behind_livelock(session.answer.result, plan)) {
    session.answer.result.outcome = HEDDLE_OUTCOME_livelock;
    session.answer.result.text[0] = '\0';
  }
  const heddle_result& result = session.answer.result;
  Execution out{.seed = plan.seed, .runs = session.executions};
  switch (session.end) {
    case SessionAnswer::End::answered:
      break;
    case SessionAnswer::End::died:
      out.outcome = Outcome::died;
      out.text = how_it_ended(session.status);
      return out;
    case SessionAnswer::End::interrupted:
      out.outcome = Outcome::interrupted;
      return out;
    case SessionAnswer::End::out_of_time:
      out.outcome = Outcome::out_of_time;
      return out;
    case SessionAnswer::End::hung:
      out.outcome = Outcome::uncontrolled;
      out.text =
          session.call.empty() ? "the program does not go on, and does not say where it is" : session.call;
      out.place = program_.place_of_site(session.site);
      return out;
  }
  out.seed = result.seed;
  out.events = result.events;
  out.total_events = result.total_events;
  out.values = result.values;
  out.threads = result.threads;
  out.preemptions = result.preemptions;
  out.exit_code = result.exit_code;
  out.schedule_complete = result.steps_truncated == 0;
  if (result.outcome == HEDDLE_OUTCOME_passed && !plan.keep_schedule) return out;
  if (died_silently(session.answer)) {
    out.outcome = Outcome::died;
    out.text = fmt::format("the process was ended by signal {} ({})", result.number,
                           ::strsignal(static_cast<int>(result.number)));
    return out;
  }
  out.text = result.text;
  out.step = result.step;
  const std::vector<ThreadName> threads = thread_names(session.answer.threads);
  if (!threads.empty()) {
    out.thread = threads[result.thread];
    out.schedule =
        performed_schedule(session.answer, threads, plan.rules.memory_model, program_.memory(), program_);
  }
  out.failure = failure_of(session.answer, threads, program_);
  if (result.outcome == HEDDLE_OUTCOME_limit) out.stack = stack_of(result, program_);
  out.place = out.failure ? out.failure->place : program_.place_of_site(result.site);
  if (out.failure)
    out.outcome = Outcome::failed;
  else if (result.outcome == HEDDLE_OUTCOME_diverged)
    out.outcome = Outcome::diverged;
  else if (result.outcome == HEDDLE_OUTCOME_limit)
    out.outcome = Outcome::limit;
  else if (result.outcome == HEDDLE_OUTCOME_uncontrolled)
    out.outcome = Outcome::uncontrolled;
  else if (result.outcome == HEDDLE_OUTCOME_unsupported || result.outcome == HEDDLE_OUTCOME_not_resettable)
    out.outcome = Outcome::unsupported;
  else if (result.outcome != HEDDLE_OUTCOME_passed)
    return Error{.what = fmt::format("the control runtime met an error of its own: {}", result.text),
                 .why = "this is a bug in heddle; please report it with the command line and the program",
                 .exit = ExitCode::internal};
  for (const heddle_step& step : session.answer.steps) {
    out.step_values.push_back(step.values);
    out.step_addresses.push_back(step.address);
  }
  const std::vector<heddle_event>& events = session.answer.events;
  for (size_t i = 0; i < result.kept_events; ++i) {
    if (events[i].kind != HEDDLE_EVENT_data) {
      out.kept_events.push_back(events[i]);
    } else if (!out.kept_events.empty()) {
      out.event_data.push_back(events[i]);
      out.event_data.back().after = out.kept_events.size() - 1;
    }
  }
  out.pending_events.assign(events.begin() + static_cast<ptrdiff_t>(result.kept_events), events.end());
  for (size_t i = 0; i < out.marked_stacks.size(); ++i)
    out.marked_stacks[i] =
        stack_of(std::span(result.marked[i].frames, result.marked[i].size), result.load_base, program_);
  out.moves = std::move(session.answer.moves);
  out.moves_complete = result.moves == out.moves.size();
  out.created = std::move(session.answer.threads);
  out.load_base = result.load_base;
  out.schedule.header = header_of(plan, out.seed);
  out.schedule.header.events = measure(out.schedule).events;
  out.schedule.header.values = fmt::format("{:016x}", out.values);
  if (out.failure) out.schedule.header.failure = out.failure->identity;
  return out;
}

}  // namespace heddle
