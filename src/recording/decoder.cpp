#include "recording/decoder.h"

#include <fmt/core.h>

#include <algorithm>

#include "program/source_place.h"
#include "program/stored_bytes.h"

namespace heddle {
namespace {

// Blocks without anything read. A loop whose rounds are computed may be as long as this.
constexpr uint64_t kMostSilentBlocks = 1'000'000'000;
// The same without a branch that was computed: then it is a loop without an end, or would be but for a crash.
constexpr uint64_t kMostStraightBlocks = 10'000'000;
// Blocks behind the last thing that the log says of a thread which had not ended.
constexpr uint64_t kMostBlocksAhead = 1'000'000;
// Frames of 16 bytes on a stack of 32 megabytes.
constexpr size_t kMostActivations = size_t{1} << 21;
constexpr uint64_t kMostRounds = uint64_t{1} << 40;

constexpr unsigned kLabelBits = 32, kEndBits = 8;  // of policy clap
constexpr uint64_t kEndMark = 0xff;

constexpr unsigned kReturnedFlags =
    HEDDLE_RECORD_returned_errno | HEDDLE_RECORD_returned_stamp | HEDDLE_RECORD_returned_zero;

}  // namespace

ThreadDecoder::ThreadDecoder(const Program& program, const RecordPlan& plan, const LogFile& log,
                             PathVisitor& visitor, std::vector<SignalEntry> interruptions)
    : program_(program),
      plan_(plan),
      log_(log),
      visitor_(visitor),
      evaluator_(plan.known()),
      path_(log.path()),
      entries_(log.data(), log.has_clock(), log.first_stamp()),
      codes_(program.function_count()),
      interruptions_(std::move(interruptions)) {
  await_interruption();
}

bool ThreadDecoder::step() {
  if (ended_) return false;
  if (end_.blocks == 0 && stack_.empty() && log_.begins_late()) {
    finish(DecodeEnd::Kind::begins_late, "the beginning of the log was not kept");
  } else if (outside_) {
    await();
  } else {
    run_piece();
  }
  return !ended_;
}

const DecodeEnd& ThreadDecoder::run() {
  while (step()) {
  }
  return end_;
}

const FunctionCode& ThreadDecoder::code_of(const llvm::Function& function) {
  std::unique_ptr<FunctionCode>& code = codes_[program_.id_of(function).index()];
  if (code == nullptr) code = std::make_unique<FunctionCode>(program_, plan_, function);
  return *code;
}

// ---- activations

void ThreadDecoder::push(const llvm::Function& function, EnteredBy by, const llvm::CallBase* call,
                         std::span<const uint64_t> arguments) {
  if (stack_.size() == kMostActivations) return give_up(function);
  const FunctionCode& code = code_of(function);
  if (plan_.policy() == RecordPolicy::clap) {
    // It is written behind the addresses of stack objects: the thread may have left between.
    const std::optional<uint64_t> label = path_.read(kLabelBits);
    if (!label && entries_.data().at_end()) return path_ended();
    if (label && *label != uint64_t{code.id().value} + 1)
      return damaged_path(fmt::format("label {} instead of that of {}", *label, readable_name(function)));
    consumed();
  }
  evaluator_.enter(function, call);
  if (!arguments.empty()) set_arguments(function, arguments);
  visitor_.enter_function(code.id(), by);
  if (by == EnteredBy::outside || by == EnteredBy::callback) visitor_.arguments(code.id(), arguments);
  Activation& top = stack_.emplace_back(Activation{.code = &code, .entered_by = by});
  outside_ = false;
  if (enter_piece(top, 0)) start_segment(top);
}

void ThreadDecoder::set_arguments(const llvm::Function& function, std::span<const uint64_t> told) {
  size_t next = 0;
  for (const llvm::Argument& argument : function.args())
    if (stored_bytes(*argument.getType()) != 0) evaluator_.set(argument, told[next++]);
}

void ThreadDecoder::pop(LeftBy by, const llvm::ReturnInst* returned) {
  visitor_.leave_function(stack_.back().code->id(), by);
  evaluator_.leave(returned);
  stack_.pop_back();
  while (!first_returns_.empty() && first_returns_.back().depth > stack_.size()) first_returns_.pop_back();
}

// Activations above the first `depth` are gone.
void ThreadDecoder::unwind_to(size_t depth) {
  while (stack_.size() > depth) pop(LeftBy::unwound, nullptr);
}

// The call that the activation on top waits at has come back.
void ThreadDecoder::resume_caller() {
  Activation& top = stack_.back();
  const Action& action = *top.waits_at;
  // That of a call which may return twice says so in the log.
  if (action.plan->returns_twice && !top.outside) {
    top.outside = true;
    outside_ = true;
    return;
  }
  top.waits_at = nullptr;
  top.outside = false;
  outside_ = false;
}

// ---- in the code of the program

void ThreadDecoder::run_piece() {
  Activation& top = stack_.back();
  const uint32_t last = top.code->piece(top.piece).last_action;
  while (top.next_action < last)
    if (!perform(top, top.code->action(top.next_action++))) return;
  end_piece(top);
}

// False when the piece does not go on now.
bool ThreadDecoder::perform(Activation& top, const Action& action) {
  switch (action.kind) {
    case Action::Kind::compute:
      evaluator_.execute(*action.instruction);
      return true;
    case Action::Kind::value: {
      const std::optional<uint64_t> value = entries_.data().number(action.bytes);
      if (!value) {
        data_ended();
        return false;
      }
      consumed();
      visitor_.value(*action.instruction, *value);
      evaluator_.set(*action.instruction, *value);
      return true;
    }
    case Action::Kind::no_return:
      outside_ = true;
      return false;
    default:
      break;
  }

  if (action.cuts) {  // the number is written before such a call
    if (top.number != Number::written) {
      path_ended();
      return false;
    }
    if (top.code->piece(top.piece).edge_writes) consumed();
  }
  if (action.last_of_all && plan_.policy() == RecordPolicy::clap) {
    if (const std::optional<uint64_t> mark = path_.read(kEndBits); !mark || *mark != kEndMark) {
      mark ? damaged_path("no mark where a function ends") : path_ended();
      return false;
    }
    consumed();
  }
  top.waits_at = &action;
  if (action.kind == Action::Kind::inside) {
    push(*action.plan->info.callee, EnteredBy::call, &action.call());
  } else if (action.kind == Action::Kind::pointer) {
    perform_pointer_call(top, action);
  } else {
    perform_loud_call(top, action);
  }
  return false;
}

void ThreadDecoder::perform_pointer_call(Activation& top, const Action& action) {
  const std::optional<uint8_t> tag = entries_.tag();
  if (!tag) return data_ended();
  if (*tag == HEDDLE_RECORD_enter) return entered(false);
  if (*tag != HEDDLE_RECORD_foreign) return unexpected("no target of a call through a pointer");
  const std::optional<uint64_t> target = entries_.foreign();
  if (!target) return data_ended();
  consumed();
  visitor_.calls_outside(action.call(), *target);
  // Behind a call that must be the last nothing can be written.
  if (action.last_of_all) return resume_caller();
  top.outside = true;
  outside_ = true;
}

void ThreadDecoder::perform_loud_call(Activation& top, const Action& action) {
  top.outside = true;
  outside_ = true;
  if (action.plan->sync == HEDDLE_SYNC_none) return;
  const std::optional<uint8_t> tag = entries_.tag();
  if (!tag) return data_ended();
  if (*tag < HEDDLE_RECORD_sync) return unexpected("no synchronisation call, where one is");
  const std::optional<SyncEntry> entry = entries_.sync(static_cast<uint8_t>(*tag - HEDDLE_RECORD_sync));
  if (!entry) return data_ended();
  if (entry->kind != action.plan->sync)
    return unexpected("another synchronisation call than the program makes");
  consumed();
  visitor_.synchronises(action.call(), *entry);
}

void ThreadDecoder::end_piece(Activation& top) {
  if (top.loop != nullptr) return go_round(top);
  if (top.number != Number::written) return go_on_unwritten(top);
  std::optional<Segments::Step> step = top.code->segments().step(top.piece, top.rest);
  if (step && step->kind == Segments::Step::Kind::ask) step = find_successor(top);
  if (ended_ || outside_) return;
  if (!step) return damaged_path("a number that no path has");
  if (step->kind == Segments::Step::Kind::ends) return end_function(top);
  cross(top, *step);
}

const llvm::BasicBlock* ThreadDecoder::known_successor(const Activation& top) {
  const llvm::BasicBlock* successor = evaluator_.successor(*top.code->piece(top.piece).block);
  if (successor == nullptr && !(all_read() && interrupted()))
    finish(DecodeEnd::Kind::trouble, evaluator_.trouble());
  last_choice_ = end_.blocks;
  return successor;
}

// Where the number does not say it. None also when the decoder has ended.
std::optional<Segments::Step> ThreadDecoder::find_successor(const Activation& top) {
  const Segments& segments = top.code->segments();
  const ControlFlow& flow = top.code->plan().flow;
  if (segments.known(top.piece)) {
    const llvm::BasicBlock* successor = known_successor(top);
    if (successor == nullptr) return std::nullopt;
    return segments.step_to(top.piece, flow.number(successor), top.rest);
  }
  if (const auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(top.code->piece(top.piece).block->getTerminator()))
    return segments.step_to(top.piece, flow.number(invoke->getNormalDest()), top.rest);
  const std::optional<uint64_t> index = path_.read(segments.announce_bits());
  if (!index) {
    path_ended();
    return std::nullopt;
  }
  const std::optional<Piece> piece = segments.announced(static_cast<uint32_t>(*index));
  if (!piece) return std::nullopt;
  announced_ = *piece;
  consumed();
  return segments.step_to(top.piece, segments.block_of(*piece), top.rest);
}

void ThreadDecoder::cross(Activation& top, const Segments::Step& step) {
  if (top.code->piece(top.piece).edge_writes) {
    const Segments::Edge* edge = top.code->segments().find_edge(top.piece, step.to);
    if (edge != nullptr && edge->bits != 0) consumed();
  }
  top.rest = step.rest;
  if (enter_piece(top, step.to) && step.kind == Segments::Step::Kind::cut) start_segment(top);
}

// False if the thread has not come so far, or something is wrong.
bool ThreadDecoder::enter_piece(Activation& top, Piece p) {
  const FunctionCode::PieceCode& piece = top.code->piece(p);
  if (piece.announced && announced_ != p) {
    const std::optional<uint64_t> index = path_.read(top.code->segments().announce_bits());
    if (!index) {
      path_ended();
      return false;
    }
    if (top.code->segments().announced(static_cast<uint32_t>(*index)) != p) {
      damaged_path("another block than the one that is entered");
      return false;
    }
    consumed();
  }
  announced_ = UINT32_MAX;
  if (piece.starts_block) {
    ++end_.blocks;
    if (end_.blocks - last_read_ > kMostBlocksAhead && lost_in_silence()) {
      give_up(top.code->function());
      return false;
    }
    visitor_.block(piece.id);
    if (piece.has_phis) evaluator_.enter_block(*piece.block, top.code->piece(top.piece).block);
  }
  top.piece = p;
  top.next_action = piece.first_action;
  return true;
}

void ThreadDecoder::start_segment(Activation& top) {
  const Segments& segments = top.code->segments();
  if (top.code->piece(top.piece).loop != nullptr) return start_loop(top);
  top.number = Number::written;
  top.rest = 0;
  const unsigned bits = segments.bits(top.piece);
  if (bits == 0) return;
  const std::optional<uint64_t> number = path_.read(bits);
  if (!number) return read_nothing(top);
  last_read_ = last_choice_ = end_.blocks;
  top.rest = *number;
}

void ThreadDecoder::start_loop(Activation& top) {
  const Segments& segments = top.code->segments();
  top.loop = top.code->piece(top.piece).loop;
  top.number = Number::written;
  const PathBits::Zeros rounds = path_.read_zeros();
  if (rounds.count > kMostRounds) return damaged_path("more rounds of a loop than there is time for");
  const std::optional<uint64_t> index = rounds.ended ? path_.read(segments.exit_bits(*top.loop)) : std::nullopt;
  top.rounds = rounds.count;
  if (!index) return read_nothing(top);
  const std::optional<Segments::LoopExit> exit = segments.loop_exit(*top.loop, static_cast<uint32_t>(*index));
  if (!exit) return damaged_path("an exit that the loop does not have");
  last_read_ = last_choice_ = end_.blocks;
  top.exit = *exit;
  tell_plain_rounds(top);
}

// At the header: who started in the middle of a loop tells the first round block by block.
void ThreadDecoder::tell_plain_rounds(Activation& top) {
  const int32_t index = top.code->piece(top.piece).plain_round;
  if (index < 0 || top.rounds == 0) return;
  const std::vector<BlockId>& round = top.code->plain_rounds()[static_cast<size_t>(index)];
  visitor_.repeated_blocks(round, top.rounds);
  end_.blocks += top.rounds * round.size();
  last_read_ = last_choice_ = end_.blocks;
  top.rounds = 0;
}

// The log does not hold the number of the segment that begins here, or how the thread left the loop; the rounds
// that it has made so far are there.
void ThreadDecoder::read_nothing(Activation& top) {
  if (path_.malformed()) return damaged_path("what nobody writes");
  if (!pending_) visitor_.pending();
  pending_ = true;
  const heddle_record_log& head = log_.head();
  const SignalEntry* signal = interruption();
  const bool looked_at = signal != nullptr || (head.looked_at != 0 && !log_.path_stream().broken);
  const uint64_t path = signal != nullptr ? signal->pending_path : head.pending_path;
  top.number = Number::missing;
  top.rest = 0;
  top.added_is_known = looked_at && top.loop == nullptr && top.code->segments().clears_path(top.piece);
  if (top.loop != nullptr) {
    if (top.rounds != 0) last_read_ = last_choice_ = end_.blocks;
    tell_plain_rounds(top);
  } else if (looked_at && path != 0 && (signal != nullptr || top.code->segments().clears_path(top.piece))) {
    top.number = Number::begun;
    top.rest = path;
  }
}

// The log goes on, so the thread does: by an edge that writes nothing. If several do, then where nothing is
// added, provided that somebody looked at what the thread had added; that is used up here.
std::optional<Segments::Step> ThreadDecoder::only_silent_way(const Activation& top) const {
  const Segments& segments = top.code->segments();
  std::optional<Segments::Step> way;
  unsigned ways = 0;
  for (const uint32_t successor : top.code->plan().flow.successors(segments.block_of(top.piece))) {
    const Piece to = segments.first_piece(successor);
    const Segments::Edge* edge = segments.find_edge(top.piece, to);
    if (edge == nullptr) return std::nullopt;
    if (edge->cut || edge->bits != 0) continue;  // by the end of a segment its number is written
    way = {.kind = Segments::Step::Kind::ordinary, .to = to};
    ++ways;
  }
  if (ways == 1) return way;
  return ways > 1 && top.added_is_known ? segments.step(top.piece, 0) : std::nullopt;
}

// The number is not in the log, so the thread has not gone over the edge that writes it.
void ThreadDecoder::go_on_unwritten(Activation& top) {
  const Segments& segments = top.code->segments();
  std::optional<Segments::Step> step;
  if (top.rest == 0) top.number = Number::missing;
  if (segments.known(top.piece)) {
    const llvm::BasicBlock* successor = known_successor(top);
    if (successor == nullptr) return;
    step = segments.step_to(top.piece, top.code->plan().flow.number(successor), top.rest);
  } else if (top.number == Number::begun) {
    step = segments.step(top.piece, top.rest);
    if (!step && interruption() != nullptr) step = segments.step(top.piece, 0);  // it is of a segment before
  } else {
    const auto& successors = top.code->plan().flow.successors(segments.block_of(top.piece));
    if (successors.size() == 1) {
      step = segments.step_to(top.piece, successors.front(), 0);
    } else if (interruption() != nullptr) {
      step = segments.step(top.piece, 0);  // if it went on, then where nothing is added
    } else if (!entries_.data().at_end()) {
      step = only_silent_way(top);
    }
  }
  if (!step || step->kind != Segments::Step::Kind::ordinary) return path_ended();
  if (segments.find_edge(top.piece, step->to)->bits != 0) return path_ended();
  cross(top, *step);
}

void ThreadDecoder::go_round(Activation& top) {
  const Segments& segments = top.code->segments();
  const bool written = top.number == Number::written;
  if (written && top.rounds == 0 && top.piece == top.exit.from) {
    consumed();
    top.loop = nullptr;
    if (enter_piece(top, top.exit.to)) start_segment(top);
    return;
  }
  std::optional<Piece> next = segments.inside(*top.loop, top.piece);
  if (!next) {
    const llvm::BasicBlock* successor = known_successor(top);
    if (successor == nullptr) return;
    next = segments.first_piece(top.code->plan().flow.number(successor));
    if (segments.find_edge(top.piece, *next)->cut) {
      if (!written) return path_ended();
      return damaged_path("a loop ends otherwise than it can");
    }
  }
  if (*next == top.loop->header) {
    if (top.rounds == 0) return written ? damaged_path("a loop goes on behind its last round") : path_ended();
    --top.rounds;
    last_choice_ = end_.blocks;
    if (!written) consumed();
  }
  if (enter_piece(top, *next)) tell_plain_rounds(top);
}

void ThreadDecoder::end_function(Activation& top) {
  const llvm::Instruction& terminator = *top.code->piece(top.piece).block->getTerminator();
  if (llvm::isa<llvm::UnreachableInst>(terminator)) {
    outside_ = true;
    return;
  }
  if (left_before_return()) {
    interrupted();
    return;
  }
  if (plan_.policy() == RecordPolicy::clap && terminator.getParent()->getTerminatingMustTailCall() == nullptr) {
    const std::optional<uint64_t> mark = path_.read(kEndBits);
    if (!mark) return path_ended();
    if (*mark != kEndMark) return damaged_path("no mark where a function ends");
    consumed();
  }
  const auto* returns = llvm::dyn_cast<llvm::ReturnInst>(&terminator);
  const EnteredBy by = top.entered_by;
  pop(returns != nullptr ? LeftBy::returned : LeftBy::unwound, returns);
  if (returns != nullptr && (by == EnteredBy::call || by == EnteredBy::pointer)) return resume_caller();
  outside_ = true;
}

// ---- outside

void ThreadDecoder::await() {
  const uint64_t position = entries_.data().position();
  const std::optional<uint8_t> tag = entries_.tag();
  if (!tag) return data_ended();
  switch (*tag) {
    case HEDDLE_RECORD_enter_from_outside:
      return entered(true);
    case HEDDLE_RECORD_landed:
      return landed();
    case HEDDLE_RECORD_twice:
      return returned_twice(position);
    case HEDDLE_RECORD_child: {
      const std::optional<uint64_t> number = entries_.child();
      if (!number) return data_ended();
      consumed();
      return visitor_.child(*number);
    }
    case HEDDLE_RECORD_signal: {
      const std::optional<SignalEntry> signal = entries_.signal();
      if (!signal) return data_ended();
      unwind_to(0);  // a handler before that did not come back
      consumed();
      return visitor_.signal(*signal);
    }
    case HEDDLE_RECORD_signal_end:
      consumed();
      unwind_to(0);
      return visitor_.signal_end();
    default:
      if ((*tag & ~kReturnedFlags) == HEDDLE_RECORD_returned) return returned(*tag & kReturnedFlags);
      return unexpected(fmt::format("an entry {} that cannot stand here", *tag));
  }
}

void ThreadDecoder::entered(bool from_outside) {
  const std::optional<uint32_t> id = entries_.enter();
  if (!id) return data_ended();
  if (*id >= program_.function_count()) return unexpected("a function that the program does not have");
  const llvm::Function& function = program_.function(FunctionId(*id));
  const FunctionPlan* plan = plan_.function(function);
  if (plan == nullptr || !plan->entered_from_outside)
    return unexpected(fmt::format("{}, which cannot be entered from outside", readable_name(function)));
  const bool tells = from_outside || plan->tells_arguments;
  std::vector<uint64_t> arguments;
  for (const llvm::Argument& argument : function.args()) {
    const unsigned bytes = tells ? stored_bytes(*argument.getType()) : 0;
    if (bytes == 0) continue;
    const std::optional<uint64_t> value = entries_.data().number(bytes);
    if (!value) return data_ended();
    arguments.push_back(*value);
  }
  consumed();
  push(function,
       !from_outside    ? EnteredBy::pointer
       : stack_.empty() ? EnteredBy::outside
                        : EnteredBy::callback,
       nullptr, arguments);
}

bool ThreadDecoder::waits_at_invoke(const Activation& activation, uint32_t id) const {
  return activation.waits_at != nullptr && llvm::isa<llvm::InvokeInst>(activation.waits_at->instruction) &&
         program_.id_of(*activation.waits_at->instruction).value == id;
}

void ThreadDecoder::landed() {
  const std::optional<uint32_t> id = entries_.landed();
  if (!id) return data_ended();
  size_t depth = stack_.size();
  while (depth != 0 && !waits_at_invoke(stack_[depth - 1], *id)) --depth;
  if (depth == 0) return unexpected("a landing of a call that nobody has made");
  consumed();
  unwind_to(depth);
  Activation& top = stack_.back();
  const auto& invoke = *llvm::cast<llvm::InvokeInst>(top.waits_at->instruction);
  visitor_.landed(invoke);
  top.waits_at = nullptr;
  top.outside = false;
  outside_ = false;
  const uint32_t target = top.code->plan().flow.number(invoke.getUnwindDest());
  const std::optional<Segments::Step> step = top.code->segments().step_to(top.piece, target, top.rest);
  if (!step) return damaged_path("a number that no path has");
  cross(top, *step);
}

void ThreadDecoder::returned(unsigned flags) {
  size_t depth = stack_.size();
  while (depth != 0 && !(stack_[depth - 1].outside && stack_[depth - 1].waits_at->can_return)) --depth;
  if (depth == 0) return unexpected("a return of a call that nobody has made");
  const Action& action = *stack_[depth - 1].waits_at;
  if (action.plan->returns_twice) return unexpected("a simple return of a call that may return twice");
  const std::optional<ReturnedEntry> entry = entries_.returned(flags, action.plan->result_bytes);
  if (!entry) return data_ended();
  consumed();
  unwind_to(depth);
  visitor_.returned(action.call(), *entry);
  if (entry->result) evaluator_.set(action.call(), *entry->result);
  if (!read_ranges(action)) return;
  resume_caller();
}

bool ThreadDecoder::read_ranges(const Action& action) {
  size_t count = 0;
  const llvm::CallBase& call = action.call();
  for (const WrittenRange& range : action.plan->ranges)
    count += range.effect->place.argument == Place::kVariadic
                 ? call.arg_size() - call.getFunctionType()->getNumParams()
                 : 1;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<uint8_t> tag = entries_.tag();
    if (tag && *tag != HEDDLE_RECORD_bytes && *tag != HEDDLE_RECORD_file_bytes) {
      unexpected("no bytes that the call wrote");
      return false;
    }
    const std::optional<WrittenBytes> bytes = tag ? entries_.written(*tag) : std::nullopt;
    if (!bytes) {
      data_ended();
      return false;
    }
    visitor_.written(call, i, *bytes);
  }
  consumed();
  return true;
}

