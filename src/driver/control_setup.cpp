#include "driver/control_setup.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <llvm/IR/Module.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/files.h"
#include "schedule/schedule_text.h"

namespace heddle {
namespace {

constexpr std::string_view kLibraryPath = "LD_LIBRARY_PATH";

Result<std::vector<std::string>> settings(const std::vector<std::string>& wanted) {
  std::vector<std::string> out;
  std::vector<std::string> all = wanted;
  const bool given = std::ranges::any_of(wanted, [](const std::string& setting) {
    return setting == kLibraryPath || setting.starts_with(fmt::format("{}=", kLibraryPath));
  });
  if (!given) all.emplace_back(kLibraryPath);
  for (const std::string& setting : all) {
    const size_t equals = setting.find('=');
    if (setting.empty() || equals == 0)
      return Error{.what = fmt::format("'{}' is no environment variable", setting),
                   .next = "write --env NAME or --env NAME=VALUE",
                   .exit = ExitCode::usage};
    const std::string name = setting.substr(0, equals);
    std::erase_if(out, [&](const std::string& other) { return other.starts_with(name + "="); });
    if (equals != std::string::npos)
      out.push_back(setting);
    else if (const char* value = std::getenv(name.c_str()); value != nullptr)
      out.push_back(fmt::format("{}={}", name, value));
  }
  return out;
}

Result<int> copy_to_memory(int from, const std::string& name) {
  const int file = ::memfd_create("heddle-input", MFD_CLOEXEC);
  if (file < 0) return system_error("cannot make a memory file", "");
  char buffer[65536];
  while (true) {
    const ssize_t got = ::read(from, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read " + name, "");
    if (got == 0) break;
    for (ssize_t done = 0; done < got;) {
      const ssize_t n = ::write(file, buffer + done, static_cast<size_t>(got - done));
      if (n < 0) return system_error("cannot keep the input in memory", name);
      done += n;
    }
  }
  ::lseek(file, 0, SEEK_SET);
  return file;
}

}  // namespace

Result<ControlSetup> setup_command(const std::vector<std::string>& command,
                                   const std::vector<std::string>& environment) {
  ControlSetup setup;
  setup.launch.command = command;
  setup.launch.folder = fs::current_path();
  setup.launch.environment = HEDDLE_TRY(settings(environment));
  const fs::path file = HEDDLE_TRY(find_program(command[0], setup.launch.folder));
  setup.program = HEDDLE_TRY(ControlledProgram::open(file));
  return setup;
}

Result<ControlSetup> setup_schedule(const Schedule& schedule, const fs::path& program) {
  const ScheduleHeader& header = schedule.header;
  ControlSetup setup;
  setup.launch.command = header.command;
  setup.launch.folder = header.folder;
  setup.launch.environment = header.environment;
  setup.launch.input_name = header.input;
  std::error_code ignored;
  if (!fs::is_directory(header.folder, ignored)) {
    if (program.empty())
      return Error{
          .what = "the folder that the schedule names is not there",
          .where = header.folder,
          .next = "give the program, which then runs in the current folder: heddle replay SCHEDULE -- ./app"};
    setup.launch.folder = fs::current_path();
  }
  Result<fs::path> file = program.empty() ? find_program(header.command[0], header.folder)
                                          : find_program(program, fs::current_path());
  if (!file) {
    Error error = std::move(file).error();
    if (program.empty()) error.next = "say where it is: heddle replay SCHEDULE -- PATH";
    return error;
  }
  setup.program = HEDDLE_TRY(ControlledProgram::open(*file));
  if (setup.program->program().identity() != header.identity)
    return Error{
        .what = "this schedule belongs to another program",
        .where = file->string(),
        .why = fmt::format("the schedule is of {} {}, this program is {}: it was changed or built in another "
                           "way since",
                           header.program, header.identity, setup.program->program().identity()),
        .next = "build the program as it was then, or hunt again: heddle hunt -- " + header.command[0]};
  return setup;
}

Result<ControlSetup> setup_recording(const RecordingInfo& info, const fs::path& folder,
                                     const fs::path& program) {
  ControlSetup setup;
  setup.launch.command = info.command;
  setup.launch.folder = info.folder;
  std::error_code ignored;
  if (fs::exists(folder / kInputFile, ignored)) setup.launch.input_name = fs::absolute(folder / kInputFile);
  if (!fs::is_directory(info.folder, ignored)) {
    if (program.empty())
      return Error{.what = "the folder that the recording names is not there",
                   .where = info.folder,
                   .next = "give the program, which then runs in the current folder: --program ./app"};
    setup.launch.folder = fs::current_path();
  }
  setup.program = HEDDLE_TRY(ControlledProgram::open(program.empty() ? fs::path(info.program) : program));
  if (setup.program->program().identity() != info.identity)
    return Error{.what = "the recording is of another program",
                 .where = setup.program->executable(),
                 .why = fmt::format("recorded: {}, this one: {}; it was built anew since", info.identity,
                                    setup.program->program().identity()),
                 .next = "give the executable that was recorded (--program), or record again"};
  const llvm::Module& module = setup.program->program().module();
  std::vector<std::string> wanted;
  if (module.getFunction("getenv") != nullptr || module.getFunction("secure_getenv") != nullptr)
    for (const std::string& setting : info.environment)
      if (!setting.starts_with("HEDDLE") && setting.find('=') != std::string::npos) wanted.push_back(setting);
  setup.launch.environment = HEDDLE_TRY(settings(wanted));
  return setup;
}

Result<Schedule> load_schedule(const fs::path& file) {
  const std::string text = HEDDLE_TRY(read_file(file));
  // The parser would speak of the first strange character.
  if (text.find('\0') != std::string::npos)
    return Error{.what = "this is no schedule",
                 .where = file,
                 .why = text.starts_with("\177ELF") ? "it is a program or a library" : "it is not a text file",
                 .next = "name a file that hunt or run wrote, such as app.heddle"};
  return read_schedule(text, file);
}

Result<int> open_input(const std::string& name) {
  if (name == "-") return copy_to_memory(0, "standard input");
  if (name.empty()) {
    struct stat status{};
    if (::fstat(0, &status) != 0 || !S_ISREG(status.st_mode)) return -1;
    return copy_to_memory(0, "standard input");
  }
  const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    Error error = system_error("cannot open the input", name);
    error.next = "give the file that the program read as standard input: --stdin FILE";
    return error;
  }
  Result<int> copy = copy_to_memory(file, name);
  ::close(file);
  return copy;
}

// Of an ordinary file that heddle reads from its start.
static std::string own_input_name() {
  std::error_code none;
  const fs::path name = fs::read_symlink("/proc/self/fd/0", none);
  return fs::is_regular_file(name, none) && ::lseek(0, 0, SEEK_CUR) == 0 ? name.string() : "";
}

Result<void> set_input(LaunchOptions& launch, const std::string& given) {
  std::string& name = launch.input_name;
  if (!given.empty() || name.empty()) {
    name = given.empty() ? own_input_name() : given == "-" ? "" : fs::absolute(given).string();
    launch.input = HEDDLE_TRY(open_input(given));
    return {};
  }
  Result<int> opened = open_input(name);
  if (!opened) {
    opened.error().why = "it was the program's standard input";
    opened.error().next = "give that input again: --stdin FILE";
    return opened.error();
  }
  launch.input = *opened;
  return {};
}

Result<void> check_output(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const std::string next = "name another file: -o FILE";
  std::error_code ignored;
  if (fs::is_directory(file, ignored))
    return Error{.what = "the schedule cannot be written: this is a folder", .where = file, .next = next};
  const bool ordinary = !fs::exists(file, ignored) || fs::is_regular_file(fs::symlink_status(file, ignored));
  if (::access((ordinary ? folder : file).c_str(), W_OK) == 0) return {};
  Error error = system_error("the schedule cannot be written", file.empty() ? fs::current_path() : file);
  error.next = next;
  return error;
}

Result<void> save_schedule(const fs::path& file, const Schedule& schedule) {
  const std::string text = schedule_text(schedule);
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(file, ignored);
  if (!fs::exists(status) || fs::is_regular_file(status)) return write_file(file, text);
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.flush();
  if (!out) return system_error("cannot write", file);
  return {};
}

Result<fs::path> save_new_schedule(const fs::path& program, const Schedule& schedule) {
  const std::string name = program.filename();
  fs::path file = name + ".heddle";
  int fd = -1;
  for (int i = 1; fd < 0; ++i) {
    fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) return system_error("cannot create", file);
    if (fd < 0) file = fmt::format("{}.{}.heddle", name, i);
  }
  ::close(fd);
  if (Result<void> written = write_file(file, schedule_text(schedule)); !written) {
    ::unlink(file.c_str());
    return std::move(written).error();
  }
  return file;
}

}  // namespace heddle
