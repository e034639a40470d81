// Result<T>: a value, or an Error that a person can act on.
//
// Three mechanisms for three situations:
//   - user or environment errors and malformed input: Result<T>; libraries never print and never exit;
//   - our own bug: HEDDLE_CHECK, which ends the process with exit code 70 and asks for a report;
//   - verdicts are neither: they are ordinary values.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/exit_code.h"

namespace heddle {

// What happened, where, why (likely), and the next command. `where`, `why` and `next` may be empty.
struct Error {
  std::string what;
  std::string where;
  std::string why;
  std::string next;
  ExitCode exit = ExitCode::environment;

  // "what\n  at: where\n  why: ...\n  next: ..." — the one form in which errors reach a terminal.
  std::string text() const;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_; }
  void operator*() const {}
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

// A failed system call: `what` with the text of the current errno.
Error system_error(std::string what, std::string where);

[[noreturn]] void report_bug(const char* condition, const char* file, int line);

}  // namespace heddle

// Value of a Result expression, or return its Error from the enclosing function.
#define HEDDLE_TRY(...)                                          \
  ({                                                             \
    auto heddle_result = (__VA_ARGS__);                          \
    if (!heddle_result) return std::move(heddle_result).error(); \
    *std::move(heddle_result);                                   \
  })

#define HEDDLE_CHECK(condition) ((condition) ? void() : ::heddle::report_bug(#condition, __FILE__, __LINE__))
