// How a program was linked: enough to link a variant of it the same way, also after its build folder is gone.
//
// heddle cc makes a plan at every link step and stores it in the program (section .heddle.link). Objects that
// carry a model are only named, since the variant brings their code. Foreign objects (no model inside) are kept
// whole.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "image/model_record.h"

namespace heddle {

struct LinkInput {
  enum class Kind {
    modelled,  // object whose code is in the program model: a variant drops it
    foreign,   // object without a model: `members` has it, whole
    archive,   // static library: `members` has those without a model
    by_path,  // shared libraries, linker scripts, system libraries, what is too large to keep: used where it is
    link_time,  // source, object or library with LLVM bitcode (-flto): the linker compiles it, heddle has no
                // model
  };
  struct Member {
    std::string name;
    std::string bytes;
  };
  Kind kind = Kind::by_path;
  std::string path;  // absolute
  std::vector<Member> members;
};

// One piece of the link line, in order: either flags for the linker or an input.
struct LinkItem {
  std::vector<std::string> flags;
  std::vector<LinkInput> input;  // none or one
};

struct LinkPlan {
  bool cxx = false;                  // linked by the C++ driver
  bool shared = false;               // a shared library
  std::string folder;                // where the command ran
  std::string output;                // absolute
  std::vector<std::string> command;  // as given, response files expanded
  std::vector<LinkItem> items;

  ModelRecord to_record() const;
  static Result<LinkPlan> from_record(const ModelRecord& record);
};

}  // namespace heddle
