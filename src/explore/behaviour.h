// What the threads of a program do, learned from controlled runs: for each thread a tree.
//
// What a thread does next depends only on what it has done and on what came in: the values that its reads
// returned, the results of its synchronisation. So a node of a thread's tree stands for a history of inputs; it
// holds the operation that follows, and an edge for each input that was seen there. Runs that agree with what
// is known add nothing; whoever explores needs a run only where the tree ends (GenMC keeps such a cache for its
// interpreter; here it replaces most executions).
//
// Memory that only one thread has used so far is *private*: its contents follow from that thread's history,
// also where they were written by code that tells nothing. It is not followed at all, until another thread
// comes.
//
// A program whose thread does two different things after the same inputs depends on something that is not seen
// (time, memory that is not instrumented, a library): OperationalMachine::follow() says so, and nothing that
// follows from the tree is to be believed.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "abi/control.h"
#include "abi/event_part.h"
#include "abi/sync_kind.h"
#include "base/hash128.h"
#include "schedule/thread_name.h"

namespace heddle {

// Rounds of a loop that reads the same each time, until it is looked at more closely; and how many more it must
// go round then, alone, to count as waiting for others. (libstdc++ spins 16 times before it waits.)
inline constexpr uint32_t kRoundsOfSpinning = 3, kRoundsOfWaiting = 64;

using NodeId = uint32_t;
inline constexpr NodeId kUnknownNode = UINT32_MAX;  // no run has been there

struct Operation {
  uint8_t kind = 0;  // heddle_event_kind
  uint8_t order = 0;
  bool drained = false;  // all stores of the thread became visible before, behind its last operation
  uint32_t site = HEDDLE_NO_SITE;
  uint64_t address = 0, size = 0;
  uint64_t second = 0;  // as in heddle_event; of thread_create and joins: the thread (Behaviour's number)

  // It may move more than a word: library calls, wide and unaligned accesses.
  bool is_large() const {
    return kind == HEDDLE_EVENT_call || is_channel() || (!is_sync() && address % 8 + size > 8);
  }
  // On a pipe of the program's own: runtime/control/channels.c.
  bool is_channel() const {
    return is_sync() && sync() == HEDDLE_SYNC_file_wait && size >= HEDDLE_PART_channel_make;
  }

  bool is_sync() const { return kind >= HEDDLE_EVENT_sync; }
  heddle_sync_kind sync() const { return static_cast<heddle_sync_kind>(kind - HEDDLE_EVENT_sync); }
  bool joins() const {
    return is_sync() && (sync() == HEDDLE_SYNC_thread_join || sync() == HEDDLE_SYNC_thread_tryjoin ||
                         sync() == HEDDLE_SYNC_thread_timedjoin);
  }
  friend bool operator==(const Operation&, const Operation&) = default;
};

// What threads use together: a piece of memory, a synchronisation object, a thread's life.
struct Use {
  uint64_t resource = 0;
  bool writes = false;
  friend auto operator<=>(const Use&, const Use&) = default;
};

// Inside a word.
struct Piece {
  uint64_t address = 0, size = 0, value = 0;
  friend bool operator==(const Piece&, const Piece&) = default;
};

// Resources. Memory comes first.
inline constexpr uint64_t kFirstOfObjects = uint64_t{1} << 62;
inline constexpr uint64_t kBytesOfResource = 4;  // neighbours of that size are not in each other's way
constexpr uint64_t resource_of_memory(uint64_t address) {
  return address / kBytesOfResource;
}

class Behaviour {
 public:
  // What came in once, what was done then.
  struct Edge {
    uint64_t input = 0;
    uint64_t output = 0;  // what a write or update stored; of synchronisation its number (heddle_event::value)
    std::vector<Piece> read, written;  // large operations instead: `input` is a hash of what was read
    NodeId to = kUnknownNode;
    // The thread was asked to end before (pthread_cancel): what it does next may depend on that wherever it is,
    // so it comes in with everything.
    bool cancelled = false;
  };
  enum class State : uint8_t {
    unknown,  // a run ended here, and did not tell what comes
    goes_on,  // `operation`
    over,     // the thread has ended
    failed,   // the program fails here
    exits,    // the process ends here, and all is well
  };
  struct Node {
    State state = State::unknown;
    uint32_t thread = 0;
    NodeId parent = kUnknownNode;
    Hash128 history;  // of the way to it: the same in every process
    Operation operation;
    std::vector<Edge> edges;
    std::vector<Use> future;  // of this and all known operations behind it; sorted
    // The last steps are rounds of a loop that changed nothing: how many steps a round has, how many rounds;
    // whether it waits.
    uint32_t round = 0, rounds = 0;
    enum class Waiting : uint8_t { unknown, yes, no } waiting = Waiting::unknown;
  };

