#include "pt/input_reader.h"

#include <fcntl.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>
#include <unistd.h>

#include <algorithm>

namespace heddle {
namespace {

constexpr uint64_t kStandardInput = 0;
constexpr uint64_t kEndOfFile = UINT32_MAX;  // EOF

}  // namespace

void OpenStreams::open(uint64_t stream, size_t thread) {
  const std::lock_guard lock(mutex_);
  owners_.try_emplace(stream, thread);
}

bool OpenStreams::use(uint64_t stream, size_t thread) {
  const std::lock_guard lock(mutex_);
  if (owners_.try_emplace(stream, thread).first->second != thread) shared_.insert(stream);
  return !shared_.contains(stream);
}

bool OpenStreams::is_open(uint64_t stream) {
  const std::lock_guard lock(mutex_);
  return owners_.contains(stream);
}

enum class InputReader::Function {
  other,
  open,
  open_at,
  open_stream,
  get_environment,
  read,
  read_at,
  seek,
  close,
  read_items,
  read_items_checked,
  get_line,
  get_line_checked,
  get_whole_line,
  get_delimited,
  get_character,
  get_standard_character,
  rewind,
  is_at_end,
  is_broken,
};

InputReader::Function InputReader::function_of(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr) return Function::other;
  return llvm::StringSwitch<Function>(callee->getName())
      .Cases("open", "open64", "__open_2", "__open64_2", Function::open)
      .Cases("openat", "openat64", Function::open_at)
      .Cases("fopen", "fopen64", Function::open_stream)
      .Cases("getenv", "secure_getenv", Function::get_environment)
      .Cases("read", "__read", "__read_chk", Function::read)
      .Cases("pread", "pread64", "__pread_chk", "__pread64_chk", Function::read_at)
      .Cases("lseek", "lseek64", Function::seek)
      .Cases("close", "fclose", Function::close)
      .Cases("fread", "fread_unlocked", Function::read_items)
      .Cases("__fread_chk", "__fread_unlocked_chk", Function::read_items_checked)
      .Cases("fgets", "fgets_unlocked", Function::get_line)
      .Cases("__fgets_chk", "__fgets_unlocked_chk", Function::get_line_checked)
      .Case("getline", Function::get_whole_line)
      .Cases("getdelim", "__getdelim", Function::get_delimited)  // what <bits/stdio.h> makes of getline
      .Cases("fgetc", "getc", "_IO_getc", "getc_unlocked", "fgetc_unlocked", Function::get_character)
      .Cases("getchar", "getchar_unlocked", Function::get_standard_character)
      .Case("rewind", Function::rewind)
      .Cases("feof", "feof_unlocked", Function::is_at_end)
      .Cases("ferror", "ferror_unlocked", Function::is_broken)
      .Default(Function::other);
}

std::optional<InputReader::Answer> InputReader::call(const llvm::CallBase& call, Arguments& arguments,
                                                     std::optional<uint64_t> result) {
  const Function function = function_of(call);
  std::optional<uint64_t> stream;
  switch (function) {
    case Function::other:
      forget_streams_in(call, arguments);
      return std::nullopt;
    case Function::open:
    case Function::open_stream:
      return open(function, 0, arguments, result);
    case Function::open_at:
      return open(function, 1, arguments, result);
    case Function::get_environment:
      return environment(arguments);
    case Function::read_items:
      stream = stream_at(call, 3, arguments);
      break;
    case Function::read_items_checked:
      stream = stream_at(call, 4, arguments);
      break;
    case Function::get_line:
    case Function::get_whole_line:
      stream = stream_at(call, 2, arguments);
      break;
    case Function::get_line_checked:
    case Function::get_delimited:
      stream = stream_at(call, 3, arguments);
      break;
    case Function::get_standard_character:
      stream = kStandardInput;
      break;
    default:
      stream = stream_at(call, 0, arguments);
  }
  if (!stream || known(*stream) == nullptr) return std::nullopt;
  // Where its block lies is not told, where anything is.
  const bool is_elsewhere =
      (function == Function::get_whole_line || function == Function::get_delimited) && result;
  std::optional<Answer> out = is_elsewhere ? std::nullopt : read(function, *stream, arguments);
  if (!out) lost_.insert(*stream);
  return out;
}

