#include "recording/recording_info.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <utility>

#include "base/files.h"

namespace heddle {
namespace {

constexpr auto kOutcomes =
    std::to_array<std::string_view>({"unfinished", "passed", "failed", "interrupted", "out-of-time"});
constexpr auto kFileStates =
    std::to_array<std::string_view>({"kept", "changed", "gone", "unreadable", "left-out"});

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80                   ? 1
                          : lead >= 0xc2 && lead < 0xe0 ? 2
                          : lead >= 0xe0 && lead < 0xf0 ? 3
                          : lead >= 0xf0 && lead < 0xf5 ? 4
                                                        : 0;
    if (length == 0 || i + length > text.size()) return false;
    const auto second = static_cast<unsigned char>(length > 1 ? text[i + 1] : 0);
    // No long forms, no surrogates, nothing above U+10FFFF.
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) ||
        (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second >= 0x90))
      return false;
    for (size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    i += length;
  }
  return true;
}

Json text_json(const std::string& text) {
  if (is_utf8(text)) return text;
  std::string hex;
  for (const char c : text) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return {{"hex", hex}};
}

std::optional<std::string> text_of_json(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_object() || json.size() != 1 || !json.contains("hex") || !json["hex"].is_string())
    return std::nullopt;
  const std::string hex = json["hex"];
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string text;
  for (size_t i = 0; i < hex.size(); i += 2) {
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    if (error != std::errc() || end != hex.data() + i + 2) return std::nullopt;
    text += static_cast<char>(byte);
  }
  return text;
}

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(text_json(text));
  return list;
}

template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json frame_json(const RecordedFrame& frame) {
  return {{"function", text_json(frame.function)},
          {"file", text_json(frame.file)},
          {"line", frame.line},
          {"library", text_json(frame.library)},
          {"pc", frame.pc}};
}

Json thread_json(const RecordedThread& thread) {
  Json stack = Json::array();
  for (const RecordedFrame& frame : thread.stack) stack.push_back(frame_json(frame));
  return {{"name", text_json(thread.name)},  {"tid", thread.tid},   {"path_bytes", thread.path_bytes},
          {"data_bytes", thread.data_bytes}, {"stop", thread.stop}, {"alive", thread.alive},
          {"stack", std::move(stack)}};
}

Json failure_json(const std::optional<RecordedFailure>& failure) {
  if (!failure) return nullptr;
  Json place;
  if (failure->place)
    place = {{"file", text_json(failure->place->file)},
             {"line", failure->place->line},
             {"function", text_json(failure->place->function)}};
  return {{"kind", failure->kind},
          {"identity", text_json(failure->identity)},
          {"thread", text_json(failure->thread)},
          {"place", std::move(place)},
          {"text", text_json(failure->text)},
          {"address", failure->address},
          {"headline", text_json(failure->headline)}};
}

Json file_json(const RecordedFile& file) {
  return {{"number", file.number}, {"path", text_json(file.path)},
          {"size", file.size},     {"state", recorded_file_state_name(file.state)},
          {"copy", file.copy},     {"sha256", file.sha256}};
}

Json options_json(const RecordingOptions& options) {
  return {{"policy", options.policy},
          {"memory_model", options.memory_model},
          {"clock", options.clock},
          {"chaos", options.chaos},
          {"inputs", options.inputs},
          {"seed", options.seed},
          {"keep", options.keep},
          {"hang_timeout_ms", options.hang_timeout_ms},
          {"sync_order", options.sync_order}};
}

// Reads the fields of one object. The first problem is kept and everything after it reads as nothing, so that a
// list of fields can be read without a test after each; whoever uses the values looks at the problem first.
class Fields {
 public:
  Fields(const Json& json, std::string path, std::shared_ptr<std::string> problem)
      : json_(json), path_(std::move(path)), problem_(std::move(problem)) {
    if (!json_.is_object()) note(path_.empty() ? "it is no JSON object" : path_ + " is no object");
  }

