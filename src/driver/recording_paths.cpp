#include "driver/recording_paths.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>

#include "base/files.h"
#include "driver/pt_recording.h"
#include "program/source_place.h"
#include "recording/decoder.h"
#include "recording/log_file.h"

namespace heddle {
namespace {

// The lines of a block that are its function's own: the first and the last of them.
struct BlockPlace {
  std::string function, file;
  unsigned first = 0, last = 0;

  std::string text() const {
    if (file.empty()) return "";
    const std::string name = fs::path(file).filename();
    return first == last ? fmt::format("{}:{}", name, first) : fmt::format("{}:{}-{}", name, first, last);
  }
};

BlockPlace place_of(const llvm::BasicBlock& block) {
  BlockPlace out{.function = short_name(readable_name(*block.getParent()))};
  for (const llvm::Instruction& instruction : block) {
    const SourcePlace place = user_place(instruction);
    if (!place.known()) continue;
    if (out.file.empty()) {
      out.file = place.file;
      out.first = out.last = place.line;
    }
    if (place.file != out.file) continue;
    out.first = std::min(out.first, place.line);
    out.last = std::max(out.last, place.line);
  }
  return out;
}

class LineCollector : public PathVisitor {
 public:
  // At most `limit` lines, the last ones (0: all), of the first `blocks` blocks.
  LineCollector(const Program& program, uint64_t limit, uint64_t blocks)
      : program_(program), limit_(limit), left_(blocks) {}

  void enter_function(FunctionId, EnteredBy) override { ++depth_; }
  void leave_function(FunctionId, LeftBy) override { depth_ -= depth_ > 0 ? 1 : 0; }
  void block(BlockId id) override {
    if (left_ == 0) return;
    --left_;
    add(line_of(id));
  }
  void repeated_blocks(std::span<const BlockId> round, uint64_t times) override {
    if (round.empty() || times == 0 || left_ == 0) return;
    left_ -= std::min(left_, round.size() * times);
    PathLine line = line_of(round.front());
    line.blocks = round.size();
    line.times = times;
    add(std::move(line));
  }

  ThreadPath take() && {
    ThreadPath path{.skipped = skipped_};
    path.lines.assign(std::make_move_iterator(lines_.begin()), std::make_move_iterator(lines_.end()));
    return path;
  }

 private:
  PathLine line_of(BlockId id) {
    std::optional<BlockPlace>& place = places_[id.index()];
    if (!place) place = place_of(program_.block(id));
    return {.depth = depth_ == 0 ? 0 : depth_ - 1, .function = place->function, .place = place->text()};
  }

  void add(PathLine line) {
    if (!lines_.empty()) {
      PathLine& last = lines_.back();
      if (last.depth == line.depth && last.function == line.function && last.place == line.place &&
          last.blocks == line.blocks) {
        last.times += line.times;
        return;
      }
    }
    lines_.push_back(std::move(line));
    if (limit_ == 0 || lines_.size() <= limit_) return;
    lines_.pop_front();
    ++skipped_;
  }

  const Program& program_;
  uint64_t limit_, left_;
  size_t depth_ = 0;
  std::vector<std::optional<BlockPlace>> places_ =
      std::vector<std::optional<BlockPlace>>(program_.block_count());
  std::deque<PathLine> lines_;
  uint64_t skipped_ = 0;
};

std::string end_text(const DecodeEnd& end, const LogFile& log) {
  switch (end.kind) {
    case DecodeEnd::Kind::complete:
      return log.head().end_tsc != 0 ? "the thread had ended" : "the log ends here";
    case DecodeEnd::Kind::in_call:
      return "the thread was in a call that leaves the program";
    case DecodeEnd::Kind::stopped:
      return end.text.empty() ? "the thread was here" : "nothing more is in the log: " + end.text;
    case DecodeEnd::Kind::begins_late:
      return "the beginning of the log was not kept, so it cannot be followed";
    case DecodeEnd::Kind::trouble:
      return "it cannot be followed further: " + end.text;
    case DecodeEnd::Kind::damaged:
      return "the log is damaged: " + end.text;
  }
  return "";
}

// Where a part of the data stream stands in the file: in one chunk or several.
void add_ranges(const LogFile::Stream& stream, uint64_t position, uint64_t count, std::vector<ByteRange>& out) {
  for (const StreamChunk& chunk : stream.chunks) {
    const uint64_t begin = std::max(position, chunk.position);
    const uint64_t end = std::min(position + count, chunk.position + chunk.size);
    if (begin < end) out.push_back({chunk.file_offset + begin - chunk.position, end - begin});
  }
}

class InputCollector : public PathVisitor {
 public:
  explicit InputCollector(const LogFile& log) : log_(log) {}
  void written(const llvm::CallBase&, size_t, const WrittenBytes& bytes) override {
    if (!bytes.file) add_ranges(log_.data_stream(), bytes.position, bytes.count, ranges_);
  }
  std::vector<ByteRange> take() && { return std::move(ranges_); }

