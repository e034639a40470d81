// What all algorithms of exploration share: runs of the program along a path, which are carried out by the
// machine as well and teach it what the threads do; limits; failures; what all reads returned at the end.
#pragma once

#include <span>

#include "explore/explorer.h"
#include "explore/search_unit.h"

namespace heddle {

class Exploration {
 public:
  Exploration(Executor& executor, const ExploreOptions& options,
              const std::function<void(const ExploreProgress&)>& progress);
  virtual ~Exploration() = default;
  Exploration(const Exploration&) = delete;
  Exploration& operator=(const Exploration&) = delete;

  Result<ExploreResult> run();

 protected:
  virtual Result<void> search() = 0;               // until everything was explored, or over()
  virtual uint64_t expected() const { return 0; }  // ExploreProgress::expected

  // Along the path, with another step behind it if one is given (of a thread by its number here), then on
  // without preemptions. What was done is in last().
  struct Run {
    std::vector<Action> actions;
    MachineState end;
    bool failed = false;
    bool complete = false;  // the machine has followed it to its end
  };
  Result<void> execute(std::span<const Action> path, std::optional<Step> more = std::nullopt);
  const Run& last() const { return last_; }

  // Loops that threads go round in this state, behind the path: do they wait? May execute.
  Result<void> look_at_loops(const MachineState& state, std::span<const Action> path);
  virtual void note_run() {
  }  // last() was executed for that, and is a run like any other: the loop does not wait
  std::optional<uint32_t> open_loop(const MachineState& state) const;  // a thread that goes round in such a one
  bool has_open_loop(const MachineState& state) const { return open_loop(state).has_value(); }
  // What was learned since this was asked last, for other processes; and the same in such a process. Nothing
  // where nobody keeps it.
  void keep_lessons() { keeps_lessons_ = true; }
  std::vector<Lesson> take_lessons() { return std::exchange(lessons_, {}); }
  Result<void> learn_again(const std::vector<Lesson>& lessons);
  // All that can be done, by whomever: no reduction.
  std::vector<Action> all_actions(const MachineState& state);
  // After this path; nothing where no run has shown it.
  std::optional<MachineState> state_after(std::span<const Action> path) const;

  // The program has come to an end here. Whether it is the first time with these reads.
  bool note_end(const MachineState& state);
  void keep_outcome(const MachineState& state);  // ExploreResult::outcomes, where they are wanted
  size_t races_found() const { return races_.found().size(); }
  bool has_race(uint32_t site, uint32_t other) const { return races_.has(site, other); }
  bool note_end(const Hash128& inputs);  // the same for what another process has seen
  void forget_ends();
  // In a copy of the process that carries out units, with an executor of its own.
  void be_worker(Executor& executor) {
    executor_ = &executor;
    is_worker_ = true;
  }

  void end(ExploreResult::End how, std::string why, uint32_t site = HEDDLE_NO_SITE);
  bool over() const { return over_; }
  void go_on() { over_ = false; }  // of a worker, whose end is not the end of all
  void look();                     // at limits
  ExploreProgress& progress() { return result_.progress; }
  const ExploreProgress& progress() const { return result_.progress; }
  ExploreResult& result() { return result_; }
  const ExploreOptions& options() const { return options_; }
  Behaviour& behaviour() { return behaviour_; }
  const Behaviour& behaviour() const { return behaviour_; }
  const OperationalMachine& machine() const { return machine_; }

 private:
  Schedule schedule_of(std::span<const Action> path, std::optional<Step> more) const;
  uint32_t number_of(const ThreadName& name) const;
  // What does not fit, and at which event (in `learning_`).
  std::string learn(const Execution& run);
  std::string learn_next(const MachineState& state, const Execution& run, size_t from, size_t thread,
                         const std::vector<uint32_t>& numbers);
  void note_failure(Execution run);
  Result<void> predict();
  Result<void> find_stacks(const Schedule& schedule, RaceSide& first, RaceSide& second);

  Executor* executor_;
  const ExploreOptions& options_;
  const std::function<void(const ExploreProgress&)>& tell_;
  Behaviour behaviour_;
  OperationalMachine machine_;
  const std::chrono::steady_clock::time_point start_;
  ScheduleHeader header_;
  Run last_;
  uint32_t learning_ = HEDDLE_NO_SITE;  // the site of the event that is looked at
  RaceFinder races_;
  std::unordered_set<Hash128> ends_;
  ExploreResult result_;
  bool over_ = false;
  bool is_worker_ = false;
  bool keeps_lessons_ = false;
  std::vector<Lesson> lessons_;
};

// The algorithms: one file each.
std::unique_ptr<Exploration> tree_search(Executor& executor, const ExploreOptions& options,
                                         const std::function<void(const ExploreProgress&)>& progress);
std::unique_ptr<Exploration> dpor_search(Executor& executor, const ExploreOptions& options,
                                         const std::function<void(const ExploreProgress&)>& progress);
std::unique_ptr<Exploration> seed_search(Executor& executor, const ExploreOptions& options,
                                         const std::function<void(const ExploreProgress&)>& progress);

}  // namespace heddle