  const std::string& problem() const { return *problem_; }
  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }

  std::string text(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) return "";
    std::optional<std::string> text = text_of_json(*value);
    if (!text) note(name(key) + " is no text");
    return text.value_or("");
  }

  template <class T>
  T number(const char* key) const {
    const Json* value = find(key);
    return value == nullptr ? T{} : number_of<T>(*value, name(key));
  }

  template <class T>
  std::optional<T> optional_number(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr || value->is_null()) return std::nullopt;
    return number_of<T>(*value, name(key));
  }

  double real(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) return 0;
    if (!value->is_number()) note(name(key) + " is no number");
    return value->is_number() ? value->get<double>() : 0;
  }

  bool flag(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) note(name(key) + " is neither true nor false");
    return value->is_boolean() && value->get<bool>();
  }

  // A word of a closed set: its index.
  template <class Words>
  size_t word(const char* key, const Words& words) const {
    const std::string given = text(key);
    const auto at = std::ranges::find(words, given);
    if (at == words.end()) note(fmt::format("{} cannot be '{}'", name(key), given));
    return at == words.end() ? 0 : static_cast<size_t>(at - words.begin());
  }

  Fields object(const char* key) const {
    static const Json kNothing = Json::object();
    const Json* value = find(key);
    return Fields(value == nullptr ? kNothing : *value, name(key), problem_);
  }

  std::optional<Fields> optional_object(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr || value->is_null()) return std::nullopt;
    return Fields(*value, name(key), problem_);
  }

  template <class Read>
  auto list(const char* key, Read read) const {
    std::vector<decltype(read(*this))> out;
    each(key,
         [&](const Json& value, const std::string& at) { out.push_back(read(Fields(value, at, problem_))); });
    return out;
  }

  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> out;
    each(key, [&](const Json& value, const std::string& at) {
      const std::optional<std::string> text = text_of_json(value);
      if (!text) note(at + " is no text");
      out.push_back(text.value_or(""));
    });
    return out;
  }

  void note(const std::string& problem) const {
    if (problem_->empty()) *problem_ = problem;
  }
  std::string name(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

 private:
  const Json* find(const char* key) const {
    if (!problem_->empty()) return nullptr;
    const auto at = json_.find(key);
    if (at == json_.end()) note(name(key) + " is missing");
    return at == json_.end() ? nullptr : &*at;
  }

  template <class T>
  T number_of(const Json& value, const std::string& at) const {
    if (value.is_number_unsigned() && std::in_range<T>(value.get<uint64_t>()))
      return static_cast<T>(value.get<uint64_t>());
    if (value.is_number_integer() && !value.is_number_unsigned() && std::in_range<T>(value.get<int64_t>()))
      return static_cast<T>(value.get<int64_t>());
    note(at + " is no number of its kind");
    return {};
  }

  template <class Use>
  void each(const char* key, Use use) const {
    const Json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_array()) return note(name(key) + " is no list");
    for (size_t i = 0; i < value->size() && problem_->empty(); ++i)
      use((*value)[i], fmt::format("{}[{}]", name(key), i));
  }

  const Json& json_;
  std::string path_;
  std::shared_ptr<std::string> problem_;
};

RecordedFrame read_frame(const Fields& fields) {
  return {.function = fields.text("function"),
          .file = fields.text("file"),
          .line = fields.number<uint32_t>("line"),
          .library = fields.text("library"),
          .pc = fields.number<uint64_t>("pc")};
}

RecordedThread read_thread(const Fields& fields) {
  return {.name = fields.text("name"),
          .tid = fields.number<int32_t>("tid"),
          .path_bytes = fields.number<uint64_t>("path_bytes"),
          .data_bytes = fields.number<uint64_t>("data_bytes"),
          .stop = fields.text("stop"),
          .alive = fields.flag("alive"),
          .stack = fields.list("stack", read_frame)};
}