// For reading only: who writes too may change what is read.
std::optional<InputReader::Answer> InputReader::open(Function function, unsigned name, Arguments& arguments,
                                                     std::optional<uint64_t> result) {
  const std::optional<std::string> text = arguments.text(name);
  if (!text || text->empty()) return std::nullopt;
  if (function == Function::open_stream) {
    const std::optional<std::string> mode = arguments.text(1);
    if (!mode || !mode->starts_with("r") || mode->find('+') != std::string::npos) return std::nullopt;
  } else {
    const std::optional<uint64_t> flags = arguments.number(name + 1);
    if (!flags || (*flags & O_ACCMODE) != O_RDONLY) return std::nullopt;
    if (function == Function::open_at && !text->starts_with("/") &&
        static_cast<int32_t>(arguments.number(0).value_or(0)) != AT_FDCWD)
      return std::nullopt;
  }
  const std::filesystem::path path = (inputs_.folder / *text).lexically_normal();
  const auto file = std::ranges::find(inputs_.files, path, &PtInputs::File::path);
  if (file == inputs_.files.end()) return std::nullopt;
  constexpr uint64_t kDescriptors = 1000;  // of one thread; those of the process were others
  const uint64_t id = result                              ? * result
                      : function == Function::open_stream ? next_stream_ += 4096
                                                          : kDescriptors * (thread_ + 1) + opened_++;
  streams_[id] = {.bytes = &file->bytes};
  lost_.erase(id);  // one that was closed
  open_.open(id, thread_);
  return Answer{.result = id};
}

std::optional<InputReader::Answer> InputReader::environment(Arguments& arguments) const {
  const std::optional<std::string> name = inputs_.environment_is_known ? arguments.text(0) : std::nullopt;
  if (!name) return std::nullopt;
  const auto found = inputs_.environment.find(*name);
  return Answer{.result = found != inputs_.environment.end() ? found->second : 0};
}

std::optional<uint64_t> InputReader::stream_at(const llvm::CallBase& call, unsigned argument,
                                               Arguments& arguments) const {
  if (argument >= call.arg_size()) return std::nullopt;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(call.getArgOperand(argument)))
    if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(load->getPointerOperand());
        variable != nullptr && variable->getName() == "stdin")
      return kStandardInput;
  return arguments.number(argument);
}

// Null: what it gives is not known.
InputReader::Stream* InputReader::known(uint64_t id) {
  if (id == kStandardInput) {
    if (!inputs_.standard_input) return nullptr;
    streams_.try_emplace(id, Stream{.bytes = &*inputs_.standard_input});
  } else if (!open_.is_open(id)) {
    return nullptr;
  }
  if (!open_.use(id, thread_) || lost_.contains(id)) return nullptr;
  const auto found = streams_.find(id);
  return found != streams_.end() ? &found->second : nullptr;
}

void InputReader::forget_streams_in(const llvm::CallBase& call, Arguments& arguments) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee != nullptr && (callee->getName() == "scanf" || callee->getName() == "__isoc99_scanf" ||
                            callee->getName() == "__isoc23_scanf" || callee->getName() == "gets"))
    lost_.insert(kStandardInput);
  if (streams_.empty() && !inputs_.standard_input) return;
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    const llvm::Type* type = call.getArgOperand(i)->getType();
    if (!type->isPointerTy() && !type->isIntegerTy(32)) continue;
    const std::optional<uint64_t> id = stream_at(call, i, arguments);
    const bool is_standard = id == kStandardInput && llvm::isa<llvm::LoadInst>(call.getArgOperand(i));
    if (id && (is_standard || (*id != kStandardInput && open_.is_open(*id)))) lost_.insert(*id);
  }
}

