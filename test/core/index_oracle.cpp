// The index oracle: runs the program itself on virtual cores, one instruction at a time with seeds
// (pt/emulator.h), and stops at random points where a thread might crash or wait: before accesses to memory and
// calls. There a core is written, and the index that is recovered from it must be the one that was maintained
// online (online_index.h).
//
//   index_oracle [--points N] [--seconds S] [--seed S] [--exact] [--verbose] PROGRAM [ARGUMENT...]
//
// --seconds: looks for points no longer than that (default 6), so there may be fewer.
// --exact: the program has loop counters, so every count must be known.
//
// Prints a line with what was compared; ends with 1 when something differs.
#include <fmt/core.h>
#include <llvm/IR/Instructions.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>

#include "base/files.h"
#include "coredump/core_index.h"
#include "coredump/core_writer.h"
#include "online_index.h"
#include "program/source_place.h"
#include "pt/branch_instruction.h"
#include "pt/emulator.h"
#include "pt/program_path.h"

namespace heddle {
namespace {

struct Options {
  uint64_t points = 20, seed = 1, seconds = 6;
  bool exact = false, verbose = false;
  std::vector<std::string> command;
};

struct Tally {
  uint64_t points = 0, frames = 0, loops = 0, unknown = 0, merged = 0, skipped = 0, different = 0;
};

class Oracle {
 public:
  Oracle(const Options& options, const Program& program, const CodeMap& map, const MachineBlocks& blocks,
         const EffectsTable& effects)
      : options_(options),
        effects_(effects),
        program_(program),
        map_(map),
        blocks_(blocks),
        regions_(program),
        random_(options.seed) {}

  Result<Tally> run() {
    const TempFolder folder = HEDDLE_TRY(TempFolder::create());
    core_ = folder.path() / "core";
    // The first run says how many places there are.
    HEDDLE_TRY(run_once(0));
    if (places_ == 0) return tally_;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options_.seconds);
    while (tally_.points < options_.points && std::chrono::steady_clock::now() < end)
      HEDDLE_TRY(run_once(std::max<uint64_t>(1, places_ / (options_.points / 4 + 1))));
    return tally_;
  }

 private:
  Result<void> run_once(uint64_t one_of) {
    threads_.clear();
    begin_ = end_ = base_ = 0;
    uint64_t places = 0;
    EmulatorOptions emulated{.command = options_.command, .seed = random_()};
    emulated.slice = 100;
    emulated.time_limit = std::chrono::seconds(2);
    emulated.executed = [&](int tid, unsigned core, uint64_t address) {
      executed(tid, core, address);
      if (!is_place(tid, next_)) return;
      ++places;
      if (one_of != 0 && tally_.points < options_.points && random_() % one_of == 0) look(tid);
    };
    HEDDLE_TRY(emulate(emulated));
    if (one_of == 0) places_ = places;
    return {};
  }

  // The executable's code in the process.
  void find_code(int pid) {
    if (end_ != 0) return;
    for (const std::string& line : lines_of(fmt::format("/proc/{}/maps", pid))) {
      unsigned long begin = 0, end = 0, offset = 0;
      char flags[8] = {};
      if (std::sscanf(line.c_str(), "%lx-%lx %7s %lx", &begin, &end, flags, &offset) != 4) continue;
      if (line.find(fs::path(options_.command[0]).filename().string()) == std::string::npos) continue;
      if (base_ == 0) base_ = begin - offset;
      if (std::strchr(flags, 'x') == nullptr) continue;
      begin_ = begin;
      end_ = end;
      return;
    }
  }

  static std::vector<std::string> lines_of(const std::string& file) {
    std::vector<std::string> out;
    std::FILE* in = std::fopen(file.c_str(), "r");
    char line[4096];
    while (in != nullptr && std::fgets(line, sizeof line, in) != nullptr) out.emplace_back(line);
    if (in != nullptr) std::fclose(in);
    return out;
  }

  const BranchInstruction& instruction(int tid, uint64_t address) {
    const auto [found, fresh] = code_.try_emplace(address - base_);
    if (fresh) {
      uint8_t bytes[16] = {};
      iovec to{bytes, sizeof bytes}, from{reinterpret_cast<void*>(address), sizeof bytes};
      const ssize_t got = ::process_vm_readv(tid, &to, 1, &from, 1, 0);
      found->second = classify_instruction({bytes, got > 0 ? static_cast<size_t>(got) : 0});
    }
    return found->second;
  }

