// The assertions of a program, in a wide sense, and the reads that decide them: branches of which one way leads
// to nothing but a failure (__assert_fail, abort, throw, any function that does not return and is no way to end
// a thread or process well), and the loads that their conditions are computed from. Through local variables,
// arguments and results, also of other functions, as far as these are called by their names.
//
// Without LLVM for those who include it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace heddle {

class Program;

class Assertions {
 public:
  explicit Assertions(const Program& program);  // must outlive it
  ~Assertions();
  Assertions(const Assertions&) = delete;
  Assertions& operator=(const Assertions&) = delete;

  // By numbers of instructions (InstructionId). An assertion: its branch.
  const std::vector<uint32_t>& decided_by(uint32_t load) const;
  // The loads that the stored value is computed from.
  const std::vector<uint32_t>& stored_from(uint32_t store) const;
  // The call that ends the failing way.
  uint32_t failing_call(uint32_t assertion) const;

  // Does the assertion fail, if loads return these values? Nothing: that depends on something else.
  using ValueOfLoad = std::function<std::optional<uint64_t>(uint32_t load)>;
  std::optional<bool> fails(uint32_t assertion, const ValueOfLoad& value_of) const;

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace heddle