void ThreadDecoder::returned_twice(uint64_t position) {
  const std::optional<TwiceEntry> entry = entries_.twice();
  if (!entry) return data_ended();
  if (entry->returns == 0) {
    first_return(position, *entry);
  } else {
    later_return(position, *entry);
  }
}

void ThreadDecoder::first_return(uint64_t position, const TwiceEntry& entry) {
  if (stack_.empty()) return unexpected("a return of a call that nobody has made");
  Activation& top = stack_.back();
  if (!top.outside || !top.waits_at->plan->returns_twice ||
      program_.id_of(*top.waits_at->instruction).value != entry.call)
    return unexpected("a return of a call that nobody has made");
  consumed();
  // Of one call the last first return is the one that can be jumped to.
  std::erase_if(first_returns_, [&](const FirstReturn& old) {
    return old.depth == stack_.size() && old.action == top.waits_at;
  });
  first_returns_.push_back({stack_.size(), top.waits_at, top.piece, position});
  visitor_.returned_twice(top.waits_at->call(), entry);
  evaluator_.set(*top.waits_at->instruction, entry.result);
  resume_caller();
}

void ThreadDecoder::later_return(uint64_t position, const TwiceEntry& entry) {
  const auto found =
      std::find_if(first_returns_.rbegin(), first_returns_.rend(), [&](const FirstReturn& first) {
        return entry.distance <= position && first.position == position - entry.distance &&
               program_.id_of(*first.action->instruction).value == entry.call;
      });
  if (found == first_returns_.rend()) return unexpected("a jump to a place that nobody has marked");
  const FirstReturn first = *found;
  consumed();
  unwind_to(first.depth);
  Activation& top = stack_.back();
  top.piece = first.piece;
  top.next_action = top.code->piece(first.piece).last_action;
  top.loop = nullptr;
  top.number = Number::written;
  top.rest = 0;
  top.waits_at = nullptr;
  top.outside = false;
  outside_ = false;
  visitor_.returned_twice(first.action->call(), entry);
  evaluator_.set(*first.action->instruction, entry.result);
}