  Behaviour();

  // A thread by its name; makes it when it is new. 0 is the main thread.
  uint32_t thread(const ThreadName& name);
  uint32_t thread_count() const { return static_cast<uint32_t>(roots_.size()); }
  const ThreadName& name(uint32_t thread) const { return names_[thread]; }
  NodeId root(uint32_t thread) const { return roots_[thread]; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }

  const Edge* edge(NodeId from, uint64_t input, bool cancelled) const;
  bool was_cancelled(NodeId at) const;  // before the last thing it did
  // False: something else was seen here before.
  bool add_operation(NodeId at, const Operation& operation);
  bool add_state(NodeId at, State state);
  // The node behind; kUnknownNode: something else was done after this input before.
  NodeId add_edge(NodeId from, Edge edge);

  // In a loop that only reads, and has gone round some times: the steps of a round, and what has to come in so
  // that it goes round once more. Empty: in none, or in one that counts.
  using Round = std::vector<std::pair<Operation, uint64_t>>;
  Round last_round(NodeId at) const;
  Round steps_of_round(NodeId at) const;  // of one that counts, too
  // After a run in which the thread went on alone from there: does it go round for ever, as far as is known?
  void note_waiting(NodeId at);
  bool knows_whether_waits(NodeId at) const;  // without such a run
  // A loop that sleeps, or whose waits run out of time, waits.
  static bool has_times(const Round& round);
  void note_waits(NodeId at) { set_waiting(at, Node::Waiting::yes); }
  // A loop that was found to wait somewhere, and that the thread is about to enter or goes round: what has to
  // come in so that it goes round, which was seen once from here. So how often it goes round before the change
  // that it waits for comes is not explored for each history again. Empty: in none.
  const Round& known_wait(NodeId at) const;

  // std::lock takes a lock, tries the others, gives it back and begins anew, without end if others do the same.
  // After two rounds that are the same and leave nothing behind, the thread is where it was before the second
  // of them: an edge leads back. Only for code of the C++ library, where it has std::lock (these sites): loops
  // of one's own might count.
  void set_retries(const std::unordered_set<uint32_t>* sites) { retry_sites_ = sites; }
  bool has_retries() const { return !retries_.empty(); }

  void set_library(const std::unordered_set<uint32_t>* sites) { library_ = sites; }
  bool is_library(uint32_t site) const { return library_ != nullptr && library_->contains(site); }

  // Grows whenever something is learned that choices were made without: `future` of a node that was there
  // before, a failure.
  uint64_t changes() const { return changes_; }
  // What all nodes together have in `future`: with long threads most of the memory.
  uint64_t future_size() const { return future_size_; }
  // All of which something was learned, since this was asked last.
  std::vector<NodeId> take_learned() { return std::exchange(learned_, {}); }

