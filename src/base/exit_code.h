// Exit codes of the heddle command, a closed set (ARCHITECTURE.md, "Verdicts and exit codes").
#pragma once

namespace heddle {

enum class ExitCode : int {
  ok = 0,           // run, hunt, check: no failure; solve, replay: found
  usage = 2,        // the command line is wrong
  environment = 3,  // bad input, missing tool, full disk: the message says what to do
  failure_found = 10,
  impossible = 11,
  undecided = 12,
  diverged = 13,
  internal = 70,  // our own bug
};

}  // namespace heddle