std::optional<InputReader::Answer> InputReader::read(Function function, uint64_t id, Arguments& arguments) {
  Stream& stream = *known(id);
  const auto take = [&](uint64_t count) {
    std::string out = stream.bytes->substr(stream.position, count);
    stream.position += out.size();
    if (out.size() < count) stream.at_end = true;
    return out;
  };
  switch (function) {
    case Function::read: {
      const std::optional<uint64_t> count = arguments.number(2);
      if (!count) return std::nullopt;
      std::string bytes = take(*count);
      return Answer{.result = bytes.size(), .written = 1, .bytes = std::move(bytes)};
    }
    case Function::read_at: {
      const std::optional<uint64_t> count = arguments.number(2), at = arguments.number(3);
      if (!count || !at) return std::nullopt;
      std::string bytes = *at < stream.bytes->size() ? stream.bytes->substr(*at, *count) : "";
      return Answer{.result = bytes.size(), .written = 1, .bytes = std::move(bytes)};
    }
    case Function::seek: {
      const std::optional<uint64_t> by = arguments.number(1), from = arguments.number(2);
      if (!by || !from || *from > SEEK_END) return std::nullopt;
      const uint64_t to = *by + (*from == SEEK_SET   ? 0
                                 : *from == SEEK_CUR ? stream.position
                                                     : stream.bytes->size());
      if (to > stream.bytes->size()) return std::nullopt;
      stream.position = to;
      return Answer{.result = to};
    }
    case Function::close:
      lost_.insert(id);
      return Answer{};
    case Function::read_items:
    case Function::read_items_checked: {
      const unsigned first = function == Function::read_items ? 1 : 2;
      const std::optional<uint64_t> size = arguments.number(first), count = arguments.number(first + 1);
      if (!size || !count || *size == 0 || *count > stream.bytes->max_size() / *size) return std::nullopt;
      std::string bytes = take(*size * *count);
      return Answer{.result = bytes.size() / *size, .written = 0, .bytes = std::move(bytes)};
    }
    case Function::get_line:
    case Function::get_line_checked: {
      const std::optional<uint64_t> room = arguments.number(function == Function::get_line ? 1 : 2),
                                    to = arguments.number(0);
      if (!room || !to || static_cast<int32_t>(*room) < 2) return std::nullopt;
      const size_t end = stream.bytes->find('\n', stream.position);
      const uint64_t line = end == std::string::npos ? UINT64_MAX : end + 1 - stream.position;
      std::string bytes = take(std::min(line, *room - 1));
      if (bytes.empty()) return Answer{.result = 0, .written = 0};
      bytes.push_back('\0');
      return Answer{.result = *to, .written = 0, .bytes = std::move(bytes)};
    }
    case Function::get_whole_line:
    case Function::get_delimited: {
      const std::optional<uint64_t> last =
          function == Function::get_delimited ? arguments.number(2) : std::optional<uint64_t>('\n');
      if (!last) return std::nullopt;
      const size_t end = stream.bytes->find(static_cast<char>(*last), stream.position);
      return get_line(take(end == std::string::npos ? UINT64_MAX : end + 1 - stream.position), arguments);
    }
    case Function::get_character:
    case Function::get_standard_character: {
      const std::string byte = take(1);
      return Answer{.result = byte.empty() ? kEndOfFile : static_cast<uint8_t>(byte[0])};
    }
    case Function::rewind:
      stream.position = 0;
      stream.at_end = false;
      return Answer{};
    case Function::is_at_end:
      return Answer{.result = stream.at_end ? 1u : 0u};
    case Function::is_broken:
      return Answer{};
    default:
      return std::nullopt;
  }
}

// Into the block that the caller has, or a larger one in its place, as the C library does.
std::optional<InputReader::Answer> InputReader::get_line(std::string bytes, Arguments& arguments) {
  constexpr uint64_t kLeast = 120;
  const std::optional<uint64_t> block = arguments.word(0), room = arguments.word(1);
  const std::optional<uint64_t> pointer = arguments.number(0), size = arguments.number(1);
  if (!block || (*block != 0 && !room) || !pointer || !size) return std::nullopt;
  const uint64_t count = bytes.size();
  bytes.push_back('\0');
  Answer::Line line{.pointer = *pointer, .room = *size, .address = *block, .size = *block != 0 ? *room : 0};
  if (*block == 0 || line.size < bytes.size()) {
    line.size = std::max({kLeast, bytes.size(), 2 * line.size});
    line.address = next_stream_ += 4096;
    next_stream_ += line.size / 4096 * 4096;
    line.is_new = true;
  }
  if (count != 0) line.bytes = std::move(bytes);
  return Answer{.result = count != 0 ? count : UINT64_MAX, .line = std::move(line)};
}

}  // namespace heddle