  bool is_private(uint64_t address) const;
  // Many threads use it, and yet what each of them reads follows from its own history (__libc_single_threaded).
  void note_own(uint64_t address) { own_.insert(resource_of_memory(address)); }
  // Width, precision, fill and flags of a stream are set by code of the C++ library's headers (these sites),
  // and used and changed by code of the library that is not seen. Where several threads use one stream, its
  // format is taken to matter to nothing but what is put out: it is as memory of which each thread has its own.
  // Memory that is also used otherwise is not (its addresses had another life): has_mixed_formats().
  void set_formats(const std::unordered_set<uint32_t>* sites) { format_sites_ = sites; }
  bool formats(uint32_t site) const { return format_sites_ != nullptr && format_sites_->contains(site); }
  bool is_format(uint64_t address) const { return formats_.contains(resource_of_memory(address)); }
  bool has_formats() const { return !formats_.empty(); }
  bool has_mixed_formats() const { return mixed_formats_; }
  // A thread uses the memory. To be called for all of a run before any of it is added. What is used by one
  // access is all private or all shared, within a word.
  void note_use(uint32_t thread, uint64_t address, uint64_t size, uint32_t site);
  uint64_t shared() const { return shared_; }  // how much is no longer private
  // All that the operation uses together with others.
  void uses(const Node& node, std::vector<Use>& out) const;
  // What it does with everything: it looks whether it was cancelled.
  void uses_always(const Node& node, std::vector<Use>& out) const;

 private:
  static constexpr uint32_t kShared = UINT32_MAX;
  struct Words {
    uint32_t thread = kShared;                  // the only one that used it
    bool joined = false;                        // with its neighbour in the word: used together by somebody
    bool only_format = true;                    // all uses are at format_sites_
    std::vector<std::pair<NodeId, bool>> uses;  // by it; whether they write
  };

  const Edge& edge_to(NodeId node) const;
  bool is_same_quiet_step(NodeId left, NodeId right) const;
  bool begins_wait(NodeId at) const;
  void count_rounds(NodeId node);
  static void all_uses(const Node& node, std::vector<Use>& out);
  NodeId begin_of_retry(NodeId from, const Edge& last) const;
  void note_uses(NodeId at, bool is_new);
  void share(uint64_t resource);
  NodeId new_node(uint32_t thread, NodeId parent);
  void set_waiting(NodeId at, Node::Waiting waiting) {
    if (nodes_[at].waiting != waiting) learned_.push_back(at);
    nodes_[at].waiting = waiting;
  }
  void add_future(NodeId from, const std::vector<Use>& uses, bool is_new);

  uint64_t future_size_ = 0;
  std::vector<Node> nodes_;
  std::vector<NodeId> roots_, learned_;
  std::vector<ThreadName> names_;
  std::unordered_map<ThreadName, uint32_t> numbers_;
  std::unordered_map<uint64_t, Words> words_;  // by resource
  std::unordered_set<uint64_t> own_;           // note_own(), formats_: by resource
  std::unordered_set<uint64_t> formats_;       // of streams that several threads use: by resource
  bool mixed_formats_ = false;
  std::vector<Round> waits_;  // of loops that wait
  const std::unordered_set<uint32_t>*library_ = nullptr, *retry_sites_ = nullptr, *format_sites_ = nullptr;
  std::unordered_map<NodeId, std::vector<NodeId>> retries_;  // from where edges lead back to a node
  uint64_t changes_ = 0, shared_ = 0;
  // Main ends by pthread_exit: then who is the last to end is the one who ends the process. Or who holds a
  // robust mutex leaves it behind.
  bool lives_matter_ = false;
  bool cancels_ = false;  // somebody
};

inline void add_memory(std::vector<Use>& out, uint64_t address, uint64_t size, bool writes) {
  for (uint64_t each = resource_of_memory(address); each <= resource_of_memory(address + size - 1); ++each)
    out.push_back({each, writes});
}
constexpr uint64_t resource_of_object(uint64_t address) {
  return uint64_t{1} << 62 | address;
}
constexpr uint64_t resource_of_thread(uint32_t thread) {
  return uint64_t{1} << 63 | thread;
}
constexpr uint64_t resource_of_cancellation(uint32_t thread) {
  return uint64_t{1} << 63 | uint64_t{1} << 32 | thread;
}

// The table of keys, and the lives of all threads, are objects at these "addresses".
inline constexpr uint64_t kTableOfKeys = 1, kAllLives = 2;

// Bytes of an access or a block that is followed word by word.
inline constexpr uint64_t kLargestAccess = 1 << 16;

bool conflict(const std::vector<Use>& left, const std::vector<Use>& right);

}  // namespace heddle
