// In which function a line is, where its name alone does not tell: methods of two classes, overloads. Line
// tables know where each function begins, and a line belongs to the last one of that name before it.
#pragma once

#include <llvm/IR/Module.h>

#include <map>
#include <set>
#include <string>

namespace heddle {

class DefinitionLines {
 public:
  explicit DefinitionLines(const llvm::Module& module);  // all functions that have lines, inlined ones too

  // Line where the function of that name begins which has the line; 0: nobody knows.
  unsigned begin_of(const std::string& file, unsigned line, const std::string& name) const;

 private:
  std::map<std::pair<std::string, std::string>, std::set<unsigned>> begins_;  // by file and name
};

}  // namespace heddle