// ---- interruptions

// The next handler that was left by a jump.
const SignalEntry* ThreadDecoder::interruption() const {
  return next_interruption_ < interruptions_.size() ? &interruptions_[next_interruption_] : nullptr;
}

void ThreadDecoder::await_interruption() {
  const SignalEntry* signal = interruption();
  if (signal == nullptr) return;
  path_.pause_at(signal->path_words, signal->word);
  entries_.data().pause_at(signal->data_bytes);
}

// The thread goes no further: because it was interrupted here? Then the next entry says where it came back.
bool ThreadDecoder::interrupted() {
  if (interruption() == nullptr) return false;
  if (!all_read()) {
    unexpected("a handler interrupted the thread in another place than this");
    return true;
  }
  visitor_.control_lost(end_.certain_blocks);
  path_.resume();
  entries_.resume();
  ++next_interruption_;
  found_again_.reset();
  await_interruption();
  last_read_ = last_choice_ = end_.blocks;
  announced_ = UINT32_MAX;
  pending_ = false;
  outside_ = true;
  return true;
}

// The activation on top has come to its end. But everything was read, and control was found again where it, or
// who waits for it, must still be there: so the thread was interrupted before.
bool ThreadDecoder::left_before_return() {
  if (interruption() == nullptr || !all_read()) return false;
  if (!found_again_) {
    found_again_.emplace();
    EntryReader ahead = entries_;
    ahead.resume();
    const uint64_t position = ahead.data().position();
    const std::optional<uint8_t> tag = ahead.tag();
    if (tag == HEDDLE_RECORD_landed) found_again_->invoke = ahead.landed();
    if (tag == HEDDLE_RECORD_twice)
      if (const std::optional<TwiceEntry> entry = ahead.twice(); entry && entry->returns != 0)
        found_again_->first_return = position - std::min(position, entry->distance);
  }
  if (found_again_->invoke && stack_.size() > 1)
    return waits_at_invoke(stack_[stack_.size() - 2], *found_again_->invoke);
  return found_again_->first_return && !first_returns_.empty() &&
         first_returns_.back().depth == stack_.size() &&
         std::ranges::any_of(first_returns_, [&](const FirstReturn& first) {
           return first.depth == stack_.size() && first.position == *found_again_->first_return;
         });
}

