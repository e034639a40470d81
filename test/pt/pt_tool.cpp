// Runs the emulator by hand and for tests.
//
//   pt_tool emulate [--cores N] [--seed N] [--all] [--slice N] [--overflow N] [--log FILE] OUT APP ARGS...
//   pt_tool branches PERF.DATA    as perf script --itrace=b lists them: tid, from, to
//   pt_tool check PERF.DATA LOG   what each thread executed, decoded, against the log of the emulator
//   pt_tool fuzz PERF.DATA N [SEED]   decodes N files that were made of it by changing and cutting it
//   pt_tool gaps PERF.DATA            what is missing, and why
//   pt_tool speed PERF.DATA N         decodes it N times: instructions per second
//
// emulate --end FILE: writes how the program ended as `heddle pt-run` does (pt/traced_end.h).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <random>
#include <vector>

#include "base/files.h"
#include "pt/branch_instruction.h"
#include "pt/emulator.h"
#include "pt/trace_decoder.h"

namespace heddle {
namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.text().c_str());
  return 3;
}

int emulate_command(int argc, char** argv) {
  EmulatorOptions options;
  int i = 0;
  std::FILE* log = nullptr;
  std::string end;
  for (; i < argc && std::strncmp(argv[i], "--", 2) == 0; ++i) {
    const std::string name = argv[i];
    if (name == "--all") {
      options.own_code_only = false;
      continue;
    }
    if (i + 1 >= argc) return 2;
    const char* value = argv[++i];
    if (name == "--cores") options.cores = static_cast<unsigned>(std::strtoul(value, nullptr, 0));
    if (name == "--seed") options.seed = std::strtoull(value, nullptr, 0);
    if (name == "--slice") options.slice = std::strtoull(value, nullptr, 0);
    if (name == "--overflow") options.overflow_every = std::strtoull(value, nullptr, 0);
    if (name == "--log") log = std::fopen(value, "w");
    if (name == "--end") end = value;
    if (name == "--limit") options.time_limit = std::chrono::seconds(std::strtoul(value, nullptr, 0));
  }
  if (i + 2 > argc) return 2;
  const fs::path out = argv[i];
  options.command.assign(argv + i + 1, argv + argc);
  if (log != nullptr)
    options.executed = [&](int tid, unsigned core, uint64_t address) {
      std::fprintf(log, "%d %u %lx\n", tid, core, address);
    };
  const Result<EmulatedRun> run = emulate(options);
  if (log != nullptr) std::fclose(log);
  if (!run) return fail(run.error());
  if (const Result<void> written = write_file(out, run->perf_data); !written) return fail(written.error());
  if (!end.empty())
    if (const Result<void> written = write_file(end, run->to_json().dump()); !written)
      return fail(written.error());
  std::printf("pid %d, %lu threads, %lu instructions, exit code %d, failed %d at %lx, %zu bytes\n", run->pid,
              run->threads, run->instructions, run->exit_code, run->failed_tid, run->fault_pc,
              run->perf_data.size());
  return 0;
}

Result<PtDecoded> decode(const char* path) {
  const PerfFile file = HEDDLE_TRY(read_perf_file(path));
  if (file.damage) return Error{.what = file.damage->text, .where = path};
  return decode_trace(file, traced_process(file).value_or(0));
}

// Code of the mapped files, apart from the decoder's.
class Code {
 public:
  explicit Code(const PerfFile& file) {
    for (const PerfEvent& event : file.events)
      if (const auto* mapping = std::get_if<PerfMapping>(&event.what);
          mapping != nullptr && mapping->executable)
        mappings_.push_back(*mapping);
  }
  BranchInstruction at(uint64_t address) {
    for (const PerfMapping& mapping : mappings_) {
      if (address < mapping.begin || address - mapping.begin >= mapping.size) continue;
      std::string& bytes = files_[mapping.file];
      if (bytes.empty())
        if (Result<std::string> read = read_file(mapping.file)) bytes = *read;
      const uint64_t at = address - mapping.begin + mapping.file_offset;
      if (at >= bytes.size()) return {};
      return classify_instruction(
          {reinterpret_cast<const uint8_t*>(bytes.data()) + at, std::min<size_t>(15, bytes.size() - at)});
    }
    return {};
  }

 private:
  std::vector<PerfMapping> mappings_;
  std::map<std::string, std::string> files_;
};

