// Links a variant the way the program was linked (its link plan), with the variant's object in place of the
// objects that carry a model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "image/link_plan.h"

namespace heddle {

struct VariantLink {
  std::filesystem::path program;               // the executable the plan is of: $ORIGIN in its run paths
  std::vector<std::filesystem::path> objects;  // the instrumented code
  std::vector<std::filesystem::path> runtime;  // archives that define the hooks
  // The runtime defines functions of libraries: what it has comes first, all of it is linked, and the libraries
  // find it.
  bool interposes = false;
  std::filesystem::path scratch;  // folder for the foreign objects
  std::filesystem::path output;
};

Result<void> link_variant(const LinkPlan& plan, const VariantLink& link);

// Takes the options of the original link to those of a variant: leaves out what would overwrite the program's
// files (-Map) or remove symbols (-s), and resolves paths relative to the program. Public for its test.
class LinkerFlagFilter {
 public:
  // `exports`: also leaves out what would hide the runtime's functions from libraries.
  explicit LinkerFlagFilter(std::string origin, bool exports = false)
      : origin_(std::move(origin)), exports_(exports) {}
  // Call with the flags in order: an option and its argument may come in two calls (-Wl,-Map -Wl,file).
  std::vector<std::string> filter(const std::vector<std::string>& flags);

 private:
  bool wanted(const std::string& word);
  std::string resolve(std::string word) const;

  std::string origin_;
  bool exports_;
  bool skip_word_ = false;  // the next word is the argument of an option that was left out
};

}  // namespace heddle