// ---- ends

// Up to the next interruption, if there is one.
bool ThreadDecoder::all_read() {
  return entries_.data().at_end() && path_.at_end();
}

// Many blocks and nothing read: is it enough?
bool ThreadDecoder::lost_in_silence() {
  if (end_.blocks - last_choice_ > kMostStraightBlocks || end_.blocks - last_read_ > kMostSilentBlocks)
    return true;
  const bool came_to_its_end =
      log_.head().end_tsc != 0 && log_.head().stop == HEDDLE_RECORD_not_stopped && interruption() == nullptr;
  return !came_to_its_end && all_read();
}

// Something of the log belongs to the present place: so far the thread came.
void ThreadDecoder::consumed() {
  end_.certain_blocks = last_read_ = last_choice_ = end_.blocks;
}

void ThreadDecoder::data_ended() {
  const DataBytes& data = entries_.data();
  if (data.malformed() || !data.at_end()) return unexpected("what nobody writes");
  if (interrupted()) return;
  if (log_.data_stream().broken)
    return finish(DecodeEnd::Kind::damaged,
                  Damage{log_.file(), data.file_offset(), "the data stream is cut off here"}.text());
  if (!outside_) return finish(DecodeEnd::Kind::stopped);
  if (!path_.at_end() && log_.head().stop == HEDDLE_RECORD_not_stopped)
    return damaged_path("more than the thread ran");
  // A thread that came to its end had no more to write.
  if (log_.head().end_tsc != 0 && log_.head().stop == HEDDLE_RECORD_not_stopped)
    end_.certain_blocks = end_.blocks;
  if (stack_.empty()) return finish(DecodeEnd::Kind::complete);
  finish(stack_.back().outside ? DecodeEnd::Kind::in_call : DecodeEnd::Kind::stopped);
}