void say(const PtDecoded& decoded) {
  std::printf("%zu threads, %lu instructions, %zu gaps\n", decoded.threads.size(), decoded.instructions,
              decoded.gaps.size());
}

bool takes(const BranchInstruction& branch, uint64_t from, uint64_t to) {
  return branch.kind != BranchKind::none &&
         (branch.kind != BranchKind::conditional || to != from + branch.size);
}

// Begins of spans from 0, ends to the target if it is known and to 0 if not, as perf does.
int branches_command(const char* path) {
  const Result<PerfFile> file = read_perf_file(path);
  const Result<PtDecoded> decoded = decode(path);
  if (!file || !decoded) return fail(decoded.error());
  Code code(*file);
  for (const auto& [tid, thread] : decoded->threads) {
    for (const PtSpan& span : thread.spans) {
      uint64_t from = 0;
      for (size_t i = 0; i < span.blocks.size(); ++i) {
        const PtBlock& block = span.blocks[i];
        if (i == 0 || takes(code.at(from), from, block.begin))
          std::printf("%u %lx %lx\n", tid, from, block.begin);
        from = block.last();
      }
      if (span.blocks.empty()) std::printf("%u 0 %lx\n", tid, span.target);
      if (span.end == PtSpan::End::interrupted && !span.blocks.empty() &&
          takes(code.at(from), from, span.target))
        std::printf("%u %lx %lx\n", tid, from, span.target);
      if (span.end == PtSpan::End::interrupted)
        std::printf("%u %lx 0\n", tid, span.target);
      else
        std::printf("%u %lx %lx\n", tid, from, span.end == PtSpan::End::left ? span.target : 0);
    }
  }
  return 0;
}

// For people.
int spans_command(const char* path) {
  constexpr const char* kEnds[] = {"left", "kernel", "interrupted", "lost", "trace_end"};
  const Result<PtDecoded> decoded = decode(path);
  if (!decoded) return fail(decoded.error());
  for (const auto& [tid, thread] : decoded->threads)
    for (const PtSpan& span : thread.spans)
      std::printf("%u core %u %lu..%lu %zu blocks from %lx to %lx, %s %lx%s\n", tid, span.core, span.begin_tsc,
                  span.end_tsc, span.blocks.size(), span.blocks.empty() ? 0 : span.blocks.front().begin,
                  span.blocks.empty() ? 0 : span.blocks.back().last(), kEnds[static_cast<int>(span.end)],
                  span.target, span.begins_in_gap ? " behind a gap" : "");
  return 0;
}

// The log has every instruction, the trace blocks of them: of each block the first and the last must stand
// where they should in the log.
int check_command(const char* path, const char* log_path) {
  const Result<PtDecoded> decoded = decode(path);
  if (!decoded) return fail(decoded.error());
  std::map<uint32_t, std::vector<uint64_t>> log;
  std::ifstream in(log_path);
  uint32_t tid = 0, core = 0;
  uint64_t address = 0;
  while (in >> std::dec >> tid >> core >> std::hex >> address) log[tid].push_back(address);
  say(*decoded);
  int wrong = 0;
  for (auto& [each, executed] : log) {
    const auto found = decoded->threads.find(each);
    size_t at = 0;
    const auto expect = [&](uint64_t from, const char* what) {
      if (at < executed.size() && executed[at] == from) return true;
      std::printf("thread %u: %s %lx at instruction %zu, where %lx was executed\n", each, what, from, at,
                  at < executed.size() ? executed[at] : 0);
      ++wrong;
      return false;
    };
    if (found == decoded->threads.end()) {
      std::printf("thread %u was not decoded\n", each);
      ++wrong;
      continue;
    }
    bool good = true;
    for (const PtSpan& span : found->second.spans) {
      for (const PtBlock& block : span.blocks) {
        good = good && expect(block.begin, "block from");
        at += block.instructions - 1;
        // Instructions that repeat are stepped once for each time.
        while (good && at < executed.size() && executed[at] != block.last() && executed[at] < block.last() &&
               executed[at] >= block.begin)
          ++at;
        good = good && expect(block.last(), "block to");
        while (good && at + 1 < executed.size() && executed[at + 1] == block.last() &&
               block.end == PtBlock::End::other)
          ++at;
        ++at;
      }
    }
    if (good && at != executed.size()) {
      std::printf("thread %u: decoded %zu of %zu instructions\n", each, at, executed.size());
      ++wrong;
    }
  }
  std::printf("%s\n", wrong == 0 ? "as executed" : "NOT as executed");
  return wrong == 0 ? 0 : 1;
}

