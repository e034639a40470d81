#include "solve/portfolio.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{20};                            // how often the limits are looked at
constexpr std::chrono::milliseconds kShortGrace{500}, kLongGrace{2'000};  // for fewer preemptions

class Race {
 public:
  Race(const Problem& problem, const SolveLimits& limits) : problem_(problem), limits_(limits) {}

  SolveAnswer run(const std::vector<std::unique_ptr<Engine>>& engines) {
    const Clock::time_point begin = Clock::now();
    running_ = engines.size();
    std::vector<std::thread> threads;
    for (const std::unique_ptr<Engine>& engine : engines)
      threads.emplace_back([this, &engine = *engine] { solve(engine); });
    std::unique_lock lock(mutex_);
    std::optional<Clock::time_point> grace;
    while (running_ != 0 && !limits_.reached() && !decided() && !(grace && Clock::now() >= *grace)) {
      changed_.wait_for(lock, kLook);
      if (best_.verdict == SolveVerdict::found && !grace)
        grace = Clock::now() + std::clamp<Clock::duration>(2 * (Clock::now() - begin), kShortGrace, kLongGrace);
    }
    stop_ = true;
    lock.unlock();
    for (std::thread& thread : threads) thread.join();
    best_.statistics = std::move(statistics_);
    return std::move(best_);
  }

 private:
  bool decided() const {
    return best_.verdict == SolveVerdict::impossible || (best_.verdict == SolveVerdict::found && best_.fewest);
  }

  void solve(Engine& engine) {
    SolveLimits limits = limits_;
    limits.stop = &stop_;
    limits.jobs = 1;
    limits.progress = [this, &engine](const std::string& text) {
      const std::lock_guard lock(mutex_);
      if (limits_.progress) limits_.progress(std::string(engine.name()) + ": " + text);
    };
    SolveAnswer answer = engine.solve(problem_, limits);
    const std::lock_guard lock(mutex_);
    --running_;
    for (const auto& [name, number] : answer.statistics)
      statistics_[std::string(engine.name()) + "." + name] = number;
    take(std::move(answer), engine.name());
    changed_.notify_all();
  }

  void take(SolveAnswer answer, std::string_view engine) {
    switch (answer.verdict) {
      case SolveVerdict::impossible:  // it may be so with the clocks, and found without them
        if (best_.verdict != SolveVerdict::found) best_ = std::move(answer);
        return;
      case SolveVerdict::found:
        if (best_.verdict != SolveVerdict::found || answer.preemptions < best_.preemptions ||
            (answer.preemptions == best_.preemptions && (answer.fewest || answer.switches < best_.switches)))
          best_ = std::move(answer);
        return;
      case SolveVerdict::undecided:
        if (best_.verdict != SolveVerdict::undecided || answer.why.empty()) return;
        best_.why += (best_.why.empty() ? "" : "; ") + std::string(engine) + ": " + answer.why;
    }
  }

  const Problem& problem_;
  const SolveLimits& limits_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t running_ = 0;
  SolveAnswer best_;
  std::map<std::string, uint64_t> statistics_;
};

class Portfolio : public Engine {
 public:
  explicit Portfolio(std::vector<std::unique_ptr<Engine>> engines) : engines_(std::move(engines)) {}
  std::string_view name() const override { return "auto"; }
  SolveAnswer solve(const Problem& problem, const SolveLimits& limits) override {
    return Race(problem, limits).run(engines_);
  }

 private:
  std::vector<std::unique_ptr<Engine>> engines_;
};

}  // namespace

std::unique_ptr<Engine> make_portfolio(std::vector<std::unique_ptr<Engine>> engines) {
  return std::make_unique<Portfolio>(std::move(engines));
}

}  // namespace heddle
