// What a thread reads from inputs of the run that were kept: files, standard input, the environment. A trace
// does not hold it, but it is the same in every run, and where the program asked for it is in the path.
//
// A small model of descriptors and streams: who opens a kept file by a name that is known reads its bytes from
// the beginning on. Descriptors and streams get numbers and addresses of their own. Nothing is said of a stream
// that several threads use, that was written to, or of which something was asked that is not modelled: what it
// gives is unknown from then on.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace heddle {

struct PtInputs {
  struct File {
    std::filesystem::path path;  // absolute
    std::string bytes;
  };
  std::filesystem::path folder;  // the run's
  std::vector<File> files;
  std::optional<std::string> standard_input;
  bool environment_is_known = false;
  std::map<std::string, uint64_t> environment;  // where the values of variables lie
};

// Streams of all threads, and which of them nobody knows the position of.
class OpenStreams {
 public:
  void open(uint64_t stream, size_t thread);
  // Whether this thread may say what the stream gives: not if another one has used it too, ever.
  bool use(uint64_t stream, size_t thread);
  bool is_open(uint64_t stream);

 private:
  std::mutex mutex_;
  std::map<uint64_t, size_t> owners_;
  std::set<uint64_t> shared_;
};

class InputReader {
 public:
  // Of a call that is about to come back.
  class Arguments {
   public:
    virtual ~Arguments() = default;
    virtual std::optional<uint64_t> number(unsigned argument) = 0;
    virtual std::optional<std::string> text(unsigned argument) = 0;
    virtual std::optional<uint64_t> word(unsigned argument) = 0;  // that it points to
  };
  struct Answer {
    uint64_t result = 0;
    int written = -1;   // the argument that points to where `bytes` were written
    std::string bytes;  // empty: nothing was
    struct Line {
      uint64_t pointer = 0, room = 0;  // where the caller is told of the block and of its size
      uint64_t address = 0, size = 0;  // these
      bool is_new = false;
      std::string bytes;
    };
    std::optional<Line> line;  // of getline
  };

  // `streams`: where addresses of streams begin.
  InputReader(const PtInputs& inputs, OpenStreams& open, size_t thread, uint64_t streams)
      : inputs_(inputs), open_(open), thread_(thread), next_stream_(streams) {}

  // `result`: what the call is known to have given; descriptors and streams are called so then.
  std::optional<Answer> call(const llvm::CallBase& call, Arguments& arguments,
                             std::optional<uint64_t> result = std::nullopt);

 private:
  struct Stream {
    const std::string* bytes = nullptr;
    uint64_t position = 0;
    bool at_end = false;
    uint64_t rest() const { return bytes->size() - position; }
  };
  enum class Function;
  static Function function_of(const llvm::CallBase& call);
  std::optional<Answer> open(Function function, unsigned name, Arguments& arguments,
                             std::optional<uint64_t> result);
  std::optional<Answer> environment(Arguments& arguments) const;
  std::optional<Answer> read(Function function, uint64_t id, Arguments& arguments);
  std::optional<Answer> get_line(std::string bytes, Arguments& arguments);
  std::optional<uint64_t> stream_at(const llvm::CallBase& call, unsigned argument, Arguments& arguments) const;
  Stream* known(uint64_t id);
  void forget_streams_in(const llvm::CallBase& call, Arguments& arguments);

  const PtInputs& inputs_;
  OpenStreams& open_;
  size_t thread_;
  uint64_t next_stream_, opened_ = 0;
  std::map<uint64_t, Stream> streams_;
  std::set<uint64_t> lost_;
};

}  // namespace heddle
