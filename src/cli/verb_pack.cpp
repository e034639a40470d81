// heddle pack, heddle unpack: a recording as one compressed file.
#include <fmt/core.h>

#include "base/process.h"
#include "base/size.h"
#include "cli/control_options.h"
#include "driver/recording_summary.h"
#include "recording/pack.h"

namespace heddle {
namespace {

constexpr std::string_view kExtension = ".pack";

struct Options {
  std::string recording, output, program;
  bool no_inputs = false;
};

// "app.rec/" and "app.rec" are the same folder.
std::string without_slash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

void print_result(const PackResult& result, const fs::path& output, const char* next,
                  const CommonOptions& common) {
  if (common.json) {
    print_json({{"output", output.string()},
                {"files", result.files},
                {"bytes", result.bytes},
                {"packed_bytes", result.packed_bytes}});
    return;
  }
  fmt::print(stderr, "heddle: {} ({}, {} packed)\n", output.string(), size_text(result.bytes),
             size_text(result.packed_bytes));
  if (!common.quiet) fmt::print(stderr, "  next: {} {}\n", next, shell_quote({output}));
}

Result<ExitCode> run_pack(const Options& options, const CommonOptions& common) {
  const std::string folder = without_slash(options.recording);
  const OpenRecording recording = HEDDLE_TRY(OpenRecording::open(folder));
  PackOptions pack{.inputs = !options.no_inputs};
  // A recording made without inputs has none in its logs.
  if (options.no_inputs && recording.info().options.inputs) {
    const RecordedCode code =
        HEDDLE_TRY(load_recorded_code(recording.info(), recording.folder(), options.program));
    for (const fs::path& log : log_files(recording.folder()))
      pack.blanked[fmt::format("{}/{}", kThreadsFolder, log.filename().string())] =
          HEDDLE_TRY(input_bytes(code, log));
  }
  const fs::path output = options.output.empty() ? folder + std::string(kExtension) : options.output;
  print_result(HEDDLE_TRY(pack_recording(recording.folder(), output, pack)), output, "heddle show", common);
  return ExitCode::ok;
}

Result<ExitCode> run_unpack(const Options& options, const CommonOptions& common) {
  fs::path output = options.output;
  if (output.empty()) {
    const std::string name = fs::path(options.recording).filename();
    output = name.ends_with(kExtension) && name.size() > kExtension.size()
                 ? name.substr(0, name.size() - kExtension.size())
                 : name + ".rec";
  }
  print_result(HEDDLE_TRY(unpack_recording(options.recording, output)), output, "heddle show", common);
  return ExitCode::ok;
}

}  // namespace

void add_pack(VerbSet& verbs) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      verbs.add("pack", "Make one compressed file of a recording",
                "  heddle pack app.rec                   makes app.rec.pack\n"
                "  heddle pack app.rec -o /tmp/bug.pack\n"
                "  heddle pack --no-inputs app.rec       without environment and contents of inputs\n"
                "heddle show reads packed recordings as they are.",
                [options](const CommonOptions& common) { return run_pack(*options, common); });
  verb->add_option("REC", options->recording, "A recording")->required();
  verb->add_option("-o,--output", options->output, "The packed file (default REC.pack)");
  verb->add_flag(
      "--no-inputs", options->no_inputs,
      "Leave out the environment, copies of files, and bytes that calls brought in (zeros take their place)");
  verb->add_option("--program", options->program,
                   "Where the recorded program is now; --no-inputs needs it to find the bytes");
}

void add_unpack(VerbSet& verbs) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = verbs.add("unpack", "Make a recording of a packed file again",
                             "  heddle unpack app.rec.pack            makes app.rec in the current folder\n"
                             "  heddle unpack app.rec.pack -o bug.rec",
                             [options](const CommonOptions& common) { return run_unpack(*options, common); });
  verb->add_option("FILE", options->recording, "A file that heddle pack made")->required();
  verb->add_option("-o,--output", options->output,
                   "The folder to make (default FILE without .pack, in the current folder)");
}

}  // namespace heddle