  void executed(int tid, unsigned core, uint64_t address) {
    if (end_ == 0) find_code(tid);
    next_ = static_cast<uint64_t>(::ptrace(PTRACE_PEEKUSER, tid, offsetof(user_regs_struct, rip), nullptr));
    PtThread& thread = threads_[tid];
    const BranchInstruction& kind = instruction(tid, address);
    if (thread.spans.empty() || thread.spans.back().end != PtSpan::End::trace_end)
      thread.spans.push_back({.core = core});
    PtSpan& span = thread.spans.back();
    PtBlock block{.begin = address, .instructions = 1};
    if (kind.call)
      block.end = PtBlock::End::call;
    else if (kind.kind == BranchKind::ret)
      block.end = PtBlock::End::ret;
    else if (kind.kind == BranchKind::conditional)
      block.end = PtBlock::End::conditional;
    else if (kind.kind == BranchKind::direct || kind.kind == BranchKind::indirect)
      block.end = PtBlock::End::jump;
    span.blocks.push_back(block);
    if (next_ < begin_ || next_ >= end_) span.end = PtSpan::End::left;
  }

  // Where a thread of the program might crash or wait.
  bool is_place(int tid, uint64_t address) {
    if (address < begin_ || address >= end_) return false;
    const std::optional<InstructionId> id = map_.instruction_at(address - base_);
    if (!id) return false;
    const llvm::Instruction& at = program_.instruction(*id);
    // Not where arguments are put in place: that may have been moved.
    if (llvm::isa<llvm::CallBase>(at)) return instruction(tid, address).call;
    return at.mayReadOrWriteMemory() && !llvm::isa<llvm::FenceInst>(at);
  }

  // The frames online, outermost first; nothing: the way is not known for certain.
  std::optional<std::vector<OnlineFrame>> online(const ProgramPath& path) const {
    std::vector<OnlineFrame> frames;
    for (const ProgramStep& step : path.steps) {
      switch (step.kind) {
        case ProgramStep::Kind::enter:
          frames.emplace_back(regions_.of(program_.id_of(step.as<llvm::Function>())));
          break;
        case ProgramStep::Kind::leave:
          frames.pop_back();
          break;
        case ProgramStep::Kind::landed:
          while (frames.size() > step.depth) frames.pop_back();
          break;
        case ProgramStep::Kind::block:
          if (!go(frames.back(), step.as<llvm::BasicBlock>())) return std::nullopt;
          break;
        default:
          break;
      }
    }
    return frames;
  }

  // Between two blocks the thread may have passed such as left no code. Only one way of them is a known way.
  bool go(OnlineFrame& frame, const llvm::BasicBlock& to) const {
    const FunctionRegions& regions = regions_.of(program_.id_of(*to.getParent()));
    const uint32_t target = regions.flow().number(&to);
    if (!frame.block()) {
      if (target == 0) frame.enter(0);
      return target == 0;
    }
    std::vector<uint32_t> way, found;
    unsigned ways = 0;
    const auto named = [&](uint32_t block) {
      for (const MachineBlock& machine : blocks_.of(program_.id_of(*to.getParent())))
        if (machine.block == regions.flow().block(block)) return true;
      return false;
    };
    const std::function<void(uint32_t)> search = [&](uint32_t at) {
      if (ways > 1 || way.size() > 16) return;
      for (const uint32_t next : regions.flow().successors(at)) {
        if (next == target) {
          if (++ways == 1) found = way;
        } else if (std::ranges::find(way, next) == way.end() && !named(next)) {
          way.push_back(next);
          search(next);
          way.pop_back();
        }
      }
    };
    search(*frame.block());
    if (ways != 1) return false;
    for (const uint32_t block : found) frame.enter(block);
    frame.enter(target);
    return true;
  }

  void look(int tid) {
    const auto skip = [&](const std::string& why) {
      ++tally_.skipped;
      if (options_.verbose) fmt::print("  skipped: {}\n", why);
    };
    PathFollower follower(program_, map_, blocks_, base_,
                          [&](const llvm::CallBase& call) { return cuts_path(classify_call(call, effects_)); });
    // It stands before the next instruction: in the block that begins there, if one does.
    PtThread& thread = threads_[tid];
    if (thread.spans.back().end != PtSpan::End::trace_end) return skip("back from the kernel");
    thread.spans.back().blocks.push_back({.begin = next_, .instructions = 1});
    const ProgramPath path = follower.follow(thread, next_);
    thread.spans.back().blocks.pop_back();
    if (!path.trouble.empty()) return skip(path.trouble);
    std::optional<std::vector<OnlineFrame>> frames = online(path);
    if (!frames || frames->empty()) return skip("several ways through blocks without code");
    // Copies of blocks at the end of others have no names: what stands there says that they were entered.
    const llvm::BasicBlock& here = *program_.instruction(*map_.instruction_at(next_ - base_)).getParent();
    const FunctionRegions& regions = regions_.of(program_.id_of(*here.getParent()));
    if (frames->back().block() != regions.flow().number(&here) && !go(frames->back(), here))
      return skip("code that was moved");
    const Result<uint64_t> written = write_core({.pid = group_of(tid), .threads = {tid}}, core_);
    if (!written) return skip(written.error().text());
    const Result<CoreFile> core = CoreFile::open(core_);
    if (!core) return skip(core.error().text());
    const std::vector<CoreStack> stacks = core_stacks(*core, options_.command[0]);
    if (stacks.empty()) return skip("no stack");
    const CoreIndex recovered = index_of_stack(*core, stacks[0], map_, regions_);
    ++tally_.points;
    compare(path, *frames, recovered.index);
  }

