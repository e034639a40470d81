// Fixture of the control variant's tests: a module from text or source, instrumented, and what became of it.
#pragma once

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "instrument/control.h"
#include "program/sharing.h"

namespace heddle {

inline const EffectsTable& shipped_effects() {
  static const EffectsTable table = [] {
    EffectsTable made;
    const Result<std::string> text = read_file(HEDDLE_SOURCE_DIR "/share/effects.table");
    EXPECT_TRUE(text);
    const Result<void> added = made.add(*text, "effects.table");
    EXPECT_TRUE(added) << added.error().text();
    return made;
  }();
  return table;
}

// Says what the compiler makes of a source file.
inline std::string compiled(const std::string& file, const std::string& options) {
  const std::string out = ::testing::TempDir() + "heddle_control_test.ll";
  const bool cxx = file.ends_with(".cpp");
  const std::string command =
      (cxx ? "clang++-19 -std=c++20 " : "clang-19 ") + options + " -w -S -emit-llvm -o " + out + " " + file;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  const Result<std::string> text = read_file(out);
  EXPECT_TRUE(text);
  return text ? *text : "";
}

// One call of a hook in the instrumented module, by name without "heddle_control_".
struct Hook {
  std::string name;
  uint32_t site = UINT32_MAX;  // ranges have none of their own
  const llvm::CallInst* call = nullptr;
};

class Instrumented {
 public:
  explicit Instrumented(const std::string& text) {
    auto context = std::make_unique<llvm::LLVMContext>();
    llvm::SMDiagnostic diagnostic;
    std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, *context);
    if (module == nullptr) {
      std::string message;
      llvm::raw_string_ostream stream(message);
      diagnostic.print("test", stream);
      ADD_FAILURE() << message;
      return;
    }
    program_ = Program::from_module(std::move(context), std::move(module));
    before = analyse_sharing(program_->module(), shipped_effects(),
                             {.foreign_callers = program_->has_foreign_callers()});
    for (const Access& access : before.accesses) sites.push_back(program_->id_of(*access.instruction).value);
    module_ = program_->take_module();
    result = instrument_control(*program_, *module_, shipped_effects());
    if (result) collect();
  }

  const llvm::Module& module() const { return *module_; }
  const Program& program() const { return *program_; }
  std::string text() const {
    std::string out;
    llvm::raw_string_ostream stream(out);
    module_->print(stream, nullptr);
    return out;
  }
  // Names of the hooks in one function, in order: "read write call".
  std::string in(const std::string& function) const {
    std::string names;
    for (const Hook& hook : hooks)
      if (hook.call->getFunction()->getName() == function) names += (names.empty() ? "" : " ") + hook.name;
    return names;
  }
  const Hook& first(const std::string& name) const {
    for (const Hook& hook : hooks)
      if (hook.name == name) return hook;
    ADD_FAILURE() << "no hook " << name << " in\n" << text();
    std::abort();
  }
  uint64_t number(const Hook& hook, unsigned argument) const {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(hook.call->getArgOperand(argument));
    return constant == nullptr ? UINT64_MAX - 99 : constant->getZExtValue();
  }

  Result<void> result;
  SharingResult before;
  std::vector<uint32_t> sites;  // of before.accesses
  std::vector<Hook> hooks;      // in the order they stand, without those of
  std::vector<const llvm::CallInst*> frame_ends;

 private:
  static int site_argument(const std::string& name) {
    if (name == "range" || name == "blocking_done" || name == "own" || name == "leave") return -1;
    const bool first = name == "fence" || name == "call" || name == "blocking" || name == "assembly";
    return first ? 0 : 2;
  }
  void collect() {
    constexpr llvm::StringRef kPrefix = "heddle_control_";
    for (const llvm::Function& function : *module_) {
      for (const llvm::Instruction& instruction : llvm::instructions(function)) {
        const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call == nullptr || call->getCalledFunction() == nullptr) continue;
        llvm::StringRef name = call->getCalledFunction()->getName();
        if (!name.consume_front(kPrefix)) continue;
        if (name == "frame_end") {  // at the end of every function: not repeated in each expectation
          frame_ends.push_back(call);
          continue;
        }
        Hook hook{.name = name.str(), .call = call};
        if (const int at = site_argument(hook.name); at >= 0)
          hook.site = static_cast<uint32_t>(
              llvm::cast<llvm::ConstantInt>(call->getArgOperand(static_cast<unsigned>(at)))->getZExtValue());
        hooks.push_back(hook);
      }
    }
  }

  std::unique_ptr<Program> program_;
  std::unique_ptr<llvm::Module> module_;
};

}  // namespace heddle