 private:
  const LogFile& log_;
  std::vector<ByteRange> ranges_;
};

}  // namespace

Result<RecordedCode> load_recorded_code(const RecordingInfo& info, const fs::path& folder,
                                        const fs::path& program) {
  RecordedCode code;
  const fs::path file = program.empty() ? fs::path(info.program) : program;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored))
    return Error{.what = "the recorded program is not there",
                 .where = file,
                 .next = "say where the program is: --program FILE"};
  code.program = HEDDLE_TRY(Program::load(file));
  if (code.program->identity() != info.identity)
    return Error{
        .what = "this recording is of another program",
        .where = file,
        .why = fmt::format("the recording is of {} {}, this program is {}: it was changed or built in another "
                           "way since",
                           info.program, info.identity, code.program->identity()),
        .next = "say where the program is that was recorded: --program FILE"};
  const fs::path effects = folder / kEffectsFile;
  if (fs::exists(effects)) {
    code.effects = std::make_unique<EffectsTable>();
    const std::string text = HEDDLE_TRY(read_file(effects));
    HEDDLE_TRY(code.effects->add(text, effects));
  } else {
    code.effects = std::make_unique<EffectsTable>(HEDDLE_TRY(EffectsTable::load()));
  }
  const RecordPolicy policy =
      info.variant == kPtVariant ? RecordPolicy::traced : HEDDLE_TRY(parse_record_policy(info.options.policy));
  code.plan = std::make_unique<RecordPlan>(*code.program, code.program->module(), *code.effects, policy);
  return code;
}

Json ThreadPath::to_json() const {
  Json list = Json::array();
  for (const PathLine& line : lines)
    list.push_back({{"depth", line.depth},
                    {"function", line.function},
                    {"place", line.place},
                    {"times", line.times},
                    {"blocks", line.blocks}});
  return {{"thread", thread},         {"level", level},           {"blocks", blocks},
          {"skipped_lines", skipped}, {"lines", std::move(list)}, {"end", end}};
}

Result<ThreadPath> thread_path(const RecordedCode& code, const fs::path& file, uint64_t limit) {
  const LogFile log = HEDDLE_TRY(LogFile::open(file));
  const auto follow = [&](LineCollector& collector) {
    return ThreadDecoder(*code.program, *code.plan, log, collector,
                         jumps_out_of_handlers(*code.program, *code.plan, file))
        .run();
  };
  std::optional<LineCollector> collector(std::in_place, *code.program, limit, UINT64_MAX);
  const DecodeEnd end = follow(*collector);
  uint64_t blocks = end.blocks;
  // Code that goes on for ever and writes nothing (a recursion without an end) was followed until the decoder
  // gave up: what is shown ends with what is certain.
  if (end.kind == DecodeEnd::Kind::stopped && !end.text.empty()) {
    blocks = end.certain_blocks;
    collector.emplace(*code.program, limit, blocks);
    follow(*collector);
  }
  ThreadPath path = std::move(*collector).take();
  path.thread = log.thread();
  path.level = log.head().level;
  path.blocks = blocks;
  path.end = end_text(end, log);
  return path;
}

Result<std::vector<ByteRange>> input_bytes(const RecordedCode& code, const fs::path& file) {
  const LogFile log = HEDDLE_TRY(LogFile::open(file));
  InputCollector collector(log);
  ThreadDecoder decoder(*code.program, *code.plan, log, collector,
                        jumps_out_of_handlers(*code.program, *code.plan, file));
  const DecodeEnd end = decoder.run();
  const bool followed =
      log.damage().empty() && (end.kind == DecodeEnd::Kind::complete || end.kind == DecodeEnd::Kind::in_call ||
                               end.kind == DecodeEnd::Kind::stopped);
  std::vector<ByteRange> ranges = std::move(collector).take();
  if (!followed)
    return Error{.what = "heddle cannot tell where in this log the contents of inputs are",
                 .where = file,
                 .why = log.damage().empty() ? end_text(end, log) : log.damage().front().text(),
                 .next = "pack it with its inputs, or record with --no-inputs"};
  // What could not be read may be the beginning of an input.
  const LogFile::Stream& data = log.data_stream();
  if (end.data_read < data.bytes) add_ranges(data, end.data_read, data.bytes - end.data_read, ranges);
  // Checksums would no longer be right; 0 is none.
  ranges.push_back({.offset = offsetof(heddle_record_log, seal), .size = sizeof(heddle_record_log::seal)});
  for (const StreamChunk& chunk : data.chunks)
    ranges.push_back(
        {.offset = chunk.file_offset - HEDDLE_RECORD_CHUNK_HEAD + offsetof(heddle_record_chunk, checksum),
         .size = sizeof(heddle_record_chunk::checksum)});
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  return ranges;
}

}  // namespace heddle