// Trace data is changed mostly: what comes before it is perf_fuzz's.
int fuzz_command(const char* path, uint64_t inputs, uint64_t seed) {
  const Result<std::string> bytes = read_file(path);
  if (!bytes) return fail(bytes.error());
  const Result<PerfFile> whole = parse_perf_file(*bytes, path);
  if (!whole) return fail(whole.error());
  uint64_t refused = 0, with_gaps = 0, without = 0, overflows = 0;
  for (uint64_t i = 0; i < inputs; ++i) {
    std::mt19937_64 random(seed * 1'000'000'007 + i);
    std::string changed = *bytes;
    for (uint64_t changes = 1 + random() % 8; changes != 0 && !whole->traces.empty(); --changes) {
      const PerfTraceData& data = whole->traces[random() % whole->traces.size()];
      if (data.bytes.empty() || data.offset + data.bytes.size() > changed.size()) continue;
      const size_t at = data.offset + random() % data.bytes.size();
      switch (random() % 4) {
        case 0:
          changed[at] = static_cast<char>(changed[at] ^ 1 << random() % 8);
          break;
        case 1:
          changed[at] = static_cast<char>(random());
          break;
        case 2:  // an overflow packet
          changed.replace(at, std::min<size_t>(2, changed.size() - at), "\x02\xf3",
                          std::min<size_t>(2, changed.size() - at));
          ++overflows;
          break;
        case 3:
          if (random() % 8 == 0)
            changed.resize(at);
          else
            for (size_t k = at; k < changed.size() && k < at + random() % 64; ++k)
              changed[k] = static_cast<char>(random());
          break;
      }
    }
    const Result<PerfFile> file = parse_perf_file(std::move(changed), "input");
    const Result<PtDecoded> decoded =
        file ? decode_trace(*file, traced_process(*file).value_or(0)) : Result<PtDecoded>(file.error());
    if (!decoded)
      ++refused;
    else
      ++(decoded->gaps.empty() ? without : with_gaps);
  }
  std::printf("%lu decoded with gaps, %lu without, %lu refused, %lu overflow packets\n", with_gaps, without,
              refused, overflows);
  return 0;
}

int gaps_command(const char* path) {
  const Result<PtDecoded> decoded = decode(path);
  if (!decoded) return fail(decoded.error());
  for (const PtGap& gap : decoded->gaps)
    std::printf("core %u, %lu to %lu: %s\n", gap.core, gap.begin_tsc, gap.end_tsc, gap.why.c_str());
  return 0;
}

int speed_command(const char* path, uint64_t times) {
  const Result<PerfFile> file = read_perf_file(path);
  if (!file) return fail(file.error());
  uint64_t instructions = 0;
  const std::clock_t begin = std::clock();  // processor time: what else the machine does hardly matters
  for (uint64_t i = 0; i < times; ++i) {
    const Result<PtDecoded> decoded = decode_trace(*file, traced_process(*file).value_or(0));
    if (!decoded) return fail(decoded.error());
    instructions += decoded->instructions;
  }
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%lu instructions in %.2f s: %.0f million per second\n", instructions, seconds,
              static_cast<double>(instructions) / seconds / 1e6);
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "emulate") == 0) return heddle::emulate_command(argc - 2, argv + 2);
  if (argc == 3 && std::strcmp(argv[1], "spans") == 0) return heddle::spans_command(argv[2]);
  if (argc == 3 && std::strcmp(argv[1], "branches") == 0) return heddle::branches_command(argv[2]);
  if (argc == 4 && std::strcmp(argv[1], "check") == 0) return heddle::check_command(argv[2], argv[3]);
  if (argc >= 4 && std::strcmp(argv[1], "fuzz") == 0)
    return heddle::fuzz_command(argv[2], std::strtoull(argv[3], nullptr, 0),
                                argc > 4 ? std::strtoull(argv[4], nullptr, 0) : 1);
  if (argc == 3 && std::strcmp(argv[1], "gaps") == 0) return heddle::gaps_command(argv[2]);
  if (argc == 4 && std::strcmp(argv[1], "speed") == 0)
    return heddle::speed_command(argv[2], std::strtoull(argv[3], nullptr, 0));
  std::fprintf(stderr, "usage: pt_tool emulate [--cores N] [--seed N] [--all] [--log FILE] OUT APP ARGS...\n");
  return 2;
}
