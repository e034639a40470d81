#include "driver/gdb.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "abi/hooks.h"
#include "base/files.h"
#include "base/process.h"
#include "schedule/schedule_text.h"

namespace heddle {
namespace {

// The number under which gdb, and the wrapper that it starts, inherit the memory file.
constexpr int kInherited = 900;

// Plain gdb commands: they work in a gdb without Python too.
std::string setup_commands(const fs::path& spec) {
  return fmt::format(R"(set confirm off
set breakpoint pending on
set disable-randomization on
set startup-with-shell on
set exec-wrapper '{}' {} '{}'
)",
                     executable_path().string(), kGdbLaunchVerb, spec.string());
}

constexpr std::string_view kPython = R"(import gdb

def number(name, type):
    if gdb.selected_inferior().pid == 0:
        raise gdb.GdbError("The program is not running; start it with 'run'.")
    return int(gdb.parse_and_eval("*(%s *)&%s" % (type, name)))

def where():
    step = number("heddle_control_step", "unsigned long")
    if step == 0:
        print("before the first step of %d" % len(STEPS))
        return
    event = number("heddle_control_event", "unsigned long")
    text = STEPS[step - 1] if step <= len(STEPS) else "behind the end of the schedule"
    print("step %d of %d, after %d events: %s" % (step, len(STEPS), event, text))

class Where(gdb.Command):
    """Shows the place in the schedule: number of the step, events before it, the step as it stands in the file."""
    def __init__(self):
        super().__init__("heddle-where", gdb.COMMAND_STATUS)
    def invoke(self, argument, from_tty):
        where()

class NextSwitch(gdb.Command):
    """Runs to the beginning of the next step of the schedule; with a number N, of the N-th from here.
The program stops inside heddle, in the thread that gives way; the step shown is what happens next."""
    def __init__(self):
        super().__init__("heddle-next-switch", gdb.COMMAND_RUNNING)
    def invoke(self, argument, from_tty):
        count = int(argument) if argument else 1
        number("heddle_control_step", "unsigned long")
        stop = gdb.Breakpoint("heddle_control_at_switch", internal=True)
        stop.silent = True
        stop.ignore_count = count - 1
        try:
            gdb.execute("continue", False, True)
        finally:
            stop.delete()
        if gdb.selected_inferior().pid != 0:
            where()

class Steps(gdb.Command):
    """Lists the steps of the schedule around the place of the program."""
    def __init__(self):
        super().__init__("heddle-steps", gdb.COMMAND_STATUS)
    def invoke(self, argument, from_tty):
        step = number("heddle_control_step", "unsigned long")
        for i in range(max(step - 6, 0), min(step + 5, len(STEPS))):
            print("%s%6d  %s" % ("=>" if i + 1 == step else "  ", i + 1, STEPS[i]))

class ToFailure(gdb.Command):
    """Runs to the end of the schedule: the failure. The frames below heddle's own are those of the program."""
    def __init__(self):
        super().__init__("heddle-to-failure", gdb.COMMAND_RUNNING)
    def invoke(self, argument, from_tty):
        number("heddle_control_step", "unsigned long")
        stop = gdb.Breakpoint("__heddle_rt_finish", internal=True)
        try:
            gdb.execute("continue")
        finally:
            stop.delete()

Where()
NextSwitch()
Steps()
ToFailure()
)";

// The steps for the script, as they stand in the file, with their places.
std::string steps_for_python(const Schedule& schedule) {
  Json steps = Json::array();
  for (const Step& step : schedule.steps) {
    std::string text = step_text(schedule, step);
    if (step.place) text += "  @ " + place_text(*step.place);
    steps.push_back(std::move(text));
  }
  return "STEPS = " + steps.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

void allow_descriptor(int number) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur > static_cast<rlim_t>(number)) return;
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, static_cast<rlim_t>(number) + 1);
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace

Result<ExitCode> replay_in_gdb(const Schedule& schedule, const ControlSetup& setup, const RunRules& rules,
                               const std::vector<std::string>& commands) {
  const fs::path gdb = find_in_path("gdb");
  if (gdb.empty()) return Error{.what = "gdb is not installed", .next = "sudo apt-get install gdb"};
  const TempFolder folder = HEDDLE_TRY(TempFolder::create());
  const fs::path spec = folder.path() / "program", script = folder.path() / "commands.gdb",
                 python = folder.path() / "commands.py";
  HEDDLE_TRY(write_file(spec, target_spec(*setup.program, setup.launch).bytes()));
  HEDDLE_TRY(write_file(script, setup_commands(spec)));
  HEDDLE_TRY(write_file(python, steps_for_python(schedule) + std::string(kPython)));

  const GivenSteps given = HEDDLE_TRY(given_steps(schedule, setup.program->memory()));
  ControlMemory memory =
      HEDDLE_TRY(ControlMemory::create({.steps_in = std::max<uint64_t>(1 << 22, given.steps.size())}));
  heddle_plan plan = runtime_plan({.schedule = &schedule, .rules = rules}, Substrate::threads, Renewal::start);
  plan.break_at_switch = 1;
  memory.ask(plan, &given);
  allow_descriptor(kInherited);
  if (::dup2(memory.file(), kInherited) < 0) return system_error("cannot hand the memory file to gdb", "");

  std::vector<std::string> argv = {gdb, "-q", "-x", script, "-x", python};
  const auto command = [&](const std::string& text) { argv.insert(argv.end(), {"-ex", text}); };
  command(std::string("tbreak ") + HEDDLE_CONTROL_MAIN);
  command("run");
  if (commands.empty()) {
    command(
        "echo heddle: 'heddle-next-switch' runs to the next step of the schedule, 'heddle-to-failure' to its "
        "end;\\n        'heddle-where' and 'heddle-steps' show the place in it.\\n");
  } else {
    argv.insert(argv.begin() + 1, "-batch");
    for (const std::string& text : commands) command(text);
  }
  argv.push_back(setup.program->variant());
  // gdb handles Ctrl-C itself. The wrapper is started through a shell: one without start files.
  const auto before = std::signal(SIGINT, SIG_IGN);
  const Result<ProcessEnd> end = run_process(argv, {.environment = {{"SHELL", "/bin/sh"}}});
  std::signal(SIGINT, before);
  ::close(kInherited);
  if (!end) return end.error();
  if (end->exit_code != 0)
    return Error{.what = fmt::format("gdb ended with exit code {}", end->exit_code),
                 .next = "look at its messages above"};
  return ExitCode::ok;
}

Error launch_for_gdb(const std::string& spec_file) {
  const Result<std::string> text = read_file(spec_file);
  if (!text) return text.error();
  const Result<TargetSpec> spec = TargetSpec::parse(*text);
  if (!spec) return spec.error();
  // A second `run` in gdb asks for the same again.
  void* base = ::mmap(nullptr, sizeof(heddle_control_block), PROT_READ | PROT_WRITE, MAP_SHARED, kInherited, 0);
  if (base == MAP_FAILED) return system_error("the memory file is not there", "");
  auto* block = static_cast<heddle_control_block*>(base);
  if (block->answer == block->request) ++block->request;
  if (!spec->input.empty()) {
    const int input = ::open(spec->input.c_str(), O_RDONLY);
    if (input < 0 || ::dup2(input, 0) != 0) return system_error("cannot open the input", spec->input);
  }
  return become_target(*spec, kInherited);
}

}  // namespace heddle
