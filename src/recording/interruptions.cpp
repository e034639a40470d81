#include "recording/interruptions.h"

#include <fmt/core.h>

#include <charconv>

#include "recording/decoder.h"

namespace heddle {
namespace {

class Handlers : public PathVisitor {
 public:
  std::vector<SignalEntry> left;

  void signal(const SignalEntry& entry) override {
    left.push_back(entry);
    running_ = true;
  }
  void signal_end() override {
    if (running_) left.pop_back();
    running_ = false;
  }
  void repeated_blocks(std::span<const BlockId>, uint64_t) override {}

 private:
  bool running_ = false;  // the last one
};

// "0.1.log" -> "0.1@1.log" -> "0.1@2.log"
std::filesystem::path log_of_handlers(const std::filesystem::path& file) {
  const std::string stem = file.stem();
  const size_t at = std::min(stem.find('@'), stem.size());
  unsigned level = 0;
  if (at < stem.size()) std::from_chars(stem.data() + at + 1, stem.data() + stem.size(), level);
  return file.parent_path() / fmt::format("{}@{}.log", stem.substr(0, at), level + 1);
}

}  // namespace

std::vector<SignalEntry> jumps_out_of_handlers(const Program& program, const RecordPlan& plan,
                                               const std::filesystem::path& file) {
  const std::filesystem::path handlers_file = log_of_handlers(file);
  std::error_code ignored;
  if (!std::filesystem::exists(handlers_file, ignored)) return {};
  const Result<LogFile> log = LogFile::open(handlers_file);
  if (!log) return {};
  Handlers handlers;
  ThreadDecoder(program, plan, *log, handlers, jumps_out_of_handlers(program, plan, handlers_file)).run();
  return std::move(handlers.left);
}

}  // namespace heddle