void ThreadDecoder::path_ended() {
  if (path_.malformed()) return damaged_path("what nobody writes");
  if (interrupted()) return;
  if (log_.path_stream().broken) return damaged_path("the path stream is cut off here");
  // A thread that was killed may have lost the word that it was completing, one that was cancelled had not yet
  // written the number of the segment that it was in.
  if (!entries_.data().at_end() && log_.head().end_tsc != 0 && log_.head().looked_at == 0 &&
      log_.head().stop == HEDDLE_RECORD_not_stopped)
    return unexpected("more than the thread ran");
  finish(DecodeEnd::Kind::stopped);
}

// It goes on and on without anything being read. A thread whose log ends before may well be here.
void ThreadDecoder::give_up(const llvm::Function& function) {
  const bool nothing_left = all_read();
  if (nothing_left && interrupted()) return;
  finish(nothing_left ? DecodeEnd::Kind::stopped : DecodeEnd::Kind::trouble,
         fmt::format("{} goes on for ever without writing anything", readable_name(function)));
}

void ThreadDecoder::unexpected(std::string_view what) {
  finish(DecodeEnd::Kind::damaged,
         Damage{log_.file(), entries_.data().file_offset(), fmt::format("data stream: {}", what)}.text());
}

void ThreadDecoder::damaged_path(std::string_view what) {
  finish(DecodeEnd::Kind::damaged,
         Damage{log_.file(), path_.file_offset(), fmt::format("path stream: {}", what)}.text());
}

void ThreadDecoder::finish(DecodeEnd::Kind kind, std::string text) {
  ended_ = true;
  end_.kind = kind;
  end_.text = std::move(text);
  end_.data_read = entries_.position();
  visitor_.end(end_);
}

}  // namespace heddle
