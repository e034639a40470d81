// Makes the link plan of a command line: looks at every input and keeps what a variant will need.
#pragma once

#include "image/link_plan.h"
#include "wrapper/command_line.h"

namespace heddle {

struct PlanOptions {
  bool cxx = false;
  std::string
      clang;  // assembles assembler sources of a compile-and-link call, whose object is never seen otherwise
};

LinkPlan plan_link(const CommandLine& line, const std::vector<std::string>& args, const PlanOptions& options);

}  // namespace heddle