  static pid_t group_of(pid_t tid) {
    for (const std::string& line : lines_of(fmt::format("/proc/{}/status", tid)))
      if (line.starts_with("Tgid:")) return static_cast<pid_t>(std::atoi(line.c_str() + 5));
    return tid;
  }

  // A function that ends with a call has left no frame.
  static bool ends_with(const llvm::Instruction* call) {
    const auto* instruction = llvm::dyn_cast_or_null<llvm::CallInst>(call);
    return instruction != nullptr && instruction->isTailCall();
  }

  // Functions that a thread left by ending itself are unwound when its last functions run: destructors of its
  // own data.
  size_t unwound(const ProgramPath& path) const {
    for (size_t i = 1; i < path.stack.size(); ++i)
      if (const auto* call = llvm::dyn_cast_or_null<llvm::CallBase>(path.stack[i]))
        if (const CallInfo info = classify_call(*call, effects_);
            info.effects != nullptr && info.effects->sync == HEDDLE_SYNC_thread_exit)
          return path.stack.size() - i;
    return 0;
  }

  void compare(const ProgramPath& path, const std::vector<OnlineFrame>& online,
               const ExecutionIndex& recovered) {
    size_t i = 0;
    std::string trouble;
    for (size_t depth = unwound(path); depth < online.size(); ++depth) {
      const llvm::Instruction* at = path.stack[path.stack.size() - 1 - depth];
      if (i >= recovered.frames.size()) {
        trouble = "frames are missing";
        break;
      }
      const IndexFrame& frame = recovered.frames[i];
      const bool same = at != nullptr && frame.at && program_.id_of(*at) == *frame.at;
      if (!same && depth + 1 < online.size() && ends_with(at)) continue;
      ++i;
      if (!frame.at) {
        trouble = "the place is not known";
        break;
      }
      const OnlineFrame::Comparison found = online[depth].compare(regions_.block_of(*frame.at), frame.counts);
      ++tally_.frames;
      tally_.loops += found.loops;
      tally_.unknown += found.unknown;
      tally_.merged += found.merged;
      if (!found.difference.empty()) trouble = found.difference;
      if (found.unknown != 0 && options_.exact) trouble = "a count is not known";
      if (!trouble.empty()) {
        trouble += fmt::format(" (frame {} of {}, {} {})", depth, online.size(),
                               program_.function(frame.function).getName().str(),
                               source_place(program_.instruction(*frame.at)).text());
        break;
      }
    }
    if (trouble.empty() && i != recovered.frames.size()) trouble = "there are frames too many";
    if (trouble.empty()) return;
    ++tally_.different;
    fmt::print("  {}\n    index: {}\n", trouble, index_text(recovered, regions_));
  }

  const Options& options_;
  const EffectsTable& effects_;
  const Program& program_;
  const CodeMap& map_;
  const MachineBlocks& blocks_;
  const ProgramRegions regions_;
  std::mt19937_64 random_;
  fs::path core_;
  std::map<int, PtThread> threads_;
  std::map<uint64_t, BranchInstruction> code_;
  uint64_t begin_ = 0, end_ = 0, base_ = 0, next_ = 0, places_ = 0;
  Tally tally_;
};

Result<bool> run(const Options& options) {
  const std::unique_ptr<Program> program = HEDDLE_TRY(Program::load(options.command[0]));
  const CodeMap map = HEDDLE_TRY(CodeMap::make(*program));
  const MachineBlocks blocks = HEDDLE_TRY(MachineBlocks::make(*program, map));
  const EffectsTable effects = HEDDLE_TRY(EffectsTable::load());
  const Tally tally = HEDDLE_TRY(Oracle(options, *program, map, blocks, effects).run());
  fmt::print("{}: {} points, {} skipped; {} frames, {} loops, {} of unknown count, {} merges; {} different\n",
             fs::path(options.command[0]).filename().string(), tally.points, tally.skipped, tally.frames,
             tally.loops, tally.unknown, tally.merged, tally.different);
  return tally.different == 0;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  heddle::Options options;
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; ++i) {
    const std::string word = argv[i];
    if (word == "--points" && i + 1 < argc) options.points = std::strtoull(argv[++i], nullptr, 10);
    if (word == "--seed" && i + 1 < argc) options.seed = std::strtoull(argv[++i], nullptr, 10);
    if (word == "--seconds" && i + 1 < argc) options.seconds = std::strtoull(argv[++i], nullptr, 10);
    options.exact |= word == "--exact";
    options.verbose |= word == "--verbose";
  }
  options.command.assign(argv + i, argv + argc);
  if (options.command.empty()) return 2;
  options.command[0] = std::filesystem::absolute(options.command[0]);
  const heddle::Result<bool> good = heddle::run(options);
  if (!good) fmt::print("{}\n", good.error().text());
  return good && *good ? 0 : 1;
}
