// Records of frames (abi/frame_record.h): every function keeps a copy of its values in its frame, where whoever
// stops the run finds them without debug information of the variant.
#pragma once

#include <llvm/IR/Module.h>

#include <vector>

#include "program/program.h"

namespace heddle {

class FrameRecords {
 public:
  // Before other hooks change functions.
  FrameRecords(const Program& program, llvm::Module& module);
  // After them.
  void add();

 private:
  struct Frame {
    llvm::Function* function;
    uint32_t id;
    std::vector<llvm::Value*> values;
    bool is_main;
  };
  void add(const Frame& frame);

  llvm::Module& module_;
  std::vector<Frame> frames_;
};

}  // namespace heddle