RecordedFile read_file_entry(const Fields& fields) {
  RecordedFile file{.number = fields.number<uint64_t>("number"),
                    .path = fields.text("path"),
                    .size = fields.number<uint64_t>("size"),
                    .state = static_cast<RecordedFile::State>(fields.word("state", kFileStates)),
                    .copy = fields.text("copy"),
                    .sha256 = fields.text("sha256")};
  // It becomes a path below inputs/.
  const bool kept = file.state == RecordedFile::State::kept;
  const bool plain = !file.copy.empty() && file.copy.find('/') == std::string::npos && file.copy != "." &&
                     file.copy != ".." && file.copy.find('\0') == std::string::npos;
  if (kept && !plain) fields.note(fields.name("copy") + " is no file name");
  if (!kept && !file.copy.empty()) fields.note(fields.name("copy") + " names a copy that was not kept");
  return file;
}

RecordedFailure read_failure(const Fields& fields) {
  RecordedFailure failure{.kind = fields.text("kind"),
                          .identity = fields.text("identity"),
                          .thread = fields.text("thread"),
                          .text = fields.text("text"),
                          .address = fields.text("address"),
                          .headline = fields.text("headline")};
  if (const auto place = fields.optional_object("place"))
    failure.place = RecordedPlace{.file = place->text("file"),
                                  .line = place->number<uint32_t>("line"),
                                  .function = place->text("function")};
  return failure;
}

RecordingOptions read_options(const Fields& fields) {
  return {.policy = fields.text("policy"),
          .memory_model = fields.text("memory_model"),
          .clock = fields.flag("clock"),
          .sync_order = fields.has("sync_order") && fields.flag("sync_order"),  // not in older ones
          .chaos = fields.flag("chaos"),
          .inputs = fields.flag("inputs"),
          .seed = fields.number<uint64_t>("seed"),
          .keep = fields.number<uint64_t>("keep"),
          .hang_timeout_ms = fields.number<uint64_t>("hang_timeout_ms")};
}

Error no_recording(const fs::path& file, std::string why) {
  return Error{.what = "this is no recording that heddle can read", .where = file, .why = std::move(why)};
}

}  // namespace

std::string_view recording_outcome_name(RecordingOutcome outcome) {
  return kOutcomes[static_cast<size_t>(outcome)];
}

std::string_view recorded_file_state_name(RecordedFile::State state) {
  return kFileStates[static_cast<size_t>(state)];
}

std::string RecordedPlace::text() const {
  std::string out = file;
  if (line != 0) out += fmt::format(":{}", line);
  if (!function.empty()) out += (out.empty() ? "" : " ") + function;
  return out.empty() ? "?" : out;
}

std::string RecordedFrame::text() const {
  std::string out = function.empty() ? fmt::format("{:#x}", pc) : function;
  if (line != 0) out += fmt::format(" at {}:{}", file, line);
  if (!library.empty()) out += fmt::format(" ({})", library);
  return out;
}

Json RecordingInfo::to_json() const {
  Json thread_list = Json::array(), file_list = Json::array();
  for (const RecordedThread& thread : threads) thread_list.push_back(thread_json(thread));
  for (const RecordedFile& file : files) file_list.push_back(file_json(file));
  return {{"format", kRecordingFormat},
          {"heddle", heddle_version},
          {"program", {{"path", text_json(program)}, {"identity", identity}, {"build_id", build_id}}},
          {"variant", {{"name", variant}, {"executable", text_json(variant_executable)}}},
          {"options", options_json(options)},
          {"command", texts_json(command)},
          {"folder", text_json(folder)},
          {"environment", texts_json(environment)},
          {"environment_left_out", environment_left_out},
          {"run", run},
          {"begin_ms", begin_ms},
          {"duration_ns", duration_ns},
          {"tsc_hz", tsc_hz},
          {"load_base", load_base},
          {"arguments", arguments},
          {"argument_text", argument_text},
          {"pid", pid},
          {"forks", forks},
          {"host",
           {{"kernel", text_json(host.kernel)},
            {"processors", host.processors},
            {"invariant_tsc", host.invariant_tsc}}},
          {"outcome",
           {{"kind", recording_outcome_name(outcome)},
            {"exit_code", optional_json(exit_code)},
            {"signal", optional_json(signal)}}},
          {"failure", failure_json(failure)},
          {"threads", std::move(thread_list)},
          {"files", std::move(file_list)},
          {"core", {{"file", text_json(core_file)}, {"pattern", text_json(core_pattern)}}},
          {"notes", texts_json(notes)},
          {"maps", texts_json(maps)}};
}

