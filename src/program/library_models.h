// Library models: code of heddle's own (src/library_models) that stands for functions of libraries
// which programs call and no module of theirs defines. It is linked into the canonical program, so that what
// these functions do is known as exactly as what the program does: paths, accesses, sharing, places where
// threads can be switched.
//
// - Only what the program uses is linked, and nobody else can use it: the models become local to the module.
//   Libraries keep their own functions for themselves; both work on the same data.
// - Those marked always_inline are put in place of their calls.
// - Functions that share state (OpenMP's) come all from the model, or none if it lacks one that is used.
// - What is linked follows from the program and the model files alone.
// - A program's own definition wins, also one that a foreign object of its binary brings. Names that only
//   libraries may define are an exception: they stand in the binary by -static-libstdc++.
#pragma once

#include <llvm/IR/Module.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle {

// The shipped model files (bitcode), by name.
Result<std::vector<std::filesystem::path>> library_model_files();

// Links what `program` needs of the models, given as bitcode, in this order. `foreign` are functions that the
// binary defines and no module. Gives the positions of the models that something was taken from, ascending.
Result<std::vector<size_t>> link_library_models(llvm::Module& program, const std::vector<std::string>& models,
                                                const std::vector<std::string>& foreign);

// A function of OpenMP for which the models have nothing, so that the program, which has been loaded, uses none
// of OpenMP's. Empty: it does not use OpenMP, or all of it is modelled.
Result<std::string> openmp_without_model(const llvm::Module& program);

}  // namespace heddle