Result<RecordingInfo> RecordingInfo::from_json(const Json& json, const fs::path& file) {
  const Fields fields(json, "", std::make_shared<std::string>());
  const auto format = fields.number<uint32_t>("format");
  if (!fields.problem().empty()) return no_recording(file, fields.problem());
  if (format != kRecordingFormat)
    return Error{.what = fmt::format("this recording has format {}; this heddle reads format {}", format,
                                     kRecordingFormat),
                 .where = file,
                 .next = "use the heddle that made it"};
  const Fields program = fields.object("program"), variant = fields.object("variant"),
               host = fields.object("host"), outcome = fields.object("outcome"), core = fields.object("core");
  RecordingInfo info{.heddle_version = fields.text("heddle"),
                     .program = program.text("path"),
                     .identity = program.text("identity"),
                     .build_id = program.text("build_id"),
                     .variant = variant.text("name"),
                     .variant_executable = variant.text("executable"),
                     .options = read_options(fields.object("options")),
                     .command = fields.texts("command"),
                     .folder = fields.text("folder"),
                     .environment = fields.texts("environment"),
                     .environment_left_out = fields.flag("environment_left_out"),
                     .run = fields.number<uint64_t>("run"),
                     .begin_ms = fields.number<int64_t>("begin_ms"),
                     .duration_ns = fields.number<uint64_t>("duration_ns"),
                     .tsc_hz = fields.real("tsc_hz"),
                     .load_base = fields.number<uint64_t>("load_base"),
                     .arguments = fields.number<uint64_t>("arguments"),
                     .argument_text = fields.number<uint64_t>("argument_text"),
                     .pid = fields.number<int32_t>("pid"),
                     .forks = fields.number<uint32_t>("forks"),
                     .host = {.kernel = host.text("kernel"),
                              .processors = host.number<uint64_t>("processors"),
                              .invariant_tsc = host.flag("invariant_tsc")},
                     .outcome = static_cast<RecordingOutcome>(outcome.word("kind", kOutcomes)),
                     .exit_code = outcome.optional_number<int>("exit_code"),
                     .signal = outcome.optional_number<int>("signal"),
                     .failure = {},
                     .threads = fields.list("threads", read_thread),
                     .maps = fields.texts("maps"),
                     .files = fields.list("files", read_file_entry),
                     .core_file = core.text("file"),
                     .core_pattern = core.text("pattern"),
                     .notes = fields.texts("notes")};
  if (const auto failure = fields.optional_object("failure")) info.failure = read_failure(*failure);
  if (info.command.empty()) fields.note("command is empty");
  if (!fields.problem().empty()) return no_recording(file, fields.problem());
  return info;
}

Result<RecordingInfo> read_recording_info(const fs::path& folder) {
  const fs::path file = folder / kRecordingFile;
  const std::string text = HEDDLE_TRY(read_file(file));
  Result<Json> json = parse_json(text, file.string());
  if (!json) return no_recording(file, json.error().what);
  return RecordingInfo::from_json(*json, file);
}

Result<void> write_recording_info(const RecordingInfo& info, const fs::path& folder) {
  return write_file(folder / kRecordingFile, info.to_json().dump(1) + "\n", Readers::owner);
}

}  // namespace heddle
